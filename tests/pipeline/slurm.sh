#!/usr/bin/env bash
# The chain of Slurm jobs on a real cluster of two nodes, brought up for this test: the same submission as the programs give by hand, with both
# launchers, stopped and requeued, as an array, on GPUs by name, submitted again; and after every fault, once the same command was given again.
#   slurm.sh BIN SOURCE chains|faults
set -euo pipefail
bin=$1 source=$2 part=$3
. "$source/tests/support/hosts.sh"
. "$source/tests/support/slurm_cluster.sh"
[ -n "${FRETSAW_HEAD:-}" ] || slurm_can_start
hosts_enclose "$0" "$@"
cd "$scratch"
. "$source/tests/support/slurm_chain.sh"
. "$source/tests/support/doc_block.sh"
hashes() { (cd "$1" && find tokens shards run submission.csv -type f ! -name environment.json | sort | xargs sha256sum); }

# ---- chains ----

dry_run() {
    say "dry run"
    settings dry "TRAIN_PARTITION=low TRAIN_GPUS_PER_TASK=toy:1 INFER_NODES=1" 'SBATCH_OPTIONS="--comment=ours"' PARTITION=all
    "$source/jobs/slurm/submit.sh" --dry-run dry.settings >plan
    [ "$(grep -c sbatch plan)" = 4 ] && grep -q 'afterok:JOB_OF_TRAIN' plan && [ "$(grep -c "'--comment=ours'" plan)" = 4 ] || { cat plan; wrong "the dry run"; }
    [ "$(grep -c "'--gpus-per-task=toy:1'" plan)" = 1 ] && grep -q "'--nodes=2'.*'train'" <<<"$(grep "'--partition=low'" plan)" || { cat plan; wrong "one stage's resources"; }
    [ "$(grep -c "'--nodes=1'" plan)" = 1 ] && [ "$(grep -c "'--partition=all'" plan)" = 3 ] || { cat plan; wrong "the others' resources"; }
    "$source/jobs/slurm/submit.sh" --dry-run --from train dry.settings >plan
    [ "$(grep -c sbatch plan)" = 2 ] && [[ $(head -n 1 plan) != *dependency* ]] || { cat plan; wrong "--from train"; }
    settings labels 'PREPROCESS_OPTIONS="--labels rude"'
    ! "$source/jobs/slurm/submit.sh" --dry-run labels.settings 2>said || wrong "--labels for all sets"
    grep -q "set LABELS instead" said || wrong "--labels for all sets: $(cat said)"
    settings none "VOCAB=$PWD"
    ! "$source/jobs/slurm/submit.sh" --dry-run none.settings 2>said || wrong "a folder without a vocabulary"
    grep -q "not found: $PWD/vocab.txt" said || wrong "a folder without a vocabulary: $(cat said)"
    touch tokenizer.json
    "$source/jobs/slurm/submit.sh" --dry-run none.settings >/dev/null || wrong "a folder with a tokenizer.json"
    rm tokenizer.json
    ! "$source/jobs/slurm/submit.sh" --from training dry.settings 2>/dev/null || wrong "--from of no stage"
    settings folds 'FOLDS=5 SEEDS="1 2" MEMBERS_AT_ONCE=4'
    "$source/jobs/slurm/submit.sh" --dry-run folds.settings >plan
    [ "$(grep -c -- "--array=0-9%4" plan)" = 2 ] && grep -q 'aftercorr:JOB_OF_TRAIN' plan && grep -q 'afterok:JOB_OF_INFER.*blend' plan || { cat plan; wrong "arrays"; }
    [ ! -e dry ] && [ ! -e folds ] && [ -z "$(squeue --noheader)" ] || wrong "the dry run did something"
    status dry 3
    status_says 'nothing was submitted'
}

# A stand-in for srun, which at first does what srun does where a node does not answer.
no_answer() {
    say "a node that does not answer srun at first"
    settings late
    mkdir -p late/tools late/log
    cat >late/tools/srun <<'END'
#!/usr/bin/env bash
echo >>calls
[ "$(wc -l <calls)" -gt "$FAILING" ] || exit "$CODE"
while [[ $1 == --* ]]; do shift; done
exec "$@"
END
    chmod +x late/tools/srun
    local code=0
    FAILING=2 CODE=233 PATH=$PWD/late/tools:$PATH "$source/jobs/slurm/stage.sh" preprocess ./late.settings >late/log/said 2>&1 || code=$?
    [ $code = 0 ] && [ "$(grep -c 'could not start it on all nodes' late/log/said)" = 2 ] && [ -e late/tokens/test/manifest.json ] || { cat late/log/said; wrong "no answer: exit $code"; }
    FAILING=9 CODE=139 PATH=$PWD/late/tools:$PATH "$source/jobs/slurm/stage.sh" shard ./late.settings >late/log/said 2>&1 || code=$?
    [ $code = 139 ] && [ "$(grep -c 'started once more' late/log/said)" = 1 ] || { cat late/log/said; wrong "a crash each time: exit $code"; }
}

stopped_and_again() {
    say "srun: a chain whose training is stopped by USR1, and again by TERM"
    settings srun
    cp srun.settings my-settings.sh
    ln -s "$source/jobs" jobs
    bash -c "$(doc_block "$source/docs/guide.md" slurm)" >page || [ $? = 1 ] || { cat page; wrong "the page's commands"; }
    [ "$(grep -c "^'sbatch'" page)" = 4 ] && grep -q 'The chain is at work' page || { cat page; wrong "the page's commands"; }
    grep -E '^(preprocess|shard|train|infer) [0-9]+$' page >srun.jobs
    read_jobs srun
    ! "$source/jobs/slurm/submit.sh" srun.settings 2>again || wrong "a second chain in the same folder was not refused"
    grep -q "scancel ${job[preprocess]}" again || { cat again; wrong "the refusal of a second chain"; }
    status srun 1
    status_says "^infer +${job[infer]} +PENDING +waits: Dependency"
    until_it_trains srun
    hold srun/run
    scancel --signal=USR1 "${job[train]}"
    release srun/run
    arrive 60 "${job[train]}" PENDING
    log_of srun train >train.log
    [ "$(grep -c 'stopped (SIGUSR1).*everything saved' train.log)" = 1 ] && grep -q 'stage train: exit 75' train.log || wrong "training did not stop with 75"
    [ "$(slurm_state "${job[infer]}")" = PENDING ] || wrong "infer did not wait for the training in the queue"
    status srun 1
    status_says "^train +${job[train]} +PENDING +waits to go on: train: train [0-9]+ of 7936"
    before=$(cat srun/run/last)
    start_soon "${job[train]}"
    hosts_wait_for 60 "a checkpoint after the first stop" newer srun/run "$before" || wrong "training did not go on"
    hold srun/run
    scancel --signal=TERM "${job[train]}"
    release srun/run
    arrive 60 "${job[train]}" PENDING
    log_of srun train >train.log
    [ "$(grep -c 'stopped (SIGTERM).*everything saved' train.log)" = 1 ] && [ "$(grep -c 'stage train: exit 75' train.log)" = 2 ] || wrong "TERM did not stop it with 75"
    go_on srun
    log_says srun train '4 ranks on 2 nodes'
    status srun 0
    status_says '^Done: srun/submission.csv, 800 rows'

    say "the finished chain again"
    before=$(hashes srun)
    submit srun
    arrive 90 "${job[infer]}" COMPLETED
    log_says srun train 'finished already'
    [ "$before" = "$(hashes srun)" ] || wrong "files changed"

    say "what is missing alone: a lost submission and a lost part"
    rm srun/submission.csv srun/tokens/test/part-00-00001.h5
    submit srun
    complete srun
    log_says srun train 'finished already'
}

with_mpirun() {
    say "mpirun, modules, no validation, the batch script told to stop"
    module() { echo "module $*"; }
    export -f module
    settings mpirun LAUNCHER=mpirun 'LABELS="toxic|target"' VALID_CSV= 'MODULES="openmpi/4 hdf5"'
    submit mpirun
    until_it_trains mpirun
    hold mpirun/run
    scancel --batch --signal=USR1 "${job[train]}"
    release mpirun/run
    arrive 60 "${job[train]}" PENDING
    go_on mpirun
    log_says mpirun train '4 ranks on 2 nodes'
    log_says mpirun train 'module load hdf5'
}

newer() { [ "$(cat "$1/last")" != "$2" ]; }

# Two folds, two seeds, a GPU a task, through what stands for Apptainer. The whole array is cancelled and submitted again; then one of the four
# trainings is stopped: Slurm 22.05 signals a member of a waiting array by its step alone.
array_of_members() {
    say "an array of folds and seeds, with GPUs by name, in a container"
    mkdir tools
    printf '#!/usr/bin/env bash\n[ "$1 $2 $3" = "exec --nv image.sif" ] || exit 9\nshift 3\nexec "%s/$@"\n' "$bin" >tools/apptainer
    chmod 755 tools/apptainer
    : >image.sif
    local path=$PATH
    export PATH=$scratch/tools:$PATH
    settings array 'FOLDS=2 SEEDS="1 2" CONTAINER=image.sif CONTAINER_OPTIONS=--nv BIN=/nowhere' TRAIN_GPUS_PER_TASK=toy:1 INFER_NODES=1
    submit array
    until_it_trains array runs/fold-1-seed-1
    scancel "${job[train]}"
    arrive 60 "${job[train]}" CANCELLED
    for stage in infer blend; do arrive 30 "${job[$stage]}" CANCELLED; done
    ! grep -q 'exit 0\|back into the queue' array/log/train-*.log || wrong "a cancelled array goes on"
    submit array
    until_it_trains array runs/fold-1-seed-2
    local one=${job[train]}_1
    hold array/runs/fold-1-seed-2
    scancel --signal=USR1 "$(squeue --steps --noheader --format=%i --jobs="$one" | grep "^${one}\.[0-9]" | sed -n 1p)"
    release array/runs/fold-1-seed-2
    arrive 60 "$one" PENDING
    log_says array train 'stopped (SIGUSR1)' "$one"
    status array 1
    status_says "^train fold-1-seed-2 +$one +PENDING +waits to go on"
    start_soon "$one"
    members_by_hand
    arrive 120 "${job[blend]}" COMPLETED
    PATH=$path
    log_says array train 'continuing after step' "$one"
    cmp by-hand-array.csv array/submission.csv || wrong "another mean than by hand"
    cmp by-hand-one.csv array/submissions/fold-2-seed-1.csv || wrong "another member than by hand"
    log_says array blend 'blocks of 256 rows were finished before'
    status array 0
    log_of array train "${job[train]}_0" | grep '^rank ' | sort >gpus
    printf 'rank %d on n%d: GPU %d\n' 0 1 0 1 1 1 2 2 0 3 2 1 | cmp - gpus || { cat gpus; wrong "the map of GPUs"; }
    ! grep -q '^rank ' <<<"$(log_of array infer "${job[infer]}_0")" || wrong "infer has GPUs it did not ask for"
}
members_by_hand() {
    local fold seed runs=()
    for fold in 1 2; do
        "$bin/shard" --quiet --shards 2 --shuffle no --without-fold $fold/2 --out hand/fold-$fold hand/shards
        "$bin/shard" --quiet --shards 2 --shuffle no --fold $fold/2 --out hand/fold-$fold-valid hand/shards
        for seed in 1 2; do
            train_by_hand fold-$fold-seed-$seed hand/fold-$fold --valid hand/fold-$fold-valid --epochs 4 --seed $seed
            runs=("hand/fold-$fold-seed-$seed" "${runs[@]}") # the mean does not depend on the order
        done
    done
    local o=(--quiet --input hand/test --sample-submission "$sample/sample_submission.csv")
    "$bin/infer" "${o[@]}" --run "$(IFS=,; echo "${runs[*]}")" --out by-hand-array.csv
    "$bin/infer" "${o[@]}" --run hand/fold-2-seed-1 --out by-hand-one.csv
}

# ---- faults ----

# The ranks hang, and Slurm ends the job at its limit; looked at later.
begin_hard_limit() {
    say "a training that hangs until its time limit, beside the rest"
    settings hangs TRAIN_TIME=1
    submit hangs
    until_it_trains hangs
    hold hangs/run
    hanging=${job[train]} behind=${job[infer]}
}
end_hard_limit() {
    say "the limit of the one that hangs"
    hosts_wait_for 150 "the end of job $hanging" ended "$hanging" TIMEOUT
    arrive 30 "$behind" CANCELLED
    status hangs 3
    status_says "^train +$hanging +TIMEOUT"
    submit hangs
    complete hangs
    log_says hangs train 'continuing after step'
}
ended() { [ "$(slurm_state "$1")" = "$2" ]; }

# Held until what is left of its time is less than the grace.
soft_limit() {
    say "a training that reads its time limit from Slurm"
    settings limit TRAIN_TIME=2 'TRAIN_OPTIONS="$TRAIN_OPTIONS --grace 80s"'
    submit limit
    until_it_trains limit
    hold limit/run
    local end rest
    end=$(date -d "$(scontrol --oneliner show job "${job[train]}" | sed -n 's/.* EndTime=\([^ ]*\).*/\1/p')" +%s)
    rest=$((end - 79 - $(date +%s)))
    [ $rest -le 0 ] || sleep $rest
    release limit/run
    arrive 60 "${job[train]}" PENDING
    log_says limit train 'stopped (end of the Slurm job in less than 80 s)'
    go_on limit
}

cancelled() {
    say "a cancelled job stays cancelled, until the chain is submitted again"
    settings cancelled
    submit cancelled
    until_it_trains cancelled
    hold cancelled/run
    scancel "${job[train]}"
    release cancelled/run
    arrive 30 "${job[train]}" CANCELLED
    arrive 30 "${job[infer]}" CANCELLED
    sleep 2
    [ "$(slurm_state "${job[train]}")" = CANCELLED ] || wrong "a cancelled job came back"
    status cancelled 3
    status_says 'To go on: jobs/slurm/submit.sh cancelled.settings'
    submit cancelled --from train
    complete cancelled
    log_says cancelled train 'continuing after step'
}

failed_parent() {
    say "a faulty CSV: the stages behind it do not start; corrected, they do, also past a rank that crashes once as it starts"
    mkdir crashing && ln -s "$bin"/* crashing/ && rm crashing/shard
    printf '#!/bin/sh\nmkdir "%s/crashed-$SLURM_PROCID" 2>/dev/null && kill -SEGV $$\nexec "%s/shard" "$@"\n' "$PWD" "$bin" >crashing/shard
    chmod +x crashing/shard
    printf 'id,comment_text,toxic\n1,"never closed,0\n' >faulty.csv
    settings faulty 'VALID_CSV=$PWD/faulty.csv' "BIN=$PWD/crashing"
    submit faulty
    arrive 30 "${job[preprocess]}" FAILED
    for stage in shard train infer; do arrive 30 "${job[$stage]}" CANCELLED; done
    log_says faulty preprocess 'stage preprocess: exit 3'
    status faulty 3
    status_says "^preprocess +${job[preprocess]} +FAILED .*faulty.csv"
    printf 'id,comment_text,toxic\n1,"closed",0\n' >faulty.csv
    submit faulty
    complete faulty
    log_says faulty shard 'crashed within its first minute (exit 139): started once more'
}

killed_ranks() {
    say "the ranks of one node are killed: those of the other end too"
    settings killed
    submit killed
    until_it_trains killed
    local file
    for file in $(grep -lazE "(^|/)train$" /proc/[0-9]*/cmdline 2>/dev/null); do
        if [[ $(tr '\0' ' ' 2>/dev/null <"$file") == *" --out killed/run "* ]] && grep -qzx SLURMD_NODENAME=n2 "${file%/*}/environ" 2>/dev/null; then
            kill -KILL "$(cut -d/ -f3 <<<"$file")" 2>/dev/null || true
        fi
    done
    arrive 60 "${job[train]}" FAILED
    arrive 30 "${job[infer]}" CANCELLED
    log_says killed train 'a rank was killed (SIGKILL)'
    submit killed --from train
    complete killed
    log_says killed train 'continuing after step'
}

preempted() {
    say "preempted by a job of a higher partition"
    settings preempted PARTITION=low
    submit preempted
    until_it_trains preempted
    hold preempted/run
    local urgent=$(sbatch --parsable --partition=urgent --nodes=2 --exclusive --time=5 --output=urgent.log --wrap='sleep 1')
    sleep 3
    release preempted/run
    arrive 90 "${job[train]}" PENDING
    arrive 60 "$urgent" COMPLETED
    log_says preempted train 'everything saved'
    go_on preempted
}

node_crash() {
    say "a node crashes"
    settings crash
    submit crash
    until_it_trains crash
    hold crash/run
    slurm_be_impatient
    host_crash n2
    release crash/run
    arrive 90 "${job[train]}" PENDING
    say "the node comes back"
    hosts_start n2
    slurm_start_node n2
    hosts_wait_for 60 "idle nodes" slurm_idle 2
    go_on crash
    log_says crash train '4 ranks on 2 nodes'
}

say "by hand"
(by_hand) >/dev/null || wrong "the stages by hand"
say "two nodes"
hosts_start n1 n2
slurm_start 6 n1 n2 || wrong "no cluster"
case $part in
    chains) cases=(dry_run no_answer stopped_and_again with_mpirun array_of_members) ;;
    faults) cases=(begin_hard_limit soft_limit cancelled failed_parent killed_ranks end_hard_limit preempted node_crash) ;;
    *) IFS=, read -ra cases <<<"$part" ;;
esac
for name in "${cases[@]}"; do $name; done
say "passed"
