#!/usr/bin/env bash
# Why any layout gives the same bytes: the chain of calls of each lane (operation, shapes, inputs) is the same whichever rank runs it; disturbing what no
# result may depend on changes nothing; and dependences on addresses, on the number of calls, on time, planted into the kernels' results, are found.
. "$(dirname "$0")/train_lib.sh"
tracer=$bin/train_trace
data train 120 1 2 5 120 60 0
trace() { # RANKS MODE
    local launch=()
    [ "$1" = 1 ] || launch=("$mpi" -np "$1")
    timeout -k 5 60 "${launch[@]}" "$tracer" "$scratch" "$2" >"$scratch/$2-$1" 2>"$scratch/log" || wrong "$2 at np $1: $(said)"
}
compare() { cmp -s "$scratch/$1" "$scratch/$2"; }

trace 1 trace
[ "$(grep -c '^lane' "$scratch/trace-1")" = 4 ] && [ "$(sort -u "$scratch/trace-1" | wc -l)" = 5 ] || wrong "no four lanes: $(cat "$scratch/trace-1")"
for ranks in 1 ${mpi:+2 3 4}; do
    [ "$ranks" = 1 ] || trace "$ranks" trace
    trace "$ranks" quiet
    compare trace-1 "trace-$ranks" || wrong "np $ranks: other calls: $(diff "$scratch/trace-1" "$scratch/trace-$ranks")"
    compare trace-1 "quiet-$ranks" || wrong "np $ranks, disturbed where it must not matter: $(diff "$scratch/trace-1" "$scratch/quiet-$ranks")"
done

# The planted faults. Call counts are the same in every run of one layout, so that only another layout shows them.
for mode in address calls time; do
    trace 1 $mode
    compare trace-1 $mode-1 && wrong "planted: $mode: not found at np 1"
    for ranks in ${mpi:+2 3}; do
        trace "$ranks" $mode
        compare $mode-1 "$mode-$ranks" && wrong "planted: $mode: np 1 and np $ranks agree"
        [ "$(grep state "$scratch/$mode-1")" = "$(grep state "$scratch/$mode-$ranks")" ] && wrong "planted: $mode: the state does not show it at np $ranks"
    done
done
cp "$scratch/calls-1" "$scratch/again" && trace 1 calls
compare again calls-1 || wrong "the dependence on the number of calls is not the planted one"
finish
