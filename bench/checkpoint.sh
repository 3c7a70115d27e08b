#!/usr/bin/env bash
# How long a checkpoint of bert-base-multilingual-uncased's shape stalls training, beside dd writing and syncing as many bytes, in turns.
#   bench/checkpoint.sh [--rounds 3] [--ranks 1]
# BIN is the folder of the programs, FRETSAW_DATA the data folder, WORK a folder on the disk to be measured. The bar: 2 s or 1.2 times what dd takes.
# The second of two checkpoints is timed, so the removal of the one before (--keep 1) is part of it.
set -euo pipefail
cd "$(dirname "$0")/.."
. jobs/mpi.sh
. bench/shape.sh
rounds=3 ranks=1
while [ $# -gt 0 ]; do
    case $1 in
    --rounds) rounds=$2 ;;
    --ranks) ranks=$2 ;;
    *) sed -n '2,5s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
    esac
    shift 2
done
data=$(realpath "${FRETSAW_DATA:-../shared/data}")
bin=${BIN:-build/release/bin}
vocab=$data/vocab/bert-base-multilingual-uncased
work=$(mktemp -d "${WORK:-${TMPDIR:-/tmp}}/fretsaw-checkpoint-XXXXXX")
trap 'rm -rf "$work"' EXIT
bert_config "$vocab/vocab.txt" 12 768 12 3072 >"$work/config.json"
head -n 40 "$data/jigsaw/multilingual_validation.csv" >"$work/rows.csv"
"$bin/preprocess" --quiet --vocab "$vocab" --out "$work/tokens" "$work/rows.csv" >/dev/null
for _ in $(seq "$rounds"); do
    rm -rf "$work/run"
    launch=()
    [ "$ranks" = 1 ] || launch=(mpirun -np "$ranks")
    "${launch[@]}" "$bin/train" --quiet --init random --config "$work/config.json" --vocab "$vocab/vocab.txt" --train "$work/tokens" --out "$work/run" \
        --lanes "$ranks" --batch 1 --max-length 16 --micro-tokens 16 --epochs 1 --max-steps 2 --checkpoint-every 1 --keep 1 2>"$work/log" || { cat "$work/log" >&2 && exit 1; }
    save=$(sed -n 's/.*"save":\([0-9.]*\).*/\1/p' "$work/run/timing.jsonl" | tail -n 1)
    megabytes=$(du -sm "$work/run/step-000002" | cut -f1)
    begin=$EPOCHREALTIME
    dd if=/dev/zero of="$work/dd" bs=1M count="$megabytes" conv=fsync status=none
    awk -v s="$save" -v a="$begin" -v b="$EPOCHREALTIME" -v m="$megabytes" 'BEGIN { printf "%d MB: checkpoint %.2f s, dd %.2f s, ratio %.2f\n", m, s, b - a, s / (b - a) }'
    rm -f "$work/dd"
done
