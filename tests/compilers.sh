#!/usr/bin/env bash
# Any compiler: the golden run by builds of gcc and clang, -O1 to -O3, plain, AVX2 and AVX-512 kernels, without MPI; and by the static program;
# one state hash, that of tests/mpi/train_same_bytes.sh.
#   tests/compilers.sh [COMPILER:LEVEL...]       all seven, or the named ones, as clang:O1 or gcc:static; about a minute each on 2 cores
set -uo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- gcc:O1 gcc:O2 gcc:O3 clang:O1 clang:O2 clang:O3 gcc:static
golden=$(sed -n 's/^golden=\([0-9a-f]*\).*/\1/p' tests/mpi/train_same_bytes.sh)
work=$(mktemp -d "${TMPDIR:-/tmp}/fretsaw-compilers-XXXXXX")
trap 'rm -rf "$work"' EXIT
failures=0 tried=0
wrong() { echo "wrong: $*"; failures=$((failures + 1)); }

for build in "$@"; do
    compiler=${build%:*} level=${build#*:}
    command -v "$compiler" >/dev/null || { echo "absent: $compiler"; continue; }
    log=$work/log how=(-DCMAKE_C_FLAGS_RELEASE="-$level") target=program_train
    [ "$level" != static ] || how=(-DFRETSAW_STATIC=ON) target=program_fretsaw # as docs/install.md builds it
    { CC=$compiler cmake -S . -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release "${how[@]}" -DFRETSAW_MPI=OFF -DFRETSAW_BENCH=OFF -DFRETSAW_CUDA=OFF -DFRETSAW_TESTS=ON &&
        cmake --build "$work/build" --target $target train_make_data; } >"$log" 2>&1 || { tail -20 "$log"; wrong "$build does not build"; rm -rf "$work/build"; continue; }
    bin=$work/build/bin train=("$work/build/bin/train") name=-$level
    if [ "$level" = static ]; then
        train=("$bin/fretsaw" train) name=static
        [[ $(file -L "$bin/fretsaw") == *static* ]] || wrong "$build: not a static program: $(file -L "$bin/fretsaw")"
    fi
    rm -rf "$work/data" && mkdir "$work/data"
    "$bin/train_make_data" "$work/data" train 300 1 3 5 120 60 0 && "$bin/train_make_data" "$work/data" valid 90 1 1 6 120 60 0
    for set in plain avx2 avx512; do
        rm -rf "$work/run"
        "${train[@]}" --quiet --init random --config "$work/data" --train "$work/data/train" --valid "$work/data/valid" --out "$work/run" --lanes 8 --batch 4 \
            --epochs 2 --max-length 40 --lr 1e-3 --threads 2 --micro-tokens 130 --cpu $set >"$log" 2>&1
        code=$?
        [ $code = 5 ] || [ $code = 2 ] && { echo "absent: $set: $(tail -1 "$log")"; continue; }
        state=$(sed -n 's/^{"step":18,.*"state":"\([0-9a-f]*\)".*/\1/p' "$work/run/metrics.jsonl" 2>/dev/null)
        echo "$("$compiler" --version | sed -n 1p), $name, $set: $state"
        [ "$state" = "$golden" ] || wrong "$build, $set: exit $code, state ${state:-none}, not $golden: $(tail -1 "$log")"
        tried=$((tried + 1))
    done
    rm -rf "$work/build"
done
[ $tried -gt 0 ] || wrong "nothing was tried"
exit $((failures > 0))
