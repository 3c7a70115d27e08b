#!/usr/bin/env bash
# Submits preprocess -> shard -> train -> infer as four jobs, each waiting for the one before; prints their numbers.
#   jobs/slurm/submit.sh my-settings.sh             finished work is skipped, so the same line also continues a broken chain
#   jobs/slurm/submit.sh --dry-run my-settings.sh   shows what would be submitted
set -euo pipefail
dry=no
if [ "${1:-}" = --dry-run ]; then dry=yes; shift; fi
[ $# = 1 ] && [ -r "$1" ] || { echo "usage: jobs/slurm/submit.sh [--dry-run] SETTINGS   (copy jobs/slurm/settings.sh and change it)" >&2; exit 2; }
settings=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
. "$settings"

missing=()
for file in "$BIN"/{preprocess,shard,train,infer} "$VOCAB/vocab.txt" $TRAIN_CSV $VALID_CSV $TEST_CSV "$SAMPLE_SUBMISSION"; do
    [ -e "$file" ] || missing+=("$file")
done
[ ${#missing[@]} = 0 ] || { echo "submit: not found: ${missing[*]}; correct $1 (paths are taken from the folder you submit in)" >&2; exit 3; }

jobs=$WORK/log/jobs # of the latest chain
if [ -s "$jobs" ] && [ $dry = no ]; then
    waiting=$(squeue --noheader --format=%i --jobs="$(paste -sd, "$jobs")" 2>/dev/null | sort -n | paste -sd' ') || waiting=
    [ -z "$waiting" ] || { echo "submit: a chain still works in $WORK; wait for it, or end it first: scancel $waiting" >&2; exit 2; }
fi
if [ $dry = no ]; then
    mkdir -p "$WORK/log"
    : >"$jobs"
fi

before=
for stage in preprocess shard train infer; do
    upper=$(tr a-z A-Z <<<$stage)
    time=${upper}_TIME
    options=(--parsable --job-name="fretsaw-$stage" --nodes="$NODES" --ntasks-per-node="$TASKS_PER_NODE" --cpus-per-task="$CPUS_PER_TASK"
        --time="${!time}" --output="$WORK/log/$stage-%j.log" --open-mode=append --requeue --signal=B:USR1@60 --kill-on-invalid-dep=yes)
    [ -z "$PARTITION" ] || options+=(--partition="$PARTITION")
    [ -z "$MEMORY_PER_NODE" ] || options+=(--mem="$MEMORY_PER_NODE")
    [ -z "$before" ] || options+=(--dependency=afterok:"$before")
    command=(sbatch "${options[@]}" "$here/stage.sbatch" "$here" $stage "$settings")
    if [ $dry = yes ]; then
        echo "${command[@]@Q}"
        before=JOB_OF_${upper}
        continue
    fi
    before=$("${command[@]}") || { echo "submit: sbatch refused $stage; the stages named above are in the queue" >&2; exit 4; }
    before=${before%%;*}
    echo "$before" >>"$jobs"
    echo "$stage $before"
done
