#!/usr/bin/env bash
# Configures and builds into a folder: jobs/build.sh FOLDER [cmake options]. Of a long build a line tells now and then how far it is; of one that fails,
# what the compiler said.
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
build=$1
shift
mkdir -p "$build"
log=$build/build.log
. "$source/jobs/progress.sh"
both() { cmake -S "$source" -B "$build" -G Ninja "$@" && cmake --build "$build"; }
if ! with_progress "$log" build both "$@"; then
    grep -E -B2 -A8 'error|FAILED' "$log" | sed -n 1,60p >&2 || tail -n 40 "$log" >&2
    echo "build: failed; the whole log is $log" >&2
    exit 4
fi
