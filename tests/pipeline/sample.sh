#!/usr/bin/env bash
# The whole pipeline on the project's sample: a trained network finds the answer on unseen comments, an untrained one and one trained on
# shuffled labels do not; a second run of every stage finds its work done.
#   sample.sh BIN SOURCE
set -euo pipefail
bin=$1 source=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/fretsaw-sample-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
sample=$source/sample
launch=()
if [ "${3:-}" = mpi ]; then launch=(mpirun -np 2); fi
say() { echo "-- $*"; }
between() { awk -v v="$1" -v a="$2" -v b="$3" 'BEGIN { exit !(v >= a && v <= b) }' || { echo "wrong: $4 is $1, not in $2 to $3" >&2; exit 1; }; }
auc_of() { # RUN -> pooled AUC on the test set
    "${launch[@]}" "$bin/infer" --quiet --run "$1" --input tokens/test --sample-submission "$sample/sample_submission.csv" --truth "$sample/test_labels.csv" \
        --work "$1-predictions" --out "$1.csv" | awk '$3 == "all" { print $4 }'
}

make_tokens() {
    "${launch[@]}" "$bin/preprocess" --quiet --vocab "$sample/model" --out tokens/train "$sample/train-first.csv" "$sample/train-second.csv"
    "${launch[@]}" "$bin/preprocess" --quiet --vocab "$sample/model" --out tokens/valid "$sample/validation.csv"
    "${launch[@]}" "$bin/preprocess" --quiet --vocab "$sample/model" --out tokens/test "$sample/test.csv"
    "${launch[@]}" "$bin/shard" --quiet --out shards/train --shards 4 --seed 42 tokens/train
}
train() { # RUN SHARDS OPTIONS...
    local run=$1 data=$2
    shift 2
    "${launch[@]}" "$bin/train" --quiet --recipe "$source/recipes/tiny.conf" --config "$sample/model" --train "$data" --out "$run" "$@"
}

make_tokens >report
grep -q '8,004 rows of 2 inputs' report || { echo "wrong: the report of preprocess:" >&2; cat report >&2; exit 1; }
"$bin/shard" --verify shards/train

train trained shards/train --valid tokens/valid
auc=$(auc_of trained)
say "trained: AUC $auc"
between "$auc" 0.95 1 "AUC of the trained network"
"$bin/infer" --validate trained.csv --sample-submission "$sample/sample_submission.csv"
[ "$(grep -c valid_auc trained/metrics.jsonl)" = 8 ]

say "the same commands again change nothing"
before=$(sha256sum shards/train/* trained/*.json* trained.csv | sha256sum)
make_tokens >/dev/null
train trained shards/train --valid tokens/valid
auc_of trained >/dev/null
[ "$before" = "$(sha256sum shards/train/* trained/*.json* trained.csv | sha256sum)" ] || { echo "wrong: a second run changed its files" >&2; exit 1; }

train untrained shards/train --lr 1e-12 --max-steps 1
auc=$(auc_of untrained)
say "untrained: AUC $auc"
between "$auc" 0.4 0.6 "AUC of the untrained network"

# Labels dealt out anew: the texts of one row, the label of another.
python3 - "$sample/train-first.csv" shuffled.csv <<'END'
import csv, random, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="", encoding="utf-8")))
labels = [r["toxic"] for r in rows]
random.Random(5).shuffle(labels)
out = csv.writer(open(sys.argv[2], "w", newline="", encoding="utf-8"))
out.writerow(["id", "comment_text", "toxic"])
out.writerows((r["id"], r["comment_text"], label) for r, label in zip(rows, labels))
END
"$bin/preprocess" --quiet --vocab "$sample/model" --out tokens/shuffled shuffled.csv >/dev/null
train shuffled tokens/shuffled --epochs 2
auc=$(auc_of shuffled)
say "shuffled labels: AUC $auc"
between "$auc" 0.4 0.6 "AUC of the network trained on shuffled labels"
