#!/usr/bin/env bash
# What a run shows while it goes on: the event file as the real tensorboard package reads it, after a stop and a resume; the lines of --log; the
# warning of a falling AUC. FRETSAW_PEERS is a python that has tensorboard; without one that part is skipped.
. "$(dirname "$0")/../mpi/train_lib.sh"
data train 240 1 2 5 120 60 0
data valid 60 1 1 6 120 60 0
base=(--valid "$scratch/valid" --lanes 4 --batch 8 --epochs 3 --max-length 24 --threads 1)
events=tensorboard/events.out.tfevents.0000000000.fretsaw

train 1 whole "${base[@]}" --lr 1e-3 --quiet --log "$scratch/whole.log" || wrong "the run failed: $(said)"
[ -z "$(grep -v "warning: an epoch has only 7 steps" "$scratch/log")" ] || wrong "--quiet has said: $(said)" # a warning it says all the same
grep -Eq '^20[0-9-]+T[0-9:]+Z train: epoch 3: loss [0-9.]+, AUC [0-9.]+ \(standard error [0-9.]+\) on 60 validation rows$' "$scratch/whole.log" || wrong "no epoch in --log: $(cat "$scratch/whole.log")"
grep -Eq 'Z train: train 672 of 672 \(100%\) rows, [0-9.]+ rows/s' "$scratch/whole.log" || wrong "no progress in --log: $(cat "$scratch/whole.log")"
expect 4 "no/such/folder" train 1 other "${base[@]}" --log "$scratch/no/such/folder"

# Stopped within the second epoch, gone on with at another number of ranks: as many bytes, since only times and rates differ.
several=${mpi:+2}
SLURM_JOB_END_TIME=$(($(date +%s) + 5)) expect 75 "everything saved" train 1 parts "${base[@]}" --lr 1e-3
train 1 parts "${base[@]}" --lr 1e-3 --checkpoint-every 2 &
job=$!
for _ in $(seq 2000); do [ "$(wc -l 2>/dev/null <"$scratch/parts/metrics.jsonl" || echo 0)" -ge 11 ] && break; sleep 0.01; done
kill -KILL "$(pgrep -f -- "bin/train .*--out $scratch/parts( |\$)" | tail -1)" 2>/dev/null
wait $job
train "${several:-1}" parts "${base[@]}" --lr 1e-3 --checkpoint-every 2 || wrong "after the kill: $(said)"
same_run whole parts "killed"
[ "$(stat -c %s "$scratch/whole/$events")" = "$(stat -c %s "$scratch/parts/$events")" ] || wrong "the event files have different lengths"

# A rate that destroys what was learned: the warning names the epoch that was better and rows.
train 1 wild "${base[@]}" --lr 0.5 --epochs 12 --warmup 30 || true
grep -Eq 'warning: epoch [0-9]+: the AUC has fallen to 0\.[0-9]+ from 0\.[0-9]+ in epoch [0-9]+, .*most wrong: [0-9]+ \(id ' "$scratch/log" ||
    wrong "no warning of a falling AUC: $(cat "$scratch/log")"
best=$(head -n 1 "$scratch/wild/best")
grep -Eq "validation was best after epoch ${best#epoch-} of 12: AUC 0\.[0-9]+, after the last 0\.[0-9]+; infer takes the last unless told" "$scratch/log" &&
    grep -q "next: infer --run $scratch/wild --weights best\$" "$scratch/log" || wrong "the best epoch is not told at the end: $(cat "$scratch/log")"

if [ -n "${FRETSAW_PEERS:-}" ] && "$FRETSAW_PEERS" -c 'import tensorboard' 2>/dev/null; then
    for run in whole parts; do
        "$FRETSAW_PEERS" "$(dirname "$0")/events_read.py" "$scratch/$run" || wrong "tensorboard reads something else from $run"
    done
else
    echo "skipped: FRETSAW_PEERS names no Python with tensorboard"
fi
finish
