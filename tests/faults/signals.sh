#!/usr/bin/env bash
# Signals at every stage of a program's life, to every part of a job; and output that cannot be written.
. "$(dirname "$0")/../mpi/train_lib.sh"
root=$(dirname "$0")/../..
data train 480 1 2 5 120 60 0
base=(--init random --config "$scratch" --train "$scratch/train" --lanes 4 --batch 4 --max-length 40 --lr 1e-3 --micro-tokens 64 --threads 1)
lines() { wc -l 2>/dev/null <"$scratch/$1/metrics.jsonl" || echo 0; }
wait_for() { for _ in $(seq 1000); do [ "$(lines "$1")" -ge "$2" ] && return; sleep 0.02; done; wrong "run $1 did not come to line $2"; }
# Waits until process $1 catches signal number $2.
listens() { for _ in $(seq 1000); do [ $((0x$(sed -n 's/^SigCgt:\t//p' "/proc/$1/status" 2>/dev/null || echo 0) >> ($2 - 1) & 1)) = 1 ] && return; sleep 0.005; done; wrong "process $1 never listens"; }
ended() { # CODE WHAT PROCESS
    wait "$3"
    local code=$?
    [ $code = "$1" ] || wrong "$2: exit $code, not $1 ($(said))"
}

# As soon as there is anybody who listens: the training has not begun, and nothing is lost by going on.
for signal in TERM HUP; do
    "$bin/train" "${base[@]}" --epochs 9 --out "$scratch/early" >"$scratch/log" 2>&1 &
    listens $! "$(kill -l $signal)"
    kill -$signal $!
    ended 75 "SIG$signal at the start" $!
    grep -q "stopped (SIG$signal)" "$scratch/log" || wrong "SIG$signal at the start is not told: $(said)"
done

# nohup: a hang-up that was ignored stays so.
(trap '' HUP; exec "$bin/train" "${base[@]}" --epochs 1 --out "$scratch/nohup") >"$scratch/log" 2>&1 &
wait_for nohup 2
kill -HUP $!
ended 0 "SIGHUP under nohup" $!

# A time limit; the same command goes on.
expect 75 "stopped (time limit of 1 s)" train 1 limited "${base[@]}" --epochs 400 --time-limit 1 --checkpoint-every 1000
before=$(lines limited)
[ -e "$scratch/limited/step-$(printf %06d "$before")" ] || wrong "the last finished step is not saved: line $before, $(ls "$scratch/limited")"
expect 75 "continuing after step $before " train 1 limited "${base[@]}" --epochs 400 --time-limit 1 --checkpoint-every 1000
[ "$(lines limited)" -gt "$before" ] || wrong "the run did not go on: still line $before"

# Work that has nothing to save ends at once.
mkfifo "$scratch/never.csv"
"$bin/infer" --validate "$scratch/never.csv" --sample-submission "$scratch/never.csv" >"$scratch/log" 2>&1 &
sleep 0.7
kill -TERM $!
ended 143 "SIGTERM to --validate" $!

# Output that cannot be written is an error of every program, also of --help.
for program in preprocess shard train infer report; do
    for word in --help --version --help-man --help-words; do
        "$bin/$program" $word >/dev/full 2>"$scratch/log"
        code=$?
        [ $code = 4 ] && grep -q "standard output" "$scratch/log" || wrong "$program $word >/dev/full: exit $code: $(said)"
    done
done

[ -n "$mpi" ] || finish
# While a rank still waits inside MPI_Init for another that starts late.
"$mpi" -np 1 "$bin/train" "${base[@]}" --epochs 9 --out "$scratch/early-mpi" : -np 1 sh -c 'sleep 2; exec "$@"' late "$bin/train" "${base[@]}" --epochs 9 \
    --out "$scratch/early-mpi" >"$scratch/log" 2>&1 &
job=$!
for _ in $(seq 300); do rank=$(pgrep -P $job -x train) && break; sleep 0.02; done
listens "$rank" 15
sleep 0.5
kill -TERM "$rank"
ended 75 "SIGTERM inside MPI_Init" $job
grep -q "stopped (SIGTERM)" "$scratch/log" || wrong "SIGTERM inside MPI_Init is not told: $(said)"

# The launcher is told to stop: jobs/mpirun.sh hands it on.
for signal in TERM INT HUP; do
    timeout -k 5 60 env --default-signal=INT "$root/jobs/mpirun.sh" -np 2 "$bin/train" "${base[@]}" --epochs 60 --out "$scratch/launcher" >"$scratch/log" 2>&1 &
    job=$!
    wait_for launcher $(($(lines launcher) + 3))
    kill -$signal "$(pgrep -P $job)"
    ended 75 "SIG$signal to jobs/mpirun.sh" $job
    [[ $(tail -n 4 "$scratch/log") == *"everything saved"* ]] || wrong "SIG$signal to jobs/mpirun.sh: $(cat "$scratch/log")"
    grep -q "jobs/mpirun.sh: the ranks are told" "$scratch/log" || wrong "SIG$signal to jobs/mpirun.sh is not told"
    grep -E "Primary job|non-zero|Forwarding" "$scratch/log" && wrong "mpirun's words about an exit code of ours"
done

# Of what mpirun says only its words about such a code stay away, and only where the code is one of the programs'.
cat >"$scratch/mpirun" <<'S'
#!/bin/bash
rule=$(printf '%074d' 0 | tr 0 -)
block() { printf '%s\n' "$rule" "$@" "$rule" >&2; }
echo "from a rank" >&2
block "mpirun was unable to find the specified executable file, and therefore" "" "Executable: any"
block "Primary job  terminated normally, but 1 process returned" "a non-zero exit code. Per user-direction, the job has been aborted."
block "MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD" "with errorcode $2." "" "NOTE: invoking MPI_ABORT causes Open MPI to kill all MPI processes."
echo "[vm:1] 1 more process has sent help message help-mpi-api.txt / mpi-abort" >&2
echo "[vm:1] Set MCA parameter \"orte_base_help_aggregate\" to 0 to see all help / error messages" >&2
echo "$rule" >&2
echo "a table's line" >&2
block "mpirun detected that one or more processes exited with non-zero status, thus causing" "the job to be terminated. The first process to do so was:" "" \
    "  Process name: [[1,1],0]" "  Exit code:    $2"
printf "no end" >&2
exit "$2"
S
chmod +x "$scratch/mpirun"
for code in 75 3 9 0; do
    PATH=$scratch:$PATH "$scratch/mpirun" any $code 2>"$scratch/whole"
    PATH=$scratch:$PATH "$root/jobs/mpirun.sh" any $code 2>"$scratch/part"
    [ $? = $code ] || wrong "exit $? of jobs/mpirun.sh, not $code"
    case $code in
        75 | 3) [ "$(wc -l <"$scratch/part")" = 9 ] && ! grep -E "Primary|detected|Exit code|ABORT|aggregate" "$scratch/part" ;;
        *) cmp <(sort "$scratch/whole") <(sort "$scratch/part") ;;
    esac || wrong "lines of mpirun with code $code: $(cat "$scratch/part")"
done

# mpirun 4.1 may stay for good after a rank has died in the start; what shows it are ranks that have ended and are not taken note of.
cat >"$scratch/mpirun" <<'S'
#!/usr/bin/env python3
import subprocess, time
ranks = [subprocess.Popen(["sleep", "1"]) for _ in range(2)]
time.sleep(60)
S
chmod +x "$scratch/mpirun"
begin=$SECONDS
PATH=$scratch:$PATH "$root/jobs/mpirun.sh" -np 2 any >"$scratch/log" 2>&1 &
ended 137 "an mpirun that stays" $!
[ $((SECONDS - begin)) -le 15 ] && grep -q "all its ranks have ended" "$scratch/log" || wrong "an mpirun that stays: $((SECONDS - begin)) s: $(said)"
finish
