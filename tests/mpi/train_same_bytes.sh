#!/usr/bin/env bash
# One set of bytes: ranks x threads x instruction sets x micro-batches, both poolings; and the golden hash of the arithmetic.
. "$(dirname "$0")/train_lib.sh"
golden=6dd4ece4f2c29f79 # of arithmetic version 1: a change of any rule for numbers changes it, and raises the version
data train 300 1 3 5 120 60 0
data valid 90 1 1 6 120 60 0
base=(--valid "$scratch/valid" --lanes 8 --batch 4 --epochs 2 --max-length 40 --lr 1e-3 --quiet)
sets=(plain)
for set in avx2 avx512; do
    train 1 probe "${base[@]}" --cpu $set --plan && sets+=($set)
done
rm -rf "$scratch/probe"

train 1 one "${base[@]}" --threads 1 --micro-tokens 4096 || wrong "the first run failed: $(said)"
state=$(grep '^{"step":18,' "$scratch/one/metrics.jsonl" | sed 's/.*"state":"\([0-9a-f]*\)".*/\1/')
[ "$state" = "$golden" ] || wrong "golden hash: $state, not $golden"
i=0
for ranks in 1 ${mpi:+2 3 5 8}; do
    for threads in 1 2; do
        micro=(40 130 999)
        options=(--threads $threads --cpu "${sets[i % ${#sets[@]}]}" --micro-tokens "${micro[(i / ${#sets[@]}) % 3]}")
        rm -rf "$scratch/other"
        train "$ranks" other "${base[@]}" "${options[@]}" || wrong "np $ranks ${options[*]}: $(said)"
        same_run one other "np $ranks ${options[*]}"
        i=$((i + 1))
    done
done

# The same rows in seven shards instead of three.
mv "$scratch/train" "$scratch/three" && data train 300 1 7 5 120 60 0
rm -rf "$scratch/other"
train 1 other "${base[@]}" || wrong "seven shards: $(said)"
same_run one other "seven shards"

# Several labels, padded pooling, strided deal, cut tails.
data train 300 3 2 5 120 60 0
data valid 90 3 1 6 120 60 0
more=("${base[@]}" --pooling padded --deal strided --truncate tail --warmup 3)
train 1 padded "${more[@]}" --threads 2 --micro-tokens 4096 || wrong "padded: $(said)"
for ranks in 1 ${mpi:+3}; do
    rm -rf "$scratch/other"
    train "$ranks" other "${more[@]}" --threads 1 --cpu plain --micro-tokens 80 || wrong "padded, np $ranks: $(said)"
    same_run padded other "padded, np $ranks"
done
grep -q '"labels":{"toxic":0' "$scratch/padded/metrics.jsonl" || wrong "no areas by label"
finish
