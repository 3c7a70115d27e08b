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

# The table of machines: measured speed here, more operations more hours, a card that is too small is told.
hours() { awk '$1 == "A100" && $2 == "80" { for (i = 1; i < NF; i++) if ($i == "peak") print $(i + 1) * ($(i + 2) == "h" ? 3600 : $(i + 2) == "min" ? 60 : 1) }' "$scratch/log"; }
train 1 none "${base[@]}" --max-steps 0 --epochs 1000 --plan || wrong "plan: $(said)"
grep -Eq '^  this machine +[0-9.e-]+ TFLOP/s measured +[0-9.]+ (s|min|h)' "$scratch/log" || wrong "no speed of this machine: $(cat "$scratch/log")"
for card in T4 L4 'RTX 3090' 'RTX 4090' 'A100 80 GB' H100 H200; do grep -q "^  $card .*peak .*[0-9]" "$scratch/log" || wrong "no $card in the table"; done
once=$(hours)
train 1 none "${base[@]}" --max-steps 0 --epochs 3000 --plan || wrong "plan: $(said)"
thrice=$(hours)
awk -v a="${once:-0}" -v b="${thrice:-0}" 'BEGIN { exit !(a > 0 && b > 2.7 * a && b < 3.3 * a) }' || wrong "three times the epochs: $once s, then $thrice s"
finish
