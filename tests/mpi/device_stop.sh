#!/usr/bin/env bash
# A rank that is told to stop before its last lane leaves the gradients that have set out to it unanswered: the step is given up, all stop with everything
# saved, nobody waits for a message or gives its memory back, and the same command goes on to the same bytes. Rank 0 has one lane of three, rank 1 two.
. "$(dirname "$0")/train_lib.sh"
data train 36 1 2 5 60 40 0
data valid 12 1 1 6 60 40 0
stopping=(--valid "$scratch/valid" --lanes 3 --batch 3 --epochs 4 --max-length 40 --lr 1e-3 --micro-tokens 80 --threads 1 --checkpoint-every 1000 --type bfloat16)
export TMPDIR=$scratch/links
mkdir "$scratch/links"
train 2 undisturbed "${stopping[@]}" || wrong "links, undisturbed: $(said)"
given_up=
for try in 1 2 3 4 5 6 7 8; do
    timeout -k 5 60 "$mpi" -np 2 "$bin/train" --init random --config "$scratch" --train "$scratch/train" --out "$scratch/stopped$try" "${stopping[@]}" >"$scratch/log" 2>&1 &
    job=$!
    for _ in $(seq 500); do [ "$(wc -l 2>/dev/null <"$scratch/stopped$try/metrics.jsonl" || echo 0)" -ge 1 ] && break; sleep 0.02; done
    rank=$(pgrep -f -- "$scratch/stopped$try " | while read -r p; do grep -qzx OMPI_COMM_WORLD_RANK=1 "/proc/$p/environ" 2>/dev/null && echo "$p"; done)
    [ -n "$rank" ] && kill -TERM "$rank" 2>/dev/null
    wait $job
    code=$?
    [ $code = 75 ] || [ $code = 0 ] || wrong "a rank told to stop: exit $code: $(said)"
    if [ $code = 75 ] && compgen -G "$scratch/links/fretsaw-links-*/*" >/dev/null; then
        given_up=$try
        break
    fi
done
[ -n "$given_up" ] || wrong "no step was given up with gradients under way"
rm -rf "$scratch"/links/*
train 2 "stopped$given_up" "${stopping[@]}" || wrong "after a step that was given up: $(said)"
same_run undisturbed "stopped$given_up" "a step given up, and resumed"
finish
