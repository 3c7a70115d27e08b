#!/bin/sh
# Twenty million made-up rows through preprocess and shard on two ranks, 300 MB each: seconds of each stage, disk, and whether the last rows carry
# the right ids.
#     bench/many_rows.sh [ROWS]      FRETSAW_BUILD: the build folder (build/bench below the source unless set); TMPDIR: where, with 10 GB for 20,000,000
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
build=${FRETSAW_BUILD:-$source/build/bench}
[ -f "$build/build.ninja" ] || cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release >/dev/null
ninja -C "$build" preprocess shard >/dev/null
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 FRETSAW_MANY_ROWS="${1:-20000000}"
exec "$source/tests/pipeline/many_rows.sh" "$build/bin" "$source" mpi
