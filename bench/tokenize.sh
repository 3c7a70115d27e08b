#!/bin/sh
# The tokenizer beside nanotoken and the Rust tokenizers of transformers, one thread each, in turns: builds the bench and runs it.
#     bench/tokenize.sh [--rounds N] [--set all cased english latin cyrillic arabic devanagari cjk hangul]     see bench/tokenize_peers.py
# FRETSAW_PEERS is a python with pandas, transformers and nanotoken; FRETSAW_DATA the data folder (../shared/data beside the source unless set);
# FRETSAW_BUILD the build folder (build/bench below the source unless set).
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
build=${FRETSAW_BUILD:-$source/build/bench}
data=${FRETSAW_DATA:-$source/../shared/data}
[ -r "$data/comments/train.csv" ] || { echo "tokenize.sh: no $data/comments/train.csv; set FRETSAW_DATA" >&2; exit 3; }
[ -n "${FRETSAW_PEERS:-}" ] || { echo "tokenize.sh: set FRETSAW_PEERS to a python with pandas, transformers and nanotoken" >&2; exit 2; }
[ -f "$build/build.ninja" ] || cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release >/dev/null
ninja -C "$build" tokenize_bench >/dev/null
exec "$FRETSAW_PEERS" "$source/bench/tokenize_peers.py" "$build/bin/tokenize_bench" "$data" "$@"
