#!/usr/bin/env bash
# shard --fold and --without-fold: the folds are a partition of the rows, each is the rest's complement, rows of one text share a fold, and neither
# ranks nor the way the rows came (parts, shards, another order) change who is where.
#   shard_folds.sh BIN SOURCE [mpi]
set -euo pipefail
bin=$1 sample=$2/sample
launch=()
[ "${3:-}" != mpi ] || launch=(mpirun -np 2)
work=$(mktemp -d "${TMPDIR:-/tmp}/fretsaw-folds-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
wrong() { echo "wrong: $*" >&2; exit 1; }
# Every text of the second file is in the first one too, under another id.
"$bin/preprocess" --quiet --split 8K --vocab "$sample/model" --out tokens "$sample/validation.csv" >/dev/null
python3 - "$sample/validation.csv" <<'P'
import csv, sys
rows = list(csv.reader(open(sys.argv[1], newline="", encoding="utf-8")))
with open("again.csv", "w", newline="", encoding="utf-8") as out:
    csv.writer(out, lineterminator="\n").writerows([rows[0]] + [["again-" + r[0]] + r[1:] for r in rows[1:]])
P
"$bin/preprocess" --quiet --vocab "$sample/model" --out tokens-again again.csv >/dev/null
"$bin/shard" --quiet --shards 3 --seed 7 --out shards tokens
for k in 1 2 3 4; do
    "$bin/shard" --quiet --shards 2 --fold $k/4 --out "fold-$k" tokens tokens-again
    "${launch[@]}" "$bin/shard" --quiet --shards 2 --fold $k/4 --out "same-$k" tokens tokens-again
    cmp "fold-$k/manifest.json" "same-$k/manifest.json" || wrong "fold $k differs over ranks"
    "$bin/shard" --quiet --shards 1 --without-fold $k/4 --out "rest-$k" tokens tokens-again
    "$bin/shard" --quiet --shards 1 --fold $k/4 --shuffle no --out "shards-$k" shards
    for set in fold rest shards; do "$bin/shard" --quiet --export csv --out $set-$k.csv $set-$k; done
done
"$bin/shard" --quiet --shards 1 --fold 1/4 --without-fold 2/4 --out both tokens tokens-again
cmp <("$bin/shard" --info both | grep -i identity) <("$bin/shard" --info fold-1 | grep -i identity) || wrong "fold 1 without fold 2 is not fold 1"
python3 - "$sample/validation.csv" <<'P' || wrong "the folds"
import csv, sys
read = lambda path: [r[0] for r in list(csv.reader(open(path, newline="", encoding="utf-8")))[1:]]
ids = read(sys.argv[1])
both = set(ids) | {"again-" + i for i in ids}
folds = [read(f"fold-{k}.csv") for k in (1, 2, 3, 4)]
assert sorted(sum(folds, [])) == sorted(both), "no partition"
for k, fold in enumerate(folds, 1):
    assert 0.17 < len(fold) / len(both) < 0.33, (k, len(fold))
    assert set(read(f"rest-{k}.csv")) == both - set(fold), f"rest of {k}"
    assert {i for i in ids if i in set(fold)} == {i for i in ids if "again-" + i in set(fold)}, f"one text in two folds: {k}"
    assert set(read(f"shards-{k}.csv")) == {i for i in fold if not i.startswith("again-")}, f"fold {k} of shards"
P
for bad in 0/3 4/3 1/1 1 1/x x/3 1/3x -1/3 ""; do
    code=0
    "$bin/shard" --quiet --fold "$bad" --out no tokens 2>said || code=$?
    [ $code = 2 ] && grep -q 'a fold is K/N' said || { cat said >&2; wrong "--fold $bad: exit $code"; }
done
code=0
"$bin/shard" --quiet --fold 1/3 --without-fold 1/3 --out no tokens 2>said || code=$?
[ $code = 3 ] && grep -q 'no row is left .*--fold' said || { cat said >&2; wrong "an empty choice: exit $code"; }
