#!/usr/bin/env bash
# Training and scoring on the CPU beside PyTorch and beside what the cores can do: the same real comments, random weights, dropout on, optimizer included.
#   PYTHON=/peers/bin/python bench/train.sh [--model base|minilm|tiny] [--rows 256] [--lanes 8] [--steps 2] [--rounds 1] [--modes best,padded]
#                                           [--infer] [--padded] [--ranks 1] [--threads 0]
# PYTHON has torch, transformers and pandas; FRETSAW_PEER_SCRIPTS is the folder of train_torch.py, FRETSAW_DATA the data folder, BIN that of the programs;
# peak_bench is built into build/bench when it isn't beside them. Each round: the FMA peak of the cores, ours, the peak, each mode of PyTorch.
# GFLOP/s count real tokens alone on both sides (6 operations a weight and token in training, 2 in scoring, and attention). --padded is our
# --pooling padded. --ranks N starts ours under mpirun with --threads threads each. WRAP, if set, is put before each timed command.
# Base needs 6 GB of memory for each side in its turn; a step of 256 rows takes half a minute here.
set -euo pipefail
cd "$(dirname "$0")/.."
model=base rows=256 lanes=8 steps=2 rounds=1 modes=best,padded infer= pooling=real ranks=1 threads=0
while [ $# -gt 0 ]; do
    case $1 in
        --infer) infer=yes; shift; continue ;;
        --padded) pooling=padded; shift; continue ;;
        --model) model=$2 ;;
        --rows) rows=$2 ;;
        --lanes) lanes=$2 ;;
        --steps) steps=$2 ;;
        --rounds) rounds=$2 ;;
        --modes) modes=$2 ;;
        --ranks) ranks=$2 ;;
        --threads) threads=$2 ;;
        *) sed -n '2,11p' "$0" >&2; exit 2 ;;
    esac
    shift 2
done
data=$(realpath "${FRETSAW_DATA:-../shared/data}")
scripts=${FRETSAW_PEER_SCRIPTS:-../shared/peers}
bin=${BIN:-build/release/bin}
python=${PYTHON:?a python with torch, transformers and pandas}
vocabulary=$data/vocab/bert-base-multilingual-uncased
read -ra wrap <<<"${WRAP:-}"
peak_bench=$bin/peak_bench
if [ ! -x "$peak_bench" ]; then
    [ -f build/bench/build.ninja ] || cmake -S . -B build/bench -G Ninja -DCMAKE_BUILD_TYPE=Release >/dev/null
    ninja -C build/bench peak_bench >/dev/null
    peak_bench=build/bench/bin/peak_bench
fi
. jobs/mpi.sh
. bench/shape.sh
work=$(mktemp -d "${TMPDIR:-/tmp}/fretsaw-train-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT
machine_line

real_rows "$model" $((rows * (steps + 1))) "$work"
launch=()
[ "$ranks" = 1 ] || launch=(mpirun -np "$ranks")

train_ours() { # STEPS; leaves $work/run
    rm -rf "$work/run"
    "${wrap[@]}" "${launch[@]}" "$bin/train" --quiet --init random --config "$work/config.json" --vocab "$vocabulary/vocab.txt" --train "$work/tokens" \
        --out "$work/run" --lanes "$lanes" --batch $((rows / lanes)) --epochs 1 --max-steps "$1" --lr 1e-5 --keep 1 --pooling "$pooling" --threads "$threads" \
        --profile >"$work/profile"
}
ours() { # prints GFLOP/s and rows/s
    if [ -z "$infer" ]; then
        train_ours $((steps + 1))
        "$python" bench/train_rows.py rate "$model" "$vocabulary" "$work/rows.csv" "$work/run"
    else
        rm -rf "$work/scores"
        "${wrap[@]}" "${launch[@]}" "$bin/infer" --quiet --run "$work/run" --input "$work/tokens" --out "$work/submission.csv" --work "$work/scores" \
            --threads "$threads" --profile >"$work/profile"
        "$python" bench/train_rows.py score "$model" "$vocabulary" "$work/rows.csv" "$(sed -n 's/.* in \([0-9.]*\) s;.*/\1/p' "$work/profile")"
    fi
}
[ -z "$infer" ] || train_ours 1
for round in $(seq "$rounds"); do
    "${wrap[@]}" "$peak_bench" "$(nproc)" >>"$work/peak"
    ours | tee -a "$work/ours" | sed 's/^/fretsaw: GFLOP\/s, rows\/s /'
    "${wrap[@]}" "$peak_bench" "$(nproc)" >>"$work/peak"
    for mode in ${modes//,/ }; do
        "${wrap[@]}" "$python" "$scripts/train_torch.py" "$data/comments/train.csv" "$vocabulary" --mode "$mode" --rows "$rows" --steps "$steps" \
            --model "$model" ${infer:+--infer} 2>"$work/torch-log" | tee -a "$work/torch-$mode" ||
            { tail -n 5 "$work/torch-log" >&2; exit 1; }
    done
done
grep -E '^(all|inside|update|wait)|attention|gelu|norm' "$work/profile" | sed 's/^/  /'
"$python" - "$work" "${modes//,/ }" "$pooling" <<'P'
import os, re, statistics, sys
work, modes, pooling = sys.argv[1:]
peak = statistics.median(float(x) for x in open(f"{work}/peak"))
own = statistics.median(float(line.split()[0]) for line in open(f"{work}/ours"))
rows = statistics.median(float(line.split()[1]) for line in open(f"{work}/ours"))
print(f"FMA peak of all cores, median: {peak:.1f} GFLOP/s; fretsaw ({pooling}): {own:.1f} GFLOP/s, {own / peak:.3f} of peak, {rows:.2f} rows/s")
for mode in modes.split():
    text = open(f"{work}/torch-{mode}").read()
    other = statistics.median(float(x) for x in re.findall(r"GFLOP/s\s+([0-9.]+)", text))
    print(f"PyTorch {mode}: {other:.1f} GFLOP/s, {other / peak:.3f} of peak; ratio {own / other:.2f}")
P
