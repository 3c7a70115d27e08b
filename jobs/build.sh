#!/usr/bin/env bash
# Configures and builds into a folder: jobs/build.sh FOLDER [cmake options]. Quiet unless it fails.
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
build=$1
shift
mkdir -p "$build"
log=$build/build.log
if ! { cmake -S "$source" -B "$build" -G Ninja "$@" && cmake --build "$build"; } >"$log" 2>&1; then
    grep -E -B2 -A8 'error|FAILED' "$log" | head -n 60 >&2 || tail -n 40 "$log" >&2
    echo "build: failed; the whole log is $log" >&2
    exit 4
fi
