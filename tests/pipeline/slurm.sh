#!/usr/bin/env bash
# The chain of Slurm jobs on a real cluster of two nodes, brought up for this test: the same submission as the programs give by hand, also when
# a job is stopped and requeued, with both launchers, and when submitted again.
#   slurm.sh BIN SOURCE
set -euo pipefail
bin=$1 source=$2
. "$source/tests/support/hosts.sh"
. "$source/tests/support/slurm_cluster.sh"
[ -n "${FRETSAW_HEAD:-}" ] || slurm_can_start
hosts_enclose "$0" "$@"
cd "$scratch"
sample=$source/sample
say() { echo "-- $* ($SECONDS s)"; }
wrong() {
    echo "wrong: $*" >&2
    tail -n 60 */log/*.log slurm/*.log >&2 || true
    exit 1
}

settings() { # NAME LINE...: a settings file, the given lines stronger; work goes to the folder NAME
    local name=$1
    shift
    cat "$source/jobs/slurm/settings.sh" - >"$name.settings" <<END
BIN=$bin
WORK=$name
VOCAB=$sample/model
TRAIN_CSV="$sample/train-first.csv $sample/train-second.csv"
VALID_CSV=$sample/validation.csv
TEST_CSV=$sample/test.csv
SAMPLE_SUBMISSION=$sample/sample_submission.csv
PREPROCESS_OPTIONS="--split 20K"
SHARD_OPTIONS="--shards 4 --sample 2000 --seed 42"
TRAIN_OPTIONS="--recipe $source/recipes/tiny.conf --config $sample/model --epochs 4 --checkpoint-every 20"
NODES=2
TASKS_PER_NODE=2
PREPROCESS_TIME=20 SHARD_TIME=20 TRAIN_TIME=20 INFER_TIME=20
$(printf '%s\n' "$@")
END
}
declare -A job
submit() { # NAME -> job[stage]
    local stage number
    "$source/jobs/slurm/submit.sh" "$1.settings" >"$1.jobs" || wrong "submit.sh"
    while read -r stage number; do job[$stage]=$number; done <"$1.jobs"
}
log_of() { cat "$1/log/$2-${job[$2]}.log"; } # NAME STAGE
# Waits for the first checkpoint of NAME's training; gives up when the chain has broken before.
until_it_trains() { hosts_wait_for 100 "a checkpoint" begun "$1" && [ -e "$1/run/last" ] || wrong "training did not begin"; }
begun() { [ -e "$1/run/last" ] || [ "$(slurm_state "${job[infer]}")" != PENDING ]; }
# A requeued job waits two minutes. Not in the second of its end, though: its old credential is revoked up to that time.
start_soon() { scontrol update JobId="$1" StartTime=now+3; }
arrive() { slurm_wait "$@" || wrong "see the logs above"; }
same_submission() { cmp by-hand.csv "$1/submission.csv" || wrong "another submission than by hand: $1"; }

by_hand() {
    . "$source/jobs/mpi.sh"
    local o=(--quiet)
    "$bin/preprocess" "${o[@]}" --vocab "$sample/model" --out hand/train "$sample/train-first.csv" "$sample/train-second.csv"
    "$bin/preprocess" "${o[@]}" --vocab "$sample/model" --out hand/test "$sample/test.csv"
    "$bin/shard" "${o[@]}" --shards 3 --sample 2000 --seed 42 --out hand/shards hand/train
    "$bin/train" "${o[@]}" --recipe "$source/recipes/tiny.conf" --config "$sample/model" --epochs 4 --train hand/shards --out hand/run
    "$bin/infer" "${o[@]}" --run hand/run --input hand/test --sample-submission "$sample/sample_submission.csv" --out by-hand.csv
}
say "by hand"
(by_hand) >/dev/null || wrong "the stages by hand"

say "two nodes"
hosts_start n1 n2
slurm_start 4 n1 n2 || wrong "no cluster"

say "dry run"
settings srun
"$source/jobs/slurm/submit.sh" --dry-run srun.settings >plan
[ "$(grep -c sbatch plan)" = 4 ] && grep -q 'afterok:JOB_OF_TRAIN' plan || { cat plan; wrong "the dry run"; }
[ ! -e srun ] && [ -z "$(squeue --noheader)" ] || wrong "the dry run did something"

say "srun: a chain whose training is stopped"
submit srun
! "$source/jobs/slurm/submit.sh" srun.settings 2>again || wrong "a second chain in the same folder was not refused"
grep -q "scancel ${job[preprocess]}" again || { cat again; wrong "the refusal of a second chain"; }
until_it_trains srun
scancel --signal=USR1 "${job[train]}"
arrive 60 "${job[train]}" PENDING
log_of srun train >train.log
[ "$(grep -c 'stopped (SIGUSR1).*everything saved' train.log)" = 1 ] && grep -q 'stage train: exit 75' train.log || wrong "training did not stop with 75"
[ "$(slurm_state "${job[infer]}")" = PENDING ] || wrong "infer did not wait for the training in the queue"
start_soon "${job[train]}"
arrive 90 "${job[infer]}" COMPLETED
log_of srun train | grep -q 'continuing after step' || wrong "training began anew"
log_of srun train | grep -q '4 ranks on 2 nodes' || wrong "training did not use both nodes"
same_submission srun

say "the finished chain again"
before=$(cd srun && find tokens shards run submission.csv -type f ! -name environment.json | sort | xargs sha256sum)
begin=$SECONDS
submit srun
arrive 90 "${job[infer]}" COMPLETED
took=$((SECONDS - begin))
log_of srun train | grep -q 'finished already' || wrong "the training was done again"
[ "$before" = "$(cd srun && find tokens shards run submission.csv -type f ! -name environment.json | sort | xargs sha256sum)" ] || wrong "files changed"
say "took $took s"

say "what is missing alone: a lost submission and a lost part"
rm srun/submission.csv srun/tokens/test/part-00-00001.h5
submit srun
arrive 90 "${job[infer]}" COMPLETED
log_of srun train | grep -q 'finished already' || wrong "the training was done again"
same_submission srun

say "mpirun, no validation, the batch script told to stop"
settings mpirun LAUNCHER=mpirun VALID_CSV=
submit mpirun
until_it_trains mpirun
scancel --batch --signal=USR1 "${job[train]}"
arrive 60 "${job[train]}" PENDING
start_soon "${job[train]}"
arrive 90 "${job[infer]}" COMPLETED
log_of mpirun train | grep -q '4 ranks on 2 nodes' || wrong "mpirun did not use both nodes"
log_of mpirun train | grep -q 'continuing after step' || wrong "training began anew"
same_submission mpirun

say "a cancelled job stays cancelled"
settings cancelled TRAIN_CSV="$sample/train-first.csv"
submit cancelled
until_it_trains cancelled
scancel "${job[train]}"
arrive 30 "${job[train]}" CANCELLED
arrive 30 "${job[infer]}" CANCELLED
sleep 3
[ "$(slurm_state "${job[train]}")" = CANCELLED ] || wrong "a cancelled job came back"

say "a faulty CSV: the stages behind it do not start"
printf 'id,comment_text,toxic\n1,"never closed,0\n' >faulty.csv
settings faulty TRAIN_CSV="$scratch/faulty.csv"
submit faulty
arrive 30 "${job[preprocess]}" FAILED
for stage in shard train infer; do arrive 30 "${job[$stage]}" CANCELLED; done
log_of faulty preprocess | grep -q 'stage preprocess: exit 3' || wrong "the exit code of the faulty CSV"
log_of faulty preprocess | grep -q 'faulty.csv' || wrong "the message does not name the CSV"
say "passed"
