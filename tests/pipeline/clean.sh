#!/usr/bin/env bash
# Cleaning from the CSV to the submission: the tokens are those of a CSV cleaned beforehand, infer --csv cleans as the run's tokens were, tokens
# cleaned otherwise are refused, and view shows the cleaned text.
#   clean.sh BIN SOURCE [mpi]
set -euo pipefail
bin=$1 source=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/fretsaw-clean-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
launch=()
if [ "${3:-}" = mpi ]; then launch=(mpirun -np 2); fi
wrong() { echo "wrong: $*" >&2; exit 1; }
vocab=$source/sample/model steps=repeats,urls,entities

# Every third text has something to clean; in the second file it is cleaned by hand.
rows() { # HEADER LABELLED DIRTY
    awk -v header="$1" -v labelled="$2" -v dirty="$3" 'BEGIN {
        print header
        for (i = 0; i < 600; i++) {
            text = i % 2 ? "you are a rotten one " i : "what a lovely day " i
            if (i % 3 == 0)
                text = text (dirty ? " &lt;b&gt; sooooo https://a.b/c?d @user" : " <b> soo @user")
            print "r" i "," text (labelled ? "," i % 2 : "")
        }
    }'
}
rows id,comment_text,toxic 1 1 >train.csv
rows id,comment_text,toxic 1 0 >by-hand.csv
rows id,content 0 1 >test.csv
awk -F, 'NR == 1 { print "id,toxic" } NR > 1 { print $1 ",0.5" }' test.csv >sample.csv

"${launch[@]}" "$bin/preprocess" --quiet --vocab "$vocab" --clean $steps --split 4K --out tokens/train train.csv >report
grep -q 'cleaned       200 rows changed' report || wrong "the report: $(cat report)"
"${launch[@]}" "$bin/preprocess" --quiet --vocab "$vocab" --clean $steps --split 4K --out tokens/train train.csv >again
grep -q 'done already' again || wrong "a second run"
rm tokens/train/manifest.json tokens/train/part-00-00001.h5
"$bin/preprocess" --quiet --vocab "$vocab" --clean $steps --split 4K --out tokens/train train.csv >again
grep -q 'cleaned       200 rows changed' again || wrong "the report with kept parts: $(cat again)"
"$bin/preprocess" --quiet --vocab "$vocab" --split 4K --out tokens/by-hand by-hand.csv >/dev/null
"$bin/shard" --export csv --out a.txt tokens/train
"$bin/shard" --export csv --out b.txt tokens/by-hand
cmp a.txt b.txt || wrong "cleaned tokens are not those of the text cleaned by hand"
"$bin/shard" --info tokens/train >info
grep -q 'clean=entities,urls,repeats' info || wrong "the identity does not tell of the cleaning"
"$bin/preprocess" --quiet --vocab "$vocab" --out tokens/test --clean $steps test.csv >/dev/null
"$bin/preprocess" --quiet --vocab "$vocab" --out tokens/plain test.csv >/dev/null

code=0
"$bin/preprocess" --quiet --vocab "$vocab" --clean links --out x train.csv 2>said || code=$?
{ [ $code = 2 ] && grep -q "'links' is no step of cleaning" said; } || wrong "an unknown step: $code $(cat said)"
code=0
"$bin/shard" --quiet --out x tokens/train tokens/by-hand 2>said || code=$?
{ [ $code = 3 ] && grep -q clean said; } || wrong "a mix of tokens in shard: $code $(cat said)"

for words in "--out x --exclude tokens/by-hand tokens/train" "--info tokens/train tokens/by-hand"; do
    code=0
    "$bin/shard" --quiet $words >/dev/null 2>said || code=$?
    { [ $code = 3 ] && grep -q 'of the same --clean' said; } || wrong "texts cleaned in two ways compared: $code $(cat said)"
done

"$bin/train" --quiet --recipe "$source/recipes/tiny.conf" --config "$vocab" --train tokens/train --out run --max-steps 2
"$bin/infer" --quiet --run run --csv test.csv --sample-submission sample.csv --out by-csv.csv --work one
"$bin/infer" --quiet --run run --input tokens/test --sample-submission sample.csv --out by-tokens.csv --work two
cmp by-csv.csv by-tokens.csv || wrong "infer --csv is not infer of cleaned tokens"
code=0
"$bin/infer" --quiet --run run --input tokens/plain --sample-submission sample.csv --out plain.csv --work three 2>said || code=$?
{ [ $code = 3 ] && grep -q clean said; } || wrong "a mix of tokens in infer: $code $(cat said)"

"$bin/preprocess" view --vocab "$vocab" --clean repeats,entities "sooo  &amp; &lt;3" >said
grep -qx 'cleaned (entities,repeats): soo & <3' said || wrong "view: $(cat said)"
