#!/usr/bin/env bash
# How long a run takes to start: from exec of `train` to its first forward pass, for 6 layers of 384 on real comments, by parts; then how fast weights
# come from the page cache with all their checks.
#   bench/start.sh [--rounds 5] [--rows 20000] [--ranks 1,2]
# FRETSAW_DATA is the data folder; BIN the folder of the programs (weights_bench among them). PYTHON with torch and safetensors adds
# pytorch_model.bin. The bar: 1.0 s; weights 1.5 GB/s. mpirun's own start (from its call to the exec of the ranks) stands apart.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=5 rows=20000 ranks=1,2
while [ $# -gt 0 ]; do
    case $1 in
        --rounds) rounds=$2 ;;
        --rows) rows=$2 ;;
        --ranks) ranks=$2 ;;
        *) sed -n '2,7p' "$0" >&2; exit 2 ;;
    esac
    shift 2
done
data=$(realpath "${FRETSAW_DATA:-../shared/data}")
bin=${BIN:-build/release/bin}
. jobs/mpi.sh
. bench/shape.sh
work=${WORK:-$(mktemp -d "${TMPDIR:-/tmp}/fretsaw-start-XXXXXX")}
[ -n "${WORK:-}" ] || trap 'rm -rf "$work"' EXIT
vocab=$data/vocab/bert-base-multilingual-uncased
[ -r "$vocab/vocab.txt" ] || { echo "start: FRETSAW_DATA has no vocab/bert-base-multilingual-uncased" >&2; exit 3; }

if [ ! -d "$work/shards" ]; then
    "$bin/preprocess" --quiet --vocab "$vocab" --out "$work/tokens" "$data/comments/train.csv" >/dev/null
    "$bin/shard" --quiet --out "$work/shards" --shards 8 --sample "$rows" --seed 0 "$work/tokens"
    mkdir -p "$work/small" "$work/base"
    cp "$vocab/vocab.txt" "$work/small"
    cp "$vocab/vocab.txt" "$work/base"
    bert_config "$vocab/vocab.txt" 6 384 12 1536 >"$work/small/config.json"
    bert_config "$vocab/vocab.txt" 12 768 12 3072 >"$work/base/config.json"
    for model in small base; do # weights to start from: those of a run of one step
        "$bin/train" --quiet --init random --config "$work/$model" --train "$work/shards" --out "$work/make" --lanes 1 --batch 1 --max-length 16 \
            --micro-tokens 16 --epochs 1 --max-steps 1 --keep 1
        mv "$work/make/epoch-1/model.safetensors" "$work/$model"
        rm -rf "$work/make"
    done
fi
machine_line

one() { # RANKS TRAIN-OPTION...: "seconds mpirun's-seconds parts"
    local np=$1 begin launch=()
    shift
    [ "$np" = 1 ] || launch=(mpirun -np "$np")
    rm -rf "$work/run"
    begin=$EPOCHREALTIME
    "${launch[@]}" "$bin/train" "$@" --train "$work/shards" --out "$work/run" --lanes 8 --batch 8 --epochs 1 --max-steps 1 --keep 1 2>&1 |
        while IFS= read -r line; do
            [[ $line =~ first\ forward\ pass\ ([0-9.]+)\ s.*\((.*)\) ]] || continue
            awk -v a="$begin" -v b="$EPOCHREALTIME" -v s="${BASH_REMATCH[1]}" -v p="${BASH_REMATCH[2]}" 'BEGIN { printf "%.2f %.2f %s\n", s, b - a - s, p }'
        done
}
middle() { sort -n | awk '{ line[NR] = $0 } END { print line[int((NR + 1) / 2)] }'; }
for np in ${ranks//,/ }; do
    for start in "--init random --config $work/small" "--model $work/small"; do
        for _ in $(seq "$rounds"); do
            # shellcheck disable=SC2086 # the words of `start` are options
            one "$np" $start
        done | middle | while read -r seconds own parts; do
            echo "np $np, ${start%% *} ${start#* }" | sed "s|$work/||; s|--model small|weights of a file|; s| --config small||; s|--init random|random weights|" | tr '\n' ':'
            echo " $seconds s ($parts)$([ "$np" = 1 ] || echo "; mpirun's own start $own s")"
        done
    done
done
if [ -n "${PYTHON:-}" ] && [ ! -d "$work/bin" ]; then
    mkdir "$work/bin"
    "$PYTHON" -c 'import sys, torch; from safetensors.torch import load_file; torch.save(load_file(sys.argv[1]), sys.argv[2])' \
        "$work/base/model.safetensors" "$work/bin/pytorch_model.bin"
fi
for threads in 1 "$(nproc)"; do
    for from in "$work/base" "$work/bin"; do
        [ ! -d "$from" ] || "$bin/weights_bench" "$from" "$work/base/config.json" "$threads" "$rounds" | sed "s|$work/||"
    done
done
