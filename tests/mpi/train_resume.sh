#!/usr/bin/env bash
# Kills, signals, time limits and damage: the run that is continued, at another number of ranks, ends with the bytes of the undisturbed one.
. "$(dirname "$0")/train_lib.sh"
data train 480 1 3 5 120 60 0
data valid 60 1 1 6 120 60 0
base=(--valid "$scratch/valid" --lanes 8 --batch 4 --epochs 2 --max-length 16 --lr 1e-3 --checkpoint-every 4 --micro-tokens 24 --threads 1 --cpu plain)
train 1 whole "${base[@]}" || wrong "the undisturbed run failed: $(said)"
several=${mpi:+3}
several=${several:-1}
lines() { wc -l 2>/dev/null <"$scratch/$1/metrics.jsonl" || echo 0; }
# Waits until run $1 has $2 lines.
wait_for() { for _ in $(seq 3000); do [ "$(lines "$1")" -ge "$2" ] && return; sleep 0.02; done; wrong "run $1 did not come to line $2"; }
# A rank of the run $1 (its train processes, one a rank).
rank_of() { pgrep -f -- "bin/train .*--out $scratch/$1( |\$)" | while read -r p; do grep -qz mpirun "/proc/$p/cmdline" || echo "$p"; done | tail -1; }

# Never a signal to nobody: `kill` would take 0 for the whole process group, and with it the suite.
strike() { # SIGNAL RUN
    local victim
    victim=$(rank_of "$2")
    [ -n "$victim" ] || { wrong "no rank of $2 is there to get SIG$1: $(said)"; return; }
    kill "-$1" "$victim"
}

# SIGKILL of one rank at random moments, three times; each time another number of ranks goes on.
for ranks in "$several" 1 ${mpi:+2}; do
    at=$((RANDOM % 6 + 2 + $(lines killed)))
    train "$ranks" killed "${base[@]}" &
    job=$!
    wait_for killed "$at"
    strike KILL killed
    wait $job && [ "$(lines killed)" -lt 32 ] && wrong "the killed run ended well"
done
train "$several" killed "${base[@]}" || wrong "after the kills: $(said)"
same_run whole killed "killed"

# A signal to one rank: all stop, exit 75, nothing lost; each signal that is taken.
for signal in TERM USR1 INT; do
    train "$several" signalled "${base[@]}" &
    job=$!
    wait_for signalled $(($(lines signalled) + 5))
    strike $signal signalled
    wait $job
    code=$?
    [ $code = 75 ] || wrong "SIG$signal: exit $code, not 75 ($(said))"
    grep -q "stopped (SIG$signal)" "$scratch/log" || wrong "SIG$signal is not told: $(said)"
done
train 1 signalled "${base[@]}" || wrong "after the signals: $(said)"
same_run whole signalled "signalled"

# A time limit that is over at once: nothing is lost even before the first step.
SLURM_JOB_END_TIME=$(($(date +%s) + 5)) expect 75 "end of the Slurm job" train "$several" limited "${base[@]}"
train "$several" limited "${base[@]}" --max-steps 0 || wrong "after the limit: $(said)"
same_run whole limited "limited"
expect 0 "finished already" train 1 limited "${base[@]}"

# Damage: the newest checkpoint is named and the one before it used; with none whole, exit 3.
train 1 cut "${base[@]}" --keep 3 &
job=$!
wait_for cut 18
strike KILL cut
wait $job
begin_damaged() {
    rm -rf "$scratch/damaged"
    cp -a "$scratch/cut" "$scratch/damaged"
    newest=$(ls -d "$scratch"/damaged/step-* | tail -1)
}
for file in model.safetensors optimizer-00000.bin state.json; do
    begin_damaged
    size=$(stat -c %s "$newest/$file")
    printf '\377' | dd of="$newest/$file" bs=1 seek=$((size * 2 / 3)) conv=notrunc 2>/dev/null
    expect 0 "$(basename "$newest") is damaged and not used" train "$several" damaged "${base[@]}"
    same_run whole damaged "damaged $file"
done
begin_damaged
rm -f "$newest/optimizer-00000.bin"
expect 0 "$(basename "$newest") is damaged and not used" train 1 damaged "${base[@]}"
same_run whole damaged "stripe gone"
begin_damaged
truncate -s 20 "$scratch/damaged/recipe.conf"
touch "$scratch/damaged/last.tmp-12345"
expect 0 "" train "$several" damaged "${base[@]}"
same_run whole damaged "recipe.conf cut"
[ ! -e "$scratch/damaged/last.tmp-12345" ] || wrong "what a killed writer left is still there"

# What a kill leaves half written or half removed is cleared at the next start; names that are not a checkpoint's stay, and so does everything while
# another run has the folder or when the folder turns out to be another run's.
half() {
    mkdir -p "$scratch/$1/.step-000003.tmp/deep" "$scratch/$1/.epoch-1.tmp" "$scratch/$1/.removed/x" "$scratch/$1/.step-000004.tmp.old" \
        "$scratch/$1/.step-12.tmp" "$scratch/$1/.step-x.tmp"
    touch "$scratch/$1/.step-000003.tmp/deep/file" "$scratch/$1/.removed/x/y" "$scratch/$1/.step-12.tmp/z"
}
there() { (cd "$scratch/$1" && ls -d .step* .epoch* .removed 2>/dev/null | tr '\n' ' '); }
all=$(half half; there half)
begin_damaged
half damaged
expect 2 "begun with other values of --lr" train 1 damaged "${base[@]}" --lr 2e-3
[ "$(there damaged)" = "$all" ] || wrong "another run's folder was cleared: $(there damaged)"
flock "$scratch/damaged" sleep 30 &
holder=$!
sleep 0.5
train 1 damaged "${base[@]}" &
waiting=$!
sleep 2
[ "$(there damaged)" = "$all" ] || wrong "a folder that another process holds was cleared: $(there damaged)"
pkill -P $holder
strike TERM damaged
wait $waiting
mv "$newest" "$scratch/damaged/.$(basename "$newest").tmp.old" # a kill between the two renames
expect 0 "" train "$several" damaged "${base[@]}"
[ "$(there damaged)" = ".step-12.tmp .step-x.tmp " ] || wrong "half-written folders: $(there damaged) are there"
rm -rf "$scratch"/damaged/.step-12.tmp "$scratch"/damaged/.step-x.tmp
same_run whole damaged "half-written folders"
begin_damaged
for step in "$scratch"/damaged/step-*; do truncate -s 100 "$step/model.safetensors"; done
expect 3 "checkpoints is whole" train "$several" damaged "${base[@]}"

# Killed between a checkpoint and the pointer to it: `last` is put right, also when nothing is left to compute. Of a damaged newest checkpoint and --keep 1,
# the whole one before it must outlive the next save.
for pointed in 28 20; do
    cp -a "$scratch/whole" "$scratch/pointed-$pointed"
    rm "$scratch/pointed-$pointed/provenance.json"
    printf 'step-0000%s\n' $pointed >"$scratch/pointed-$pointed/last"
    train "$several" "pointed-$pointed" "${base[@]}" || wrong "resumed at its end: $(said)"
    same_run whole "pointed-$pointed" "last pointed at step $pointed"
done
begin_damaged
truncate -s 100 "$newest/model.safetensors"
SLURM_JOB_END_TIME=1 expect 75 "stopped" train 1 damaged "${base[@]}" --keep 1
[ ! -e "$newest" ] || wrong "the damaged checkpoint still counts among those that stay"
expect 0 "" train "$several" damaged "${base[@]}" --keep 1
grep -q "is damaged and not used" "$scratch/log" && wrong "the damaged checkpoint was met again"
same_run whole damaged "damaged, --keep 1"
finish
