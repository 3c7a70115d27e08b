#!/usr/bin/env bash
# One stage of the chain, as the body of a Slurm job: jobs/slurm/submit.sh submits it. Signals reach every rank, and a stage that stopped
# with everything saved (exit 75) puts its own job back into the queue.
#   stage.sh STAGE SETTINGS
set -uo pipefail
stage=$1
. "$2"
for module in ${MODULES:-}; do module load "$module"; done
. "$(dirname "$0")/../mpi.sh"

pid= asked= interrupted=
# Slurm signals this script. The launcher always gets USR1, which srun and mpirun hand on to every rank on every node and which means the
# same to the programs.
pass_on() { # SIGNAL
    asked=$1 interrupted=yes
    [ -z "$pid" ] || kill -USR1 "$pid" 2>/dev/null
}
trap 'pass_on USR1' USR1
trap 'pass_on TERM' TERM

# A trapped signal ends `wait` early, with a code of its own: wait again. 127 says that the code we have is the last one.
wait_for_launcher() {
    local code=0 again
    while :; do
        interrupted= again=0
        wait "$pid" || again=$?
        [ $again = 127 ] || code=$again
        [ -n "$interrupted" ] || break
    done
    return $code
}

launch() { # PROGRAM OPTIONS...
    local program=$BIN/$1 code=0
    shift
    [ -z "$asked" ] || return 75
    if [ "${LAUNCHER:-srun}" = srun ]; then
        # A rank that fails ends the others through MPI; srun's own way of doing so would kill ranks that are just leaving with 75.
        srun --mpi=pmix --kill-on-bad-exit=0 --cpus-per-task="${CPUS_PER_TASK:-1}" "$program" "$@" &
    else
        "$(dirname "$0")/../mpirun.sh" -np "$((NODES * TASKS_PER_NODE))" "$program" "$@" &
    fi
    pid=$!
    [ -z "$asked" ] || kill -USR1 "$pid" 2>/dev/null # it came while the launcher started
    wait_for_launcher || code=$?
    pid=
    # A signal in the first moments, before the program listens, ends it: nothing was begun, so nothing is lost.
    if [ -n "$asked" ]; then
        case $code in $((128 + $(kill -l USR1))) | $((128 + $(kill -l TERM)))) code=75 ;; esac
    fi
    return $code
}

one_set() { # NAME CSVS...
    local name=$1
    shift
    launch preprocess --vocab "$VOCAB" --out "$WORK/tokens/$name" $PREPROCESS_OPTIONS "$@"
}

run_preprocess() {
    one_set train $TRAIN_CSV || return
    if [ -n "$VALID_CSV" ]; then one_set valid $VALID_CSV || return; fi
    one_set test $TEST_CSV
}

run_shard() {
    launch shard --out "$WORK/shards/train" $SHARD_OPTIONS "$WORK/tokens/train" || return
    if [ -n "$VALID_CSV" ]; then launch shard --out "$WORK/shards/valid" --shards 1 --shuffle no "$WORK/tokens/valid" || return; fi
    launch shard --out "$WORK/shards/test" --shards 1 --shuffle no "$WORK/tokens/test"
}

run_train() {
    local valid=()
    if [ -n "$VALID_CSV" ]; then valid=(--valid "$WORK/shards/valid"); fi
    launch train --threads "${CPUS_PER_TASK:-1}" $TRAIN_OPTIONS --train "$WORK/shards/train" "${valid[@]}" --out "$WORK/run"
}

run_infer() {
    launch infer --threads "${CPUS_PER_TASK:-1}" --run "$WORK/run" --input "$WORK/shards/test" --sample-submission "$SAMPLE_SUBMISSION" $INFER_OPTIONS \
        --out "$WORK/submission.csv"
}

# Only a job that still runs: one that was cancelled must stay so.
requeue() {
    case $(scontrol --oneliner show job "$SLURM_JOB_ID") in
        *" JobState=RUNNING "*) ;;
        *) return ;;
    esac
    echo "stage $stage: back into the queue"
    scontrol requeue "$SLURM_JOB_ID" && sleep 60 # the requeue ends this script
}

run_"$stage"
code=$?
echo "stage $stage: exit $code"
if [ $code = 75 ] && [ "$asked" != TERM ] && [ -n "${SLURM_JOB_ID:-}" ]; then requeue; fi
exit $code
