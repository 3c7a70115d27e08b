#!/usr/bin/env bash
# Says where a chain of jobs stands: a line for each stage and each member of an array, with the last thing that it said.
#   jobs/slurm/status.sh my-settings.sh
# Exit code: 0 the submission is there; 1 the chain works or waits; 2 usage; 3 it has stopped: the same submit command goes on.
set -euo pipefail
[ $# = 1 ] && [ -r "$1" ] || { echo "usage: jobs/slurm/status.sh SETTINGS" >&2; exit 2; }
settings=$1
here=$(cd "$(dirname "$0")" && pwd)
. "$settings"
. "$here/members.sh"
jobs=$WORK/log/jobs
[ -s "$jobs" ] || { echo "nothing was submitted to $WORK yet: jobs/slurm/submit.sh $settings"; exit 3; }

# What Slurm knows; it forgets a job some minutes after its end (MinJobAge).
queue=$(squeue --noheader --array --states=all --format='%i|%T|%r|%L|%N' --jobs="$(cut -d' ' -f2 "$jobs" | paste -sd,)" 2>/dev/null) || queue=

last_words() { # LOG
    [ -r "$1" ] && tr '\r' '\n' <"$1" | grep -vE '^(stage |srun: |slurmstepd|[a-z]*: (peak memory|moved between)|.*Terminated|[[:space:]]|$)' | tail -n 1 | cut -c1-150 || true
}

working=no ended=0
one_line() { # STAGE JOB LOG HISTORY LABEL
    local stage=$1 job=$2 log=$3 history=$4 label=$5 state= reason= left= nodes= what=
    IFS='|' read -r _ state reason left nodes < <(grep -m 1 "^$job|" <<<"$queue") || true
    if [ -z "$state" ]; then
        case $(tail -n 1 "$history" 2>/dev/null) in
            *" $job ends 0") state=COMPLETED ;;
            *" $job ends "*) state=FAILED ;;
            *" $job begins "*) state=LOST ;;
            *) state="NOT BEGUN" ;;
        esac
    fi
    case $state in
        PENDING)
            working=yes what="waits: $reason"
            [ "$reason" != BeginTime ] || what="waits to go on: $(last_words "$log")" ;;
        RUNNING | CONFIGURING | COMPLETING | REQUEUED | SUSPENDED) working=yes what="on $nodes, $left left; $(last_words "$log")" ;;
        COMPLETED) what=$(last_words "$log") ;;
        *) ended=$((ended + 1)) what="$(last_words "$log")${log:+  ($log)}" ;;
    esac
    printf '%-26s %-8s %-10s %s\n' "$stage$label" "$job" "$state" "$what"
}

printf '%-26s %-8s %-10s %s\n' stage job state ''
while read -r stage job; do
    if [[ $stage = train || $stage = infer ]] && [ -n "$SEEDS$FOLDS" ]; then
        k=0
        while read -r name _; do
            one_line "$stage" "${job}_$k" "$WORK/log/$stage-${job}_$k.log" "$WORK/log/$stage-$k.history" " $name"
            k=$((k + 1))
        done < <(members)
    else
        one_line "$stage" "$job" "$WORK/log/$stage-$job.log" "$WORK/log/$stage.history" ""
    fi
done <"$jobs"

[ $working = no ] || { echo "The chain is at work."; exit 1; }
if [ $ended = 0 ] && [ -s "$WORK/submission.csv" ]; then
    echo "Done: $WORK/submission.csv, $(($(wc -l <"$WORK/submission.csv") - 1)) rows"
    exit 0
fi
echo "The chain has stopped. To go on: jobs/slurm/submit.sh $settings"
exit 3
