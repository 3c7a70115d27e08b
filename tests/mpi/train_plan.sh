#!/usr/bin/env bash
# --plan: the memory line is right within 15% of what a rank really takes, steps and stripes are those of the run; nothing is written.
. "$(dirname "$0")/train_lib.sh"
data train 400 1 2 5 4000 60 0
sed -i 's/"hidden_size": 48/"hidden_size": 384/; s/"num_attention_heads": 3/"num_attention_heads": 6/; s/"intermediate_size": 80/"intermediate_size": 1536/' \
    "$scratch/config.json"
base=(--lanes 8 --batch 16 --epochs 1 --max-steps 1 --max-length 62 --threads 1)
for ranks in 1 ${mpi:+2 5}; do
    for micro in 128 2048; do
        train "$ranks" none "${base[@]}" --micro-tokens $micro --plan || wrong "plan at np $ranks: $(said)"
        [ ! -e "$scratch/none" ] || wrong "--plan has made the run's folder"
        grep -q '^steps: 3 an epoch, 1 in all, of 128 rows' "$scratch/log" || wrong "steps: $(said)"
        planned=$(sed -n 's/.*together, a rank *\([0-9.]*\) MB/\1/p' "$scratch/log")
        rm -rf "$scratch/run"
        train "$ranks" run "${base[@]}" --micro-tokens $micro || wrong "run at np $ranks: $(said)"
        taken=$(sed -n 's/.*peak memory: \([0-9.]*\) MB.*/\1/p' "$scratch/log")
        echo "np $ranks, M $micro: planned $planned MB, taken $taken MB"
        awk -v p="${planned:-0}" -v t="${taken:-1}" 'BEGIN { exit !(p > 0.85 * t && p < 1.15 * t) }' || wrong "np $ranks, M $micro: planned $planned, taken $taken MB"
    done
done
finish
