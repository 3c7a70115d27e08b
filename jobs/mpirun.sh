#!/usr/bin/env bash
# mpirun with the settings of jobs/mpi.sh, and with TERM, INT (Ctrl-C), HUP, USR1 or USR2 handed on to every rank, so that the programs save
# everything and stop with exit 75. mpirun alone answers TERM, INT and HUP by ending its ranks within a second, and with exit 1.
# Where a rank ends with an exit code of the programs (2 to 6, 75), whose reason it has told, mpirun's own lines about that code are left out. A rank
# that was killed (SIGKILL) cannot tell: that is said here, and the exit code is 5, since it is mostly memory that ran out.
#   jobs/mpirun.sh -np 8 train --recipe ...
set -uo pipefail
. "$(dirname "$0")/mpi.sh"
[ $# -gt 0 ] || { sed -n '2,6s/^# *//p' "$0"; exit 2; }
# Lines as they come; but what mpirun says between two rules of a process that ended with an exit code waits for the end, and stays away where that
# code is the programs' own.
rule=$(printf '%074d' 0 | tr 0 -) ended=$'\001ended with '
pass_lines() {
    local line block= held= lines=0 code=
    trap '' TERM INT HUP USR1 USR2
    while IFS= read -r line || [ -n "$line" ]; do
        case $line in *"$ended"*)
            code=${line##*"$ended"} line=${line%"$ended"*}
            [ -n "$line" ] || continue ;;
        esac
        if [ -n "$block" ]; then
            block+=$line$'\n' lines=$((lines + 1))
            case $lines,$line in
                2,'Primary job  terminated normally, but '* | 2,'mpirun detected that one or more processes exited with non-zero status'* | \
                    2,'MPI_ABORT was invoked on rank '*) continue ;;
                2,"$rule") printf '%s\n' "$rule" && block=$line$'\n' lines=1 ;; # that was another block's end
                2,* | 20,*) printf '%s' "$block" && block= ;; # of something else
                *,"$rule") held+=$block block= ;;
            esac
            continue
        fi
        case $line in
            "$rule") block=$line$'\n' lines=1 ;;
            'mpirun: Forwarding signal 10 to job') ;; # this script's own doing
            *'sent help message help-mpi-api.txt / mpi-abort' | *'Set MCA parameter "orte_base_help_aggregate" to 0'*) held+=$line$'\n' ;;
            *) printf '%s\n' "$line" ;;
        esac
    done
    case $code in [2-6] | 75) held= ;; esac
    printf '%s%s' "$held" "$block"
}
asked= interrupted=
pass_on() {
    [ -n "$asked" ] || echo "jobs/mpirun.sh: the ranks are told to save everything and stop" >&2
    asked=yes interrupted=yes
    kill -USR1 "$pid" 2>/dev/null
}
trap 'asked=yes' TERM INT HUP USR1 USR2 # until there is somebody to tell
exec 3> >(pass_lines >&2)
lines=$!
setsid mpirun "$@" </dev/null 2>&3 3>&- & # a session of its own: Ctrl-C is for this script alone
pid=$!
trap pass_on TERM INT HUP USR1 USR2
[ -z "$asked" ] || { asked= && pass_on; }
# Where a rank dies during the start, mpirun 4.1 now and then ends the others and then itself waits for good, on a lock of its PMIx. A healthy one
# takes note of a rank's end at once: one that has not for 5 s, and has no rank left, is ended here.
watch() {
    local stuck=0 child states
    while kill -0 "$pid" 2>/dev/null; do
        sleep 1
        states=
        for child in $(cat /proc/"$pid"/task/*/children 2>/dev/null); do
            states+=$(sed 's/.*) \(.\).*/\1/' "/proc/$child/stat" 2>/dev/null)
        done
        case $states in
            '' | *[!Z]*) stuck=0 ;;
            *) stuck=$((stuck + 1)) ;;
        esac
        [ $stuck -lt 5 ] || { echo "jobs/mpirun.sh: all its ranks have ended and mpirun has not: it is ended" >&2; kill -KILL "$pid"; exit 9; }
    done
}
watch 3>&- &
watcher=$!
code=0
while :; do # a trapped signal ends `wait` early, with a code of its own
    interrupted=
    wait "$pid"
    last=$?
    [ $last = 127 ] || code=$last
    [ -n "$interrupted" ] || break
done
echo "$ended$code" >&3
exec 3>&-
# What mpirun said last is shown first; a rank that is left behind may hold its end open.
for _ in $(seq 50); do
    kill -0 "$lines" 2>/dev/null || break
    sleep 0.1
done
# A signal before the programs listen ends them: nothing was begun, so nothing is lost.
[ -z "$asked" ] || [ $code != $((128 + $(kill -l USR1))) ] || code=75
if [ $code = $((128 + $(kill -l KILL))) ] && wait "$watcher"; then # else it was mpirun that was killed
    echo "jobs/mpirun.sh: a rank was killed (SIGKILL): by the kernel where memory ran out, which its log (dmesg) tells, or by somebody. What was saved is whole:" \
        "the same command goes on from it" >&2
    code=5
fi
exit $code
