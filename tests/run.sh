#!/usr/bin/env bash
# Installs what is missing, builds and runs every test.
#   tests/run.sh            all but the long rounds (about 20 minutes on 2 cores)
#   tests/run.sh --slow     those too: mutants, valgrind, the campaign of kills, every layout, every byte, every compiler, long fuzzing
set -euo pipefail
cd "$(dirname "$0")/.."
slow=no
case "${1:-}" in
    "") ;;
    --slow) slow=yes ;;
    *) echo "usage: tests/run.sh [--slow]" >&2; exit 2 ;;
esac
jobs=$(($(nproc) + 1)) # one more than cores: those of Slurm and of signals mostly wait
begin=$SECONDS
say() { printf '\n== %s (%d s)\n' "$*" $((SECONDS - begin)); }

say "packages"
jobs/setup.sh build test
[ $slow = no ] || jobs/setup.sh slow
. jobs/mpi.sh

say "build: release"
jobs/build.sh build/release -DCMAKE_BUILD_TYPE=Release -DFRETSAW_TESTS=ON -DFRETSAW_BENCH=ON -DFRETSAW_CUDA=OFF
exclude=(-LE slow)
[ $slow = yes ] && exclude=()
say "tests: release"
ctest --no-tests=error --test-dir build/release --output-on-failure -j "$jobs" "${exclude[@]}"

say "build and tests: address and undefined-behaviour sanitizers"
jobs/build.sh build/asan-ubsan -DCMAKE_BUILD_TYPE=Debug -DFRETSAW_SANITIZE=address,undefined -DFRETSAW_BENCH=OFF -DFRETSAW_CUDA=OFF
ctest --no-tests=error --test-dir build/asan-ubsan --output-on-failure -j "$jobs" -LE 'slow|release-only'

say "build and tests: thread sanitizer, without MPI"
jobs/build.sh build/tsan-solo -DCMAKE_BUILD_TYPE=Debug -DFRETSAW_SANITIZE=thread -DFRETSAW_MPI=OFF -DFRETSAW_BENCH=OFF -DFRETSAW_CUDA=OFF
ctest --no-tests=error --test-dir build/tsan-solo --output-on-failure -j "$jobs" -L threads

tests/device.sh $slow

if [ $slow = yes ]; then
    say "mutants"
    tests/mutants.sh
    say "valgrind"
    tests/valgrind.sh
    say "any history: 200 killed and resumed trainings"
    tests/campaign.sh --rounds 200 --build build/release
    say "any layout"
    tests/layouts.sh
    say "any byte of any file: found, or it makes no difference"
    python3 tests/support/flips.py "$PWD/build/release/bin" "$PWD/build/release/bin/train_make_data" --all
    say "any compiler"
    tests/compilers.sh
fi
say "all passed"
