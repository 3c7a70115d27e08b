#!/usr/bin/env bash
# infer --verify: the whole chain from the sample's CSVs to a submission holds; each link, broken alone, is named. So it is for the mean of two runs
# over rows that infer tokenized itself.
#   verify.sh BIN SOURCE [mpi]
set -uo pipefail
bin=$1 sample=$2/sample
. "$2/jobs/mpi.sh"
several=(env)
[ "${3:-}" = mpi ] && several=(mpirun -np 2)
work=$(mktemp -d "${TMPDIR:-/tmp}/fretsaw-verify-XXXXXX")
[ -n "${FRETSAW_KEEP:-}" ] || trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0
wrong() { printf 'wrong: %s\n' "$*"; failures=$((failures + 1)); }

cp "$sample"/*.csv .
for set in train:train-first.csv,train-second.csv valid:validation.csv test:test.csv; do
    IFS=, read -ra files <<<"${set#*:}"
    "${several[@]}" "$bin/preprocess" --quiet --vocab "$sample/model" --out "tokens/${set%%:*}" "${files[@]}" >/dev/null || exit 1
done
"$bin/shard" --quiet --out shards/train --shards 3 --sample 300 tokens/train || exit 1
"$bin/shard" --quiet --out shards/valid --shards 1 --sample 60 tokens/valid || exit 1
"$bin/shard" --quiet --out shards/test --shards 2 --shuffle no tokens/test || exit 1
"${several[@]}" "$bin/train" --quiet --recipe "$2/recipes/tiny.conf" --config "$sample/model" --train shards/train --valid shards/valid --epochs 1 --out run || exit 1
"${several[@]}" "$bin/infer" --quiet --run run --input shards/test --sample-submission sample_submission.csv --out submission.csv || exit 1
rm -rf predictions

everything=(--verify run --input shards/train,shards/valid,shards/test --csv train-first.csv,train-second.csv,validation.csv,test.csv
    --sample-submission sample_submission.csv submission.csv)
verify() { # CODE TEXT LAUNCH... : with everything at hand
    local want=$1 text=$2 code
    shift 2
    out=$("$@" "$bin/infer" "${everything[@]}" 2>&1)
    code=$?
    [ $code = "$want" ] || wrong "exit $code, not $want: $text: $out"
    says "$text"
}
says() { grep -q -e "$1" <<<"$out" || wrong "no '$1': $out"; }
verify 0 "links hold, 0 are not checked, 0 break" "${several[@]}"
verify 0 "predictions -> submission: made once more" env
says "holds        run -> weights -> submission"
rm -rf predictions

# What is not given is not checked, and said.
out=$("$bin/infer" --verify run submission.csv) || wrong "without anything given: $out"
grep -q "not checked  CSV -> training data train: train-first.csv: give it with --csv" <<<"$out" || wrong "nothing said of CSVs: $out"
grep -q "holds        training data train: shards/train, 300 rows" <<<"$out" || wrong "data where the run found it: $out"

flip() { # FILE OFFSET (from the end where negative)
    local at=$2
    [ "$at" -ge 0 ] || at=$(($(stat -c %s "$1") + at))
    python3 - "$1" "$at" <<'P'
import sys
with open(sys.argv[1], 'r+b') as f:
    f.seek(int(sys.argv[2])); b = f.read(1)[0]; f.seek(int(sys.argv[2])); f.write(bytes([b ^ 1]))
P
}
broken() { # FILE OFFSET TEXT
    cp "$1" kept
    flip "$1" "$2"
    verify 6 "$3" env
    cat kept >"$1" # in place: an epoch's weights are a second name of its checkpoint's
}
broken train-second.csv 5000 "breaks: CSV -> training data train: train-second.csv"
broken test.csv 3000 "breaks: CSV -> scored data: test.csv"
broken shards/train/shard-00001-of-00003.h5 -900 "breaks: training data train: shards/train/shard-00001"
broken shards/valid/shard-00000-of-00001.h5 -900 "breaks: validation data valid: shards/valid/shard-00000"
broken shards/test/shard-00000-of-00002.h5 -900 "breaks: scored data: shards/test/shard-00000"
broken run/recipe.conf 12 "breaks: recipe -> run: run/recipe.conf"
broken "run/$(head -1 run/last)/model.safetensors" -4001 "breaks: run -> results: run/epoch-1/model.safetensors"
broken run/metrics.jsonl 30 "breaks: run -> results: run/metrics.jsonl"
broken sample_submission.csv -3 "breaks: sample -> submission: sample_submission.csv"
broken submission.csv -3 "breaks: submission: submission.csv has SHA-256"

# A submission and its description, both changed: only making it once more finds out. So does a file of predictions of other scores.
mkdir kept-files && cp submission.csv submission.csv.provenance.json run/provenance.json run/run.json kept-files
sed -i '2s/,0\../,0.9/' submission.csv
sed -i "s/\"sha256\": \"$(sha256sum <kept-files/submission.csv | cut -d' ' -f1)\"/\"sha256\": \"$(sha256sum <submission.csv | cut -d' ' -f1)\"/" submission.csv.provenance.json
verify 6 "breaks: weights -> predictions -> submission: made once more: submission.csv" "${several[@]}"
cp kept-files/submission.csv* .

# Descriptions that do not agree; weights of another state; another run's submission.
sed -i 's/"state": "./"state": "x/; s/"run": "./"run": "x/' run/provenance.json
verify 6 "breaks: run.json -> provenance: run/run.json" env
cp kept-files/provenance.json run
sed -i 's/"weights_state": "./"weights_state": "x/' submission.csv.provenance.json
verify 6 "breaks: weights -> submission: scored by weights of state x" env
cp kept-files/submission.csv.provenance.json .
sed -i 's/"run": "./"run": "x/' submission.csv.provenance.json
verify 6 "breaks: run -> submission: submission.csv was not scored by this run" env
cp kept-files/submission.csv.provenance.json .
mv test.csv other.csv
out=$("$bin/infer" --verify run --csv other.csv submission.csv 2>&1)
[ $? = 6 ] && grep -q "no data of this chain was made of a file named other.csv" <<<"$out" || wrong "a CSV that is no part: $out"
out=$("$bin/infer" --verify run 2>&1)
[ $? = 2 ] || wrong "no submission named: $out"
mv other.csv test.csv

# The mean of two runs, one begun from the other, over a CSV with a heading of its own and the base name of another one.
mkdir scored && sed '1s/content/body/' test.csv >scored/train-first.csv
grep -v "^init" "$2/recipes/tiny.conf" >staged.conf
"$bin/train" --quiet --recipe staged.conf --init-from run --seed 7 --epochs 1 --train shards/train --out again || exit 1
"${several[@]}" "$bin/infer" --quiet --run again,run --csv scored/train-first.csv --text-column body --sample-submission sample_submission.csv --out mean.csv || exit 1
csvs=train-first.csv,train-second.csv,validation.csv,scored/train-first.csv
everything=(--verify run,again --input shards/train,shards/valid --csv $csvs --sample-submission sample_submission.csv mean.csv)
verify 0 "links hold, 0 are not checked, 0 break" env
says "holds        CSV -> scored data: scored/train-first.csv"
says "holds        CSV -> scored data -> submission: tokenized once more"
says "holds        weights -> predictions -> submission: made once more: mean.csv"
says "holds        again: initial weights -> run: run/"
rm -r predictions/tokens-*
printf '\1' | dd of="$(ls predictions/*/*.scores | sed -n 1p)" bs=1 seek=200 conv=notrunc 2>/dev/null
verify 0 "links hold, 0 are not checked, 0 break" "${several[@]}"
broken scored/train-first.csv 5000 "breaks: CSV -> scored data: scored/train-first.csv"
broken train-first.csv 5000 "breaks: run: CSV -> training data train: train-first.csv"
broken "again/$(head -n 1 again/last)/model.safetensors" -4001 "breaks: again: run -> results: again/epoch-1/model.safetensors"
broken again/recipe.conf 12 "breaks: again: recipe -> run: again/recipe.conf"
part=$(ls predictions/tokens-*/part-*.h5 | sed -n 1p)
cp "$part" part.h5
flip "$part" 3000
verify 0 "tokenized once more" env
cmp part.h5 "$part" || wrong "a damaged part of infer's own was not made again"

# Of two changed alike only the whole made once more tells; so of tokens that other settings give.
cp mean.csv mean.csv.provenance.json kept-files
sed -i '2s/,0\../,0.9/' mean.csv
sed -i "s/\"sha256\": \"$(sha256sum <kept-files/mean.csv | cut -d' ' -f1)\"/\"sha256\": \"$(sha256sum <mean.csv | cut -d' ' -f1)\"/" mean.csv.provenance.json
verify 6 "breaks: weights -> predictions -> submission: made once more: mean.csv" "${several[@]}"
cp kept-files/mean.csv* .
sed -i 's/"lang"/"none"/' mean.csv.provenance.json
verify 6 "breaks: scored data -> submission: the rows that these CSVs give now have identity" "${several[@]}"
cp kept-files/mean.csv* .
sed -i 's/"csv": {/"device": "a card", &/' mean.csv.provenance.json
verify 0 "not checked  weights -> predictions -> submission: the scores themselves: they were made on a card" "${several[@]}"
cp kept-files/mean.csv* .

# A scorer that is not named, and one that did not score.
everything[1]=again
verify 0 "not checked  run -> submission: step-[0-9]* of a run (.*) scored it too: name that run with --verify" env
says "not checked  CSV: no data of this chain was made of a file named validation.csv"
says "not checked  weights -> predictions -> submission: the scores themselves: give the scored rows with --csv"
everything[1]=again,run
everything[-1]=submission.csv
verify 6 "BREAKS       again: run -> submission: submission.csv was not scored by this run" env
[ $failures = 0 ] && echo ok
exit $((failures > 0))
