#!/usr/bin/env bash
# From nothing to a submission on the project's own sample: installs packages, builds, runs the four stages, checks and shows what came out.
#   jobs/local/demo.sh                  output under out/demo
#   OUT=/some/folder RANKS=4 jobs/local/demo.sh
#   BIN=/folder/of/programs jobs/local/demo.sh      takes programs that are built already
# Run it again after an interruption: finished stages are skipped, training goes on from its last checkpoint.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=${OUT:-out/demo}
ranks=${RANKS:-2}
begin=$SECONDS
say() { printf '\n== %s (%d s)\n' "$*" $((SECONDS - begin)); }

bin=${BIN:-build/release/bin}
if [ -z "${BIN:-}" ]; then
    say "1. packages: those of Debian that are missing"
    jobs/setup.sh build
    say "2. build: some 250 files, one to three minutes on two cores; log: build/release/build.log"
    # The device back end takes minutes to compile: only where a device is.
    cuda=OFF
    [ ! -e /dev/nvidiactl ] || cuda=AUTO
    jobs/build.sh build/release -DCMAKE_BUILD_TYPE=Release -DFRETSAW_TESTS=OFF -DFRETSAW_BENCH=OFF -DFRETSAW_CUDA=$cuda
fi
. jobs/mpi.sh
launch=(mpirun -np "$ranks")
mkdir -p "$out"

say "3. preprocess: CSVs to tokens, seconds"
for set in train:sample/train-first.csv,sample/train-second.csv valid:sample/validation.csv test:sample/test.csv; do
    IFS=, read -ra files <<<"${set#*:}"
    "${launch[@]}" "$bin/preprocess" --vocab sample/model --out "$out/tokens/${set%%:*}" "${files[@]}"
done

say "4. shard: shuffled zstd HDF5 shards, seconds"
"${launch[@]}" "$bin/shard" --out "$out/shards/train" --shards 4 --seed 42 "$out/tokens/train"
"${launch[@]}" "$bin/shard" --out "$out/shards/valid" --shards 1 --shuffle no "$out/tokens/valid"
"${launch[@]}" "$bin/shard" --out "$out/shards/test" --shards 2 --shuffle no "$out/tokens/test"

say "5. train: a small BERT from random weights, half a minute"
"${launch[@]}" "$bin/train" --recipe recipes/tiny.conf --config sample/model --train "$out/shards/train" --valid "$out/shards/valid" --out "$out/run"

say "6. infer: submission.csv, seconds"
"${launch[@]}" "$bin/infer" --run "$out/run" --input "$out/shards/test" --sample-submission sample/sample_submission.csv \
    --truth sample/test_labels.csv --out "$out/submission.csv" --report "$out/report.json"
"$bin/infer" --validate "$out/submission.csv" --sample-submission sample/sample_submission.csv

say "7. report: a page to look at"
"${launch[@]}" "$bin/infer" --run "$out/run" --input "$out/shards/valid" --out "$out/valid.csv" --predictions "$out/valid-scores.csv"
"$bin/report" "$out/run" --predictions "$out/valid-scores.csv" --csv sample/validation.csv --out "$out/report.html"

say "done"
cat <<END
What was made, and where:
  tokens        $out/tokens/{train,valid,test}    rows of each CSV as token ids
  shards        $out/shards/{train,valid,test}    the same rows, shuffled, as zstd-compressed HDF5
  run           $out/run                          recipe.conf, metrics.jsonl, provenance.json, checkpoints (best, last)
  submission    $out/submission.csv               $(($(wc -l <"$out/submission.csv") - 1)) rows, checked against the sample submission
  page          $out/report.html                  open it in a browser: curves, ROC, languages, mistakes, where the time went
  AUC           $out/report.json                  $(sed -n 's/.*"auc": *\([0-9.]*\).*/\1/p' "$out/report.json" | sed -n 1p) of all rows; by label and language too

On your own data, in this folder ($PWD), with a Hugging Face model folder (config.json, vocab.txt, model.safetensors) in mbert/:
  $bin/preprocess --vocab mbert/ --out tokens/train jigsaw-toxic-comment-train.csv jigsaw-unintended-bias-train.csv
  $bin/preprocess --vocab mbert/ --out tokens/valid validation.csv
  $bin/preprocess --vocab mbert/ --out tokens/test test.csv
  $bin/shard --out shards/train --shards 64 --sample 200000 --seed 42 tokens/train
  $bin/shard --out shards/valid --shards 1 --shuffle no tokens/valid
  $bin/shard --out shards/test --shards 1 --shuffle no tokens/test
  jobs/mpirun.sh -np $(nproc) $bin/train --recipe recipes/jigsaw-mbert.conf --model mbert/ --train shards/train --valid shards/valid --out runs/one
  jobs/mpirun.sh -np $(nproc) $bin/infer --run runs/one --input shards/test --sample-submission sample_submission.csv --out submission.csv
Each program explains itself with --help; README.md has the whole way.
END
