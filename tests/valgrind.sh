#!/usr/bin/env bash
# Every program on the first rows of the sample under valgrind: no invalid access, no use of an undefined value, nothing lost at exit.
#   tests/valgrind.sh [BUILD]     builds a copy without MPI in BUILD (build/valgrind); about two minutes
# Without MPI, whose own start is full of reports that are not ours. valgrind offers AVX2, so those kernels run, and the plain ones by option.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath -m "${1:-build/valgrind}")
jobs/build.sh "$build" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DFRETSAW_MPI=OFF -DFRETSAW_TESTS=OFF -DFRETSAW_BENCH=OFF -DFRETSAW_CUDA=OFF
source=$PWD sample=$PWD/sample
work=$(mktemp -d "${TMPDIR:-/tmp}/fretsaw-valgrind-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
programs=0
check() { # PROGRAM OPTIONS...
    local program=$1
    shift
    echo "-- $program $1 $2"
    valgrind --quiet --error-exitcode=99 --leak-check=full --show-leak-kinds=definite,indirect --errors-for-leak-kinds=definite,indirect \
        "$build/bin/$program" --quiet "$@" >log 2>&1 || { cat log >&2; echo "valgrind: $program failed" >&2; exit 1; }
    ! grep -q '^==[0-9]*==' log || { cat log >&2; echo "valgrind: $program has reports" >&2; exit 1; }
    programs=$((programs + 1))
}

# The first records: a cell may hold line ends, so they are cut by a CSV reader.
cut_records() { # CSV RECORDS OUT
    python3 - "$@" <<'END'
import csv, itertools, sys
with open(sys.argv[1], newline="", encoding="utf-8") as f, open(sys.argv[3], "w", newline="", encoding="utf-8") as out:
    csv.writer(out).writerows(itertools.islice(csv.reader(f), int(sys.argv[2]) + 1))
END
}
cut_records "$sample/train-first.csv" 300 train.csv
cut_records "$sample/validation.csv" 64 validation.csv
cut_records "$sample/test.csv" 64 test.csv
cut_records "$sample/sample_submission.csv" 64 sample_submission.csv
cut_records "$sample/test_labels.csv" 64 test_labels.csv

for set in train validation test; do
    check preprocess --vocab "$sample/model" --out "tokens/$set" $set.csv
done
check shard --out shards --shards 3 --seed 1 tokens/train
check shard --verify shards
check shard --export csv --out rows.csv shards
for cpu in plain avx2; do
    check train --recipe "$source/recipes/tiny.conf" --config "$sample/model" --cpu $cpu --train shards --valid tokens/validation --max-steps 2 --out run-$cpu
done
cmp run-plain/metrics.jsonl run-avx2/metrics.jsonl
check infer --run run-avx2 --input tokens/test --sample-submission sample_submission.csv --truth test_labels.csv --out submission.csv \
    --predictions scores.csv
check infer --run run-avx2 --csv test.csv --sample-submission sample_submission.csv --out again.csv --work again
cmp submission.csv again.csv
check infer --validate submission.csv --sample-submission sample_submission.csv
check report run-avx2 --out report.html
echo "valgrind: $programs runs, no report"
