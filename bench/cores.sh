#!/usr/bin/env bash
# What a second core is worth: training steps of one rank with one thread, one rank with two threads and two ranks with one thread, in turns on the same real rows.
#   PYTHON=/peers/bin/python bench/cores.sh [--model base|minilm|tiny] [--rows 256] [--lanes 8] [--rounds 5]
# PYTHON has pandas and transformers (it draws the rows); FRETSAW_DATA is the data folder, BIN the folder of the programs. WRAP, if set, is put before each
# timed command. A run of two steps is timed by its own records, the first step left out; ratios are of the medians, and each round's own are printed.
# Bars: two cores 1.92 times one; both ways to use two cores within 5% of each other. On a quiet machine only.
set -euo pipefail
cd "$(dirname "$0")/.."
model=base rows=256 lanes=8 rounds=5
while [ $# -gt 0 ]; do
    case $1 in
        --model) model=$2 ;;
        --rows) rows=$2 ;;
        --lanes) lanes=$2 ;;
        --rounds) rounds=$2 ;;
        *) sed -n '2,7p' "$0" >&2; exit 2 ;;
    esac
    shift 2
done
data=$(realpath "${FRETSAW_DATA:-../shared/data}")
bin=${BIN:-build/release/bin}
python=${PYTHON:?a python with pandas and transformers}
vocabulary=$data/vocab/bert-base-multilingual-uncased
read -ra wrap <<<"${WRAP:-}"
. jobs/mpi.sh
. bench/shape.sh
work=$(mktemp -d "${TMPDIR:-/tmp}/fretsaw-cores-XXXXXX")
trap 'rm -rf "$work"' EXIT
machine_line
real_rows "$model" $((rows * 2)) "$work"

seconds() { # RANKS THREADS: of the second step
    local launch=(env)
    [ "$1" = 1 ] || launch=(mpirun -np "$1")
    rm -rf "$work/run"
    "${wrap[@]}" "${launch[@]}" "$bin/train" --quiet --init random --config "$work/config.json" --vocab "$vocabulary/vocab.txt" --train "$work/tokens" \
        --out "$work/run" --lanes "$lanes" --batch $((rows / lanes)) --epochs 1 --max-steps 2 --lr 1e-5 --keep 1 --threads "$2" >&2
    python3 -c 'import json, sys; print([j["seconds"] for j in map(json.loads, open(sys.argv[1])) if "step" in j and "seconds" in j][-1])' "$work/run/timing.jsonl"
}
for round in $(seq "$rounds"); do
    echo "$(seconds 1 1) $(seconds 1 2) $(seconds 2 1)"
done | python3 -u -c '
import statistics, sys
rounds = []
for line in sys.stdin:
    rounds.append([float(x) for x in line.split()])
    one, threads, ranks = (statistics.median(column) for column in zip(*rounds))
    print("round %d: 1 x 1 %.3f s, 1 x 2 %.3f s, 2 x 1 %.3f s; medians so far: two threads %.2f and two ranks %.2f times one core; ranks over threads %.3f"
          % (len(rounds), *rounds[-1], one / threads, one / ranks, ranks / threads))'
