#!/usr/bin/env bash
# --plan: the memory line is right within 10% of what a rank really takes over several shapes, the bytes moved are those
# that the run counts, steps and stripes are those of the run; nothing is written.
. "$(dirname "$0")/train_lib.sh"
data train 400 1 2 5 4000 60 0
shape() { # HIDDEN HEADS FFN LAYERS
    sed -i -E "s/(\"hidden_size\"): [0-9]+/\1: $1/; s/(\"num_attention_heads\"): [0-9]+/\1: $2/; s/(\"intermediate_size\"): [0-9]+/\1: $3/; s/(\"num_hidden_layers\"): [0-9]+/\1: $4/" \
        "$scratch/config.json"
}
base=(--lanes 8 --batch 16 --epochs 1 --max-steps 1 --max-length 62 --threads 1)
number() { sed -n "s/.*$1 *\([0-9.]*\) \([MG]\)B.*/\1 \2/p" "$scratch/log" | awk '{ print $2 == "G" ? 1000 * $1 : $1 }' | sed -n 1p; }
near() { awk -v p="${1:-0}" -v t="${2:-1}" -v by="$3" 'BEGIN { exit !(p > (1 - by) * t && p < (1 + by) * t) }'; }
try() { # RANKS M
    train "$1" none "${base[@]}" --micro-tokens "$2" --plan || wrong "plan at np $1: $(said)"
    [ ! -e "$scratch/none" ] || wrong "--plan has made the run's folder"
    grep -q '^steps: 3 an epoch, 1 in all, of 128 rows' "$scratch/log" || wrong "steps: $(said)"
    planned=$(number 'together, a rank') most=$(number 'sent by a rank, at most') all=$(number 'sent in all')
    rm -rf "$scratch/run"
    train "$1" run "${base[@]}" --micro-tokens "$2" || wrong "run at np $1: $(said)"
    taken=$(number 'peak memory:') moved_most=$(number 'first step:') moved_all=$(sed -n 's/.*at most, \([0-9.]*\) MB in all.*/\1/p' "$scratch/log")
    echo "np $1, M $2: planned $planned MB, taken $taken MB; to send ${most} of ${all} MB, sent ${moved_most:-0} of ${moved_all:-0} MB"
    near "$planned" "$taken" 0.10 || wrong "np $1, M $2: planned $planned, taken $taken MB"
    [ "$1" = 1 ] || { near "$most" "$moved_most" 0.001 && near "$all" "$moved_all" 0.001; } || wrong "np $1: bytes to send $most of $all MB, sent $moved_most of $moved_all MB"
    [ "$1" != 1 ] || [ "${all%.*}" = 0 ] || wrong "one rank sends $all MB"
}
shape 384 6 1536 2
try 1 128
try 1 2048
[ -z "$mpi" ] || { try 2 2048 && try 5 128; }
shape 768 12 3072 1
try 1 512
[ -z "$mpi" ] || try 3 512
shape 128 2 512 8
try 1 1536
shape 384 6 1536 2

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
