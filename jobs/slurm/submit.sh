#!/usr/bin/env bash
# Submits preprocess -> shard -> train -> infer as jobs that wait for each other, trainings with several seeds or folds as an array with a blend behind
# it; prints their numbers. jobs/slurm/status.sh says where they stand.
#   jobs/slurm/submit.sh my-settings.sh                finished work is skipped, so the same line also continues a broken chain
#   jobs/slurm/submit.sh --from train my-settings.sh   leaves out the stages before, which you know to be done
#   jobs/slurm/submit.sh --dry-run my-settings.sh      shows what would be submitted
set -euo pipefail
usage() { echo "usage: jobs/slurm/submit.sh [--dry-run] [--from STAGE] SETTINGS   (copy jobs/slurm/settings.sh and change it)" >&2; exit 2; }
dry=no from=preprocess
while [ $# -gt 1 ]; do
    case $1 in
        --dry-run) dry=yes ;;
        --from) from=$2; shift ;;
        *) usage ;;
    esac
    shift
done
[ $# = 1 ] && [ -r "$1" ] || usage
settings=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
. "$settings"
. "$here/members.sh"
case " ${STAGES[*]} " in *" $from "*) ;; *) echo "submit: --from $from: the stages are ${STAGES[*]}" >&2; exit 2 ;; esac
[[ $FOLDS =~ ^([2-9]|[1-9][0-9]+)?$ ]] || { echo "submit: FOLDS=$FOLDS: a number from 2 is needed, or nothing" >&2; exit 2; }

case " ${PREPROCESS_OPTIONS:-}" in *' --labels'*) echo "submit: --labels in PREPROCESS_OPTIONS would be asked of the test CSV, too: set LABELS instead" >&2; exit 2 ;; esac

missing=()
programs=("$BIN"/{preprocess,shard,train,infer})
[ -z "${CONTAINER:-}" ] || programs=("$CONTAINER")
vocabulary=$VOCAB
[ ! -d "$VOCAB" ] || [ -e "$VOCAB/tokenizer.json" ] || vocabulary=$VOCAB/vocab.txt
for file in "${programs[@]}" "$vocabulary" $TRAIN_CSV $VALID_CSV $TEST_CSV "$SAMPLE_SUBMISSION"; do
    [ -e "$file" ] || missing+=("$file")
done
[ ${#missing[@]} = 0 ] || { echo "submit: not found: ${missing[*]}; correct $1 (paths are taken from the folder you submit in)" >&2; exit 3; }

jobs=$WORK/log/jobs # of the latest chain: stage and job a line
if [ -s "$jobs" ] && [ $dry = no ]; then
    waiting=$(squeue --noheader --format=%A --jobs="$(cut -d' ' -f2 "$jobs" | paste -sd,)" 2>/dev/null | sort -nu | paste -sd' ') || waiting=
    [ -z "$waiting" ] || { echo "submit: a chain still works in $WORK; wait for it, or end it first: scancel $waiting" >&2; exit 2; }
fi
if [ $dry = no ]; then
    mkdir -p "$WORK/log"
    : >"$jobs"
fi

add() { # STAGE NAME OPTION: --OPTION=value where the setting has one
    local value=$(setting "$1" "$2")
    [ -z "$value" ] || options+=("--$3=$value")
}
count=$(members | wc -l)
before= before_array=no
for stage in "${STAGES[@]}"; do
    [ "$stage" != "$from" ] || from=
    [ -z "$from" ] || continue
    array=no log=$WORK/log/$stage-%j.log
    case $stage in train | infer) [ -z "$SEEDS$FOLDS" ] || array=yes log=$WORK/log/$stage-%A_%a.log ;; esac
    options=(--parsable --job-name="fretsaw-$stage")
    for pair in PARTITION:partition NODES:nodes TASKS_PER_NODE:ntasks-per-node CPUS_PER_TASK:cpus-per-task MEMORY_PER_NODE:mem GPUS_PER_TASK:gpus-per-task TIME:time; do
        add $stage "${pair%:*}" "${pair#*:}"
    done
    options+=(--output="$log" --open-mode=append --requeue --kill-on-invalid-dep=yes $(setting $stage SBATCH_OPTIONS))
    [ $array = no ] || options+=(--array="0-$((count - 1))${MEMBERS_AT_ONCE:+%$MEMBERS_AT_ONCE}")
    if [ -n "$before" ]; then # each training is scored as soon as it is done
        kind=afterok
        [ $array = no ] || [ $before_array = no ] || kind=aftercorr
        options+=(--dependency=$kind:"$before")
    fi
    before_array=$array
    command=(sbatch "${options[@]}" "$here/stage.sbatch" "$here" "$stage" "$settings")
    if [ $dry = yes ]; then
        echo "${command[@]@Q}"
        before=JOB_OF_${stage^^}
        continue
    fi
    before=$("${command[@]}") || { echo "submit: sbatch refused $stage; the stages named above are in the queue" >&2; exit 4; }
    before=${before%%;*}
    echo "$stage $before" | tee -a "$jobs"
done
