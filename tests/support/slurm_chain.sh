# Sourced after slurm_cluster.sh: chains of jobs/slurm on the project's sample, for slurm.sh. Needs $bin, $source, $scratch (the working folder).
#
#     settings NAME LINE...     NAME.settings, work in the folder NAME; the given lines are stronger
#     submit NAME [OPTION]      -> job[stage]
#     complete NAME             waits for its last job and compares the submission with by-hand.csv
sample=$source/sample
declare -A job
say() { echo "-- $* ($SECONDS s)"; }
wrong() {
    echo "wrong: $*" >&2
    tail -n 60 */log/*.log slurm/*.log >&2 || true
    exit 1
}

settings() { # NAME LINE...
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

submit() { # NAME [OPTION...] -> job[stage]
    "$source/jobs/slurm/submit.sh" "${@:2}" "$1.settings" >"$1.jobs" || wrong "submit.sh"
    read_jobs "$1"
}
read_jobs() { # NAME
    local stage number
    while read -r stage number; do job[$stage]=$number; done <"$1.jobs"
}
status() { # NAME CODE: what status.sh says, into the file status
    local code=0
    "$source/jobs/slurm/status.sh" "$1.settings" >status || code=$?
    [ $code = "$2" ] || { cat status; wrong "status.sh of $1: exit $code, not $2"; }
}
status_says() { grep -qE "$1" status || { cat status; wrong "status.sh does not say: $1"; }; }

log_of() { cat "$1/log/$2-${3:-${job[$2]}}.log"; } # NAME STAGE [JOB]
log_says() { # NAME STAGE TEXT [JOB]
    grep -q -- "$3" <<<"$(log_of "$1" "$2" "${4:-}")" || wrong "the log of $2 in $1 does not say: $3"
}
# Waits for the first checkpoint of NAME's training; gives up when the chain has broken before.
until_it_trains() { # NAME [RUN]
    local run=$1/${2:-run}
    hosts_wait_for 100 "a checkpoint" begun "$run" && [ -e "$run/last" ] || wrong "training did not begin"
}
begun() { [ -e "$1/last" ] || [ "$(slurm_state "${job[infer]}")" != PENDING ]; }
# A requeued job waits two minutes. Not in the second of its end, though: its old credential is revoked up to that time.
start_soon() { scontrol update JobId="$1" StartTime=now+3; }
arrive() { slurm_wait "$@" || wrong "see the logs above"; }
same_submission() { cmp by-hand.csv "$1/submission.csv" || wrong "another submission than by hand: $1"; }
complete() { # NAME
    arrive 120 "${job[infer]}" COMPLETED
    same_submission "$1"
}
go_on() { # NAME: its training is back in the queue
    start_soon "${job[train]}"
    complete "$1"
    log_says "$1" train 'continuing after step'
}

# The ranks that train RUN on all hosts, whose processes are seen from the head; they can be held, so that a signal or a limit finds them at work.
signal_ranks() { # SIGNAL RUN
    local file
    for file in $(grep -lazE "(^|/)train$" /proc/[0-9]*/cmdline 2>/dev/null); do
        if [[ $(tr '\0' ' ' 2>/dev/null <"$file") =~ ^([^ ]*/)?train\ .*--out\ $2\  ]]; then kill -"$1" "$(cut -d/ -f3 <<<"$file")" 2>/dev/null || true; fi
    done
}
hold() { signal_ranks STOP "$1"; }
release() { signal_ranks CONT "$1"; }

by_hand() {
    . "$source/jobs/mpi.sh"
    local o=(--quiet)
    "$bin/preprocess" "${o[@]}" --vocab "$sample/model" --out hand/train "$sample/train-first.csv" "$sample/train-second.csv"
    "$bin/preprocess" "${o[@]}" --vocab "$sample/model" --out hand/test "$sample/test.csv"
    "$bin/shard" "${o[@]}" --shards 3 --sample 2000 --seed 42 --out hand/shards hand/train
    train_by_hand run hand/shards --epochs 4
    "$bin/infer" "${o[@]}" --run hand/run --input hand/test --sample-submission "$sample/sample_submission.csv" --out by-hand.csv
}
train_by_hand() { # RUN SHARDS OPTION...
    "$bin/train" --quiet --recipe "$source/recipes/tiny.conf" --config "$sample/model" --train "$2" --out "hand/$1" "${@:3}"
}
