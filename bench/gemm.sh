#!/bin/sh
# The own matrix product beside OpenBLAS's core types, one thread each, in turns: builds the bench and runs it.
#     bench/gemm.sh [--rounds N] [--only TEXT]        see bench/gemm_bench.c
# FRETSAW_BUILD is the build folder (build/bench below the source unless set).
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
build=${FRETSAW_BUILD:-$source/build/bench}
[ -f "$build/build.ninja" ] || cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release >/dev/null
ninja -C "$build" gemm_bench >/dev/null
exec "$build/bin/gemm_bench" "$@"
