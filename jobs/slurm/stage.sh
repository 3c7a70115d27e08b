#!/usr/bin/env bash
# One stage of the chain, as the body of a Slurm job: jobs/slurm/submit.sh submits it. Signals reach every rank, and a stage that stopped
# with everything saved (exit 75) puts its own job back into the queue.
#   stage.sh STAGE SETTINGS
set -uo pipefail
stage=$1
here=$(dirname "$0")
. "$2"
. "$here/members.sh"
for module in ${MODULES:-}; do module load "$module"; done
. "$here/../mpi.sh"

# Which member of the array this is.
name=- fold=- seed=- job=${SLURM_JOB_ID:-}
if [ -n "${SLURM_ARRAY_TASK_ID:-}" ]; then
    job=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID
    read -r name fold seed < <(members | sed -n "$((SLURM_ARRAY_TASK_ID + 1))p")
fi
run=$(run_of "$name")
threads=${SLURM_CPUS_PER_TASK:-1}

# ---- signals and time ----

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

# train and infer read SLURM_JOB_END_TIME, which Slurm before 22.05 does not set; the others are told by a signal.
if [ -z "${SLURM_JOB_END_TIME:-}" ] && [ -n "$job" ]; then
    end=$(squeue --noheader --jobs="$SLURM_JOB_ID" --format=%e 2>/dev/null | sed -n 1p) || end=
    [[ $end != *-*T* ]] || export SLURM_JOB_END_TIME=$(date -d "$end" +%s)
fi
left() { echo $((${SLURM_JOB_END_TIME:-0} - $(date +%s))); }
# How long before it: as the programs have it, but no more than a quarter of a short job.
grace() { # SECONDS
    local quarter=$(($(left) / 4))
    echo $((quarter > 0 && quarter < $1 ? quarter : $1))
}
timer=
if [ -n "${SLURM_JOB_END_TIME:-}" ]; then
    wait_seconds=$(($(left) - $(grace 60)))
    (
        trap 'kill $sleeper; exit' TERM
        sleep $((wait_seconds > 0 ? wait_seconds : 0)) &
        sleeper=$!
        wait $sleeper && kill -USR1 $$
    ) &
    timer=$!
fi

# ---- starting programs ----

begin_launcher() { # COMMAND...: in the background, on all tasks of the job
    if [ "${LAUNCHER:-srun}" = srun ]; then
        local gpus=$(setting "$stage" GPUS_PER_TASK) # the job has the type already; with it here, Slurm 22.05 gives tasks no GPUs
        # A rank that fails ends the others through MPI; srun's own way of doing so would kill ranks that are just leaving with 75. Of a rank that was
        # killed those on other nodes learn nothing, and wait for it: srun ends them.
        srun --mpi=pmix --kill-on-bad-exit=0 --wait=10 --cpus-per-task="$threads" ${gpus:+--gpus-per-task="${gpus##*:}"} "$@" &
    else
        "$here/../mpirun.sh" -np "$SLURM_NTASKS" "$@" &
    fi
    pid=$!
}

# PMIx and Open MPI of Debian 12 now and then crash a rank while it starts, with nothing done yet. The programs take up what is there, so once more
# is safe; a program that crashes again has a fault of its own. A node that has just come back may not answer srun for some seconds.
launch() { # PROGRAM OPTIONS...
    local code began=$SECONDS crashed=
    while :; do
        code=0
        launch_once "$@" || code=$?
        [ -z "$asked" ] || return $code
        if [ $code = $((128 + $(kill -l KILL))) ]; then
            echo "stage $stage: a rank was killed (SIGKILL): where memory ran out (dmesg, sacct), or by somebody. What was saved is whole: submitted again, the stage goes on"
            return 5
        fi
        if [ $code = $((128 + $(kill -l SEGV))) ] && [ -z "$crashed" ] && [ $((SECONDS - began)) -lt 60 ]; then
            echo "stage $stage: a rank crashed within its first minute (exit $code): started once more"
            crashed=yes
        elif [ $code = $srun_did_not_start ] && [ $((SECONDS - began)) -lt 120 ]; then
            echo "stage $stage: srun could not start it on all nodes (exit $code): again in 5 s"
            sleep 5
        else
            return $code
        fi
    done
}
srun_did_not_start=233

launch_once() { # PROGRAM OPTIONS...
    local program=("$BIN/$1") code=0
    [ -z "${CONTAINER:-}" ] || program=(apptainer exec ${CONTAINER_OPTIONS:-} "$CONTAINER" fretsaw "$1")
    shift
    [ -z "$asked" ] || return 75
    begin_launcher "${program[@]}" "$@"
    [ -z "$asked" ] || kill -USR1 "$pid" 2>/dev/null # it came while the launcher started
    wait_for_launcher || code=$?
    pid=
    # A signal in the first moments, before the program listens, ends it: nothing was begun, so nothing is lost.
    if [ -n "$asked" ]; then
        case $code in $((128 + $(kill -l USR1))) | $((128 + $(kill -l TERM)))) code=75 ;; esac
    fi
    return $code
}

show_gpus() {
    [ -n "$(setting "$stage" GPUS_PER_TASK)" ] || return 0
    begin_launcher bash -c 'echo "rank ${SLURM_PROCID:-$OMPI_COMM_WORLD_RANK} on $(hostname): GPU ${CUDA_VISIBLE_DEVICES:-none}"'
    wait_for_launcher
    pid=
}

# ---- stages ----

one_set() { # NAME CSVS...
    local set=$1 labels=()
    shift
    [ -z "${LABELS:-}" ] || [ "$set" = test ] || labels=(--labels "$LABELS") # a test set may lack them
    launch preprocess --vocab "$VOCAB" --out "$WORK/tokens/$set" $PREPROCESS_OPTIONS "${labels[@]}" "$@"
}

run_preprocess() {
    one_set train $TRAIN_CSV || return
    if [ -n "$VALID_CSV" ]; then one_set valid $VALID_CSV || return; fi
    one_set test $TEST_CSV
}

run_shard() {
    local k
    launch shard --out "$WORK/shards/train" $SHARD_OPTIONS "$WORK/tokens/train" || return
    for ((k = 1; k <= ${FOLDS:-0}; k++)); do
        launch shard --out "$WORK/shards/fold-$k/train" --shards 8 --shuffle no --without-fold "$k/$FOLDS" "$WORK/shards/train" || return
        launch shard --out "$WORK/shards/fold-$k/valid" --shards 1 --shuffle no --fold "$k/$FOLDS" "$WORK/shards/train" || return
    done
    if [ -n "$VALID_CSV" ]; then launch shard --out "$WORK/shards/valid" --shards 1 --shuffle no "$WORK/tokens/valid" || return; fi
    launch shard --out "$WORK/shards/test" --shards 1 --shuffle no "$WORK/tokens/test"
}

run_train() {
    local data=(--train "$WORK/shards/train") own=()
    if [ "$fold" != - ]; then
        data=(--train "$WORK/shards/fold-$fold/train" --valid "$WORK/shards/fold-$fold/valid")
    elif [ -n "$VALID_CSV" ]; then
        data+=(--valid "$WORK/shards/valid")
    fi
    [ "$seed" = - ] || own=(--seed "$seed")
    launch train --threads "$threads" --grace "$(grace 120)s" $TRAIN_OPTIONS "${own[@]}" "${data[@]}" --out "$run"
}

score() { # RUNS OUT
    launch infer --threads "$threads" --grace "$(grace 60)s" --run "$1" --input "$WORK/shards/test" --sample-submission "$SAMPLE_SUBMISSION" \
        --work "$WORK/predictions" $INFER_OPTIONS --out "$2"
}

run_infer() {
    local out=$WORK/submission.csv
    if [ "$name" != - ]; then
        mkdir -p "$WORK/submissions"
        out=$WORK/submissions/$name.csv
    fi
    score "$run" "$out"
}

# The members' scores lie in the folder of predictions: only the mean is left to do.
run_blend() {
    score "$(members | while read -r member rest; do run_of "$member"; done | paste -sd,)" "$WORK/submission.csv"
}

# ---- the end ----

# srun has been seen to say 0 when a node went down under it.
made_of_stage() {
    case $stage in
        preprocess) echo "$WORK/tokens/test/manifest.json" ;;
        shard) echo "$WORK/shards/test/manifest.json" ;;
        train) echo "$run/provenance.json" ;;
        infer) [ "$name" = - ] && echo "$WORK/submission.csv" || echo "$WORK/submissions/$name.csv" ;;
        blend) echo "$WORK/submission.csv" ;;
    esac
}

# Only a job that still runs: one that was cancelled must stay so.
requeue() {
    case $(scontrol --oneliner show job "$job") in
        *" JobState=RUNNING "*) ;;
        *) return ;;
    esac
    echo "stage $stage: back into the queue"
    scontrol requeue "$job" && sleep 60 # the requeue ends this script
}

# What a stage has got done, to see whether another start gets further.
progress_mark() {
    if [ "$stage" = train ]; then cat "$run/last" 2>/dev/null; else find "$WORK" -path "$WORK/log" -prune -o -type f -print | wc -l; fi
}

history=$WORK/log/$stage${SLURM_ARRAY_TASK_ID:+-$SLURM_ARRAY_TASK_ID}.history # what status.sh reads once Slurm has forgotten the job
note() { echo "$(date -u +%FT%TZ) $job $*" >>"$history"; }
note "begins on ${SLURM_JOB_NODELIST:-$(hostname)}, restart ${SLURM_RESTART_COUNT:-0}"
before=$(progress_mark)
show_gpus
run_"$stage"
code=$?
if [ $code = 0 ] && [ ! -s "$(made_of_stage)" ]; then
    echo "stage $stage: ${LAUNCHER:-srun} ended with 0, but $(made_of_stage) is not there: a node was lost? Submit again"
    code=1
fi
[ -z "$timer" ] || kill "$timer" 2>/dev/null
echo "stage $stage: exit $code"
note "ends $code"
if [ $code = 75 ] && [ -n "$job" ]; then
    if [ -n "$asked" ] || [ "$before" != "$(progress_mark)" ]; then
        requeue
    else
        echo "stage $stage: it stopped for want of time before it got anything done: raise ${stage^^}_TIME and submit again"
    fi
fi
exit $code
