#!/usr/bin/env bash
# One stage of the chain, as the body of a Slurm job: jobs/slurm/submit.sh submits it. Signals reach every rank, and a stage that stopped
# with everything saved (exit 75) puts its own job back into the queue.
#   stage.sh STAGE SETTINGS
set -uo pipefail
stage=$1
. "$2"
for module in ${MODULES:-}; do module load "$module"; done
. "$(dirname "$0")/../mpi.sh"
export OMPI_MCA_odls_base_sigkill_timeout=${OMPI_MCA_odls_base_sigkill_timeout:-30} # the time mpirun gives its ranks after TERM

pid=
# A trapped signal interrupts wait; mpirun forwards USR1 to the ranks of other nodes itself, srun to all.
trap '[ -n "$pid" ] && kill -USR1 "$pid"' USR1
trap '[ -n "$pid" ] && kill -TERM "$pid"' TERM

launch() { # PROGRAM OPTIONS...
    local program=$BIN/$1
    shift
    if [ "${LAUNCHER:-srun}" = srun ]; then
        srun --mpi=pmix --kill-on-bad-exit=1 "$program" "$@" &
    else
        mpirun -np "${SLURM_NTASKS:-1}" "$program" "$@" &
    fi
    pid=$!
    local code=0
    wait "$pid" || code=$?
    while kill -0 "$pid" 2>/dev/null; do # the first wait was ended by a trap
        code=0
        wait "$pid" || code=$?
    done
    pid=
    return $code
}

one_set() { # preprocess CSVS... into tokens/NAME
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
    launch train $TRAIN_OPTIONS --train "$WORK/shards/train" "${valid[@]}" --out "$WORK/run"
}

run_infer() {
    launch infer --run "$WORK/run" --input "$WORK/shards/test" --sample-submission "$SAMPLE_SUBMISSION" $INFER_OPTIONS --out "$WORK/submission.csv"
}

run_$stage
code=$?
echo "stage $stage: exit $code"
if [ $code = 75 ] && [ -n "${SLURM_JOB_ID:-}" ]; then
    echo "stage $stage: stopped with everything saved; back into the queue"
    scontrol requeue "$SLURM_JOB_ID" && sleep 30 # the requeue ends this script
fi
exit $code
