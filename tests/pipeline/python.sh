#!/usr/bin/env bash
# fretsaw_files, installed by pip into a folder of its own, reads shards as the programs export them and scores rows as infer does.
#   python.sh BIN MAKE_RUN SOURCE        FRETSAW_PEERS: a python with numpy, h5py, hdf5plugin, torch, transformers
set -euo pipefail
bin=$1 make_run=$2 source=$3
python=${FRETSAW_PEERS:-}
[ -n "$python" ] && [ -x "$python" ] || { echo "skipped: FRETSAW_PEERS names no python with torch, transformers, h5py, hdf5plugin"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/fretsaw-python-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
sample=$source/sample
. "$source/tests/support/doc_block.sh"
cp -r "$source/python" python
# The page's commands; what the package needs is there already, and nothing comes from a network.
pip() {
    "$python" -m pip "$@" --quiet --no-deps --no-build-isolation --no-index --disable-pip-version-check --root-user-action=ignore --upgrade \
        --target site-packages >>pip.log 2>&1
}
eval "$(doc_block "$source/python/README.md" install)" || { cat pip.log >&2; echo "wrong: pip install" >&2; exit 1; }

"$bin/preprocess" --quiet --split 20K --vocab "$sample/model" --out tokens/train "$sample/train-first.csv" >/dev/null
"$bin/preprocess" --quiet --split 20K --vocab "$sample/model" --out tokens/test "$sample/test.csv" >/dev/null
mkdir other-vocab
{ cat "$sample/model/vocab.txt"; echo onewordmore; } >other-vocab/vocab.txt
"$bin/preprocess" --quiet --lower yes --vocab other-vocab --out other/test "$sample/test.csv" >/dev/null
"$bin/shard" --quiet --shards 3 --sample 500 --out shards/train tokens/train
"$bin/shard" --quiet --shards 1 --sample 50 --out shards/valid tokens/train
for set in tokens/train shards/train; do "$bin/shard" --quiet --export csv --out "${set/\//-}.csv" "$set"; done
cp -r shards/train damaged
printf 'x' | dd of=damaged/shard-00001-of-00003.h5 bs=1 seek=5000 conv=notrunc status=none
mkdir runs
"$make_run" runs/real-head "$sample/model" tokens/test 11 real 24 head real-head.csv
"$make_run" runs/padded-tail "$sample/model" tokens/test 12 padded 20 tail padded-tail.csv toxic,rude
"$make_run" runs/real-head-tail "$sample/model" tokens/test 13 real 16 head-tail real-head-tail.csv
cp -r runs/real-head runs/one
cp runs/one/last runs/one/best
PYTHONPATH=$work/site-packages "$python" "$source/tests/pipeline/python_files.py" "$source/python/README.md"
