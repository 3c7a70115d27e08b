#!/usr/bin/env bash
# mpirun with the settings of jobs/mpi.sh, and with TERM, INT (Ctrl-C), HUP, USR1 or USR2 handed on to every rank, so that the programs save
# everything and stop with exit 75. mpirun alone answers TERM, INT and HUP by ending its ranks within a second, and with exit 1.
#   jobs/mpirun.sh -np 8 train --recipe ...
set -uo pipefail
. "$(dirname "$0")/mpi.sh"
[ $# -gt 0 ] || { sed -n '2,4s/^# *//p' "$0"; exit 2; }
asked= interrupted=
pass_on() {
    asked=yes interrupted=yes
    kill -USR1 "$pid" 2>/dev/null
}
trap 'asked=yes' TERM INT HUP USR1 USR2 # until there is somebody to tell
setsid mpirun "$@" </dev/null & # a session of its own: Ctrl-C is for this script alone
pid=$!
trap pass_on TERM INT HUP USR1 USR2
[ -z "$asked" ] || pass_on
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
        [ $stuck -lt 5 ] || { echo "jobs/mpirun.sh: all its ranks have ended and mpirun has not: it is ended" >&2; kill -KILL "$pid"; }
    done
}
watch &
code=0
while :; do # a trapped signal ends `wait` early, with a code of its own
    interrupted=
    wait "$pid"
    last=$?
    [ $last = 127 ] || code=$last
    [ -n "$interrupted" ] || break
done
# A signal before the programs listen ends them: nothing was begun, so nothing is lost.
[ -z "$asked" ] || [ $code != $((128 + $(kill -l USR1))) ] || code=75
exit $code
