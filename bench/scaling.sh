#!/usr/bin/env bash
# How a step scales over ranks: measured here with 1, 2, 4 and 8 ranks, simulated from kernels and messages that are measured apart, and foretold for 1
# to 1,024 nodes with 25 and 100 Gb/s (bench/scaling.py).
#   bench/scaling.sh [--shape base|minilm] [--batch 8] [--steps 3] [--only kernels,1,2,4,8]
# 8 lanes of BATCH real rows, random weights. Kernels: two trainings of one rank and one thread side by side, so that both cores are as busy as with
# several ranks. BIN is the folder of the programs and of message_bench (a target of that name), FRETSAW_DATA the data folder; what has been measured
# stays in WORK, where that is set, and is not measured again. On a quiet machine only. Base needs 10 GB of memory.
set -euo pipefail
cd "$(dirname "$0")/.."
shape=base batch=8 steps=3 only=kernels,1,2,4,8
while [ $# -gt 0 ]; do
    case $1 in
    --shape) shape=$2 ;;
    --batch) batch=$2 ;;
    --steps) steps=$2 ;;
    --only) only=$2 ;;
    *) sed -n '2,8p' "$0" >&2 && exit 2 ;;
    esac
    shift 2
done
data=$(realpath "${FRETSAW_DATA:-../shared/data}")
bin=${BIN:-build/release/bin}
. jobs/mpi.sh
. bench/shape.sh
vocab=$data/vocab/bert-base-multilingual-uncased
work=${WORK:-$(mktemp -d "${TMPDIR:-/tmp}/fretsaw-scaling-XXXXXX")}
[ -n "${WORK:-}" ] || trap 'rm -rf "$work"' EXIT
measured=$work/$shape-$batch
mkdir -p "$measured"
case $shape in
base) layers=12 hidden=768 heads=12 ffn=3072 ;;
minilm) layers=6 hidden=384 heads=12 ffn=1536 ;;
*) echo "--shape $shape: base or minilm" >&2 && exit 2 ;;
esac
if [ ! -d "$work/shards" ]; then
    "$bin/preprocess" --quiet --vocab "$vocab" --out "$work/tokens" "$data/comments/train.csv" >/dev/null
    "$bin/shard" --quiet --out "$work/shards" --shards 8 --sample 20000 --seed 0 "$work/tokens"
fi
bert_config "$vocab/vocab.txt" $layers $hidden $heads $ffn >"$measured/config.json"
train=("$bin/train" --init random --config "$measured/config.json" --vocab "$vocab/vocab.txt" --train "$work/shards" --lanes 8 --epochs 1 --keep 1)

# NAME RANKS THREADS: its timing.jsonl as NAME.jsonl. The checkpoint at the end is no part of a step.
timed() {
    mpirun -np "$2" "${train[@]}" --quiet --batch "$batch" --threads "$3" --max-steps "$steps" --profile --out "$measured/run-$1" >"$measured/$1.log" 2>&1
    cp "$measured/run-$1/metrics.jsonl" "$measured/tokens.jsonl"
    cp "$measured/run-$1/timing.jsonl" "$measured/$1.jsonl"
    rm -rf "$measured/run-$1"
}
for what in ${only//,/ }; do
    [ ! -s "$measured/$what.jsonl" ] || continue
    case $what in
    kernels)
        for np in 2 4 8; do
            echo "$np $(mpirun -np $np "$bin/message_bench" $((80 / np)))"
        done >"$measured/message"
        timed other 1 1 &
        timed kernels 1 1
        wait $!
        ;;
    1) timed 1 1 2 ;;
    *) timed "$what" "$what" 1 ;;
    esac
done
# FILE RANKS BATCH: what --plan says is moved
planned() {
    [ -s "$measured/plan-$1" ] ||
        mpirun -np "$2" "${train[@]}" --batch "$3" --threads 1 --max-steps 1 --out "$measured/none" --plan >"$measured/plan-$1" 2>"$measured/plan.log"
}
for np in 2 4 8; do
    planned "$np" "$np" "$batch"
done
planned 64 8 64
exec python3 bench/scaling.py "$measured" --shape "$layers,$hidden,$heads,$ffn,$(wc -l <"$vocab/vocab.txt")" --batch "$batch"
