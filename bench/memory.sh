#!/usr/bin/env bash
# What training and scoring hold in memory, with bert-base-multilingual-uncased's full shape, random weights and real comments:
#   - one step of 8 lanes x 8 rows with 1, 2 and 8 ranks: one hash, and the memory of all ranks together (shared pages counted once; bar: 16 GB at 8)
#   - STEPS steps (4) of 8 lanes x 32 rows on one rank, by default and with micro-batches of at most 1,024 tokens as PyTorch has them, beside PyTorch's best way
#     with 256 rows over as many steps (bar: 0.75 of its peak; its first step ends before it has moments, its longest rows may come later), and beside
#     what --plan said
#   - scoring, beside PyTorch's (bar: 0.6)
#   bench/memory.sh [--parts ranks,training,torch-training,scoring,torch-scoring] [--ranks 1,2,8] [--steps 4]
# BIN is the folder of the programs, FRETSAW_DATA the data folder, PYTHON a python with torch and transformers, FRETSAW_PEER_SCRIPTS the folder of
# train_torch.py. Time plays no part: it may run beside other work, and in several calls with the same WORK.
set -euo pipefail
cd "$(dirname "$0")/.."
ranks=1,2,8 steps=4 parts=ranks,training,torch-training,scoring,torch-scoring
while [ $# -gt 0 ]; do
    case $1 in
        --parts) parts=$2 ;;
        --ranks) ranks=$2 ;;
        --steps) steps=$2 ;;
        *) sed -n '2,10p' "$0" >&2; exit 2 ;;
    esac
    shift 2
done
wanted() { [[ ,$parts, == *,$1,* ]]; }
data=$(realpath "${FRETSAW_DATA:-../shared/data}")
scripts=${FRETSAW_PEER_SCRIPTS:-../shared/peers}
bin=${BIN:-build/release/bin}
. jobs/mpi.sh
. bench/shape.sh
vocab=$data/vocab/bert-base-multilingual-uncased
work=${WORK:-$(mktemp -d "${TMPDIR:-/tmp}/fretsaw-memory-XXXXXX")}
[ -n "${WORK:-}" ] || trap 'rm -rf "$work"' EXIT
mkdir -p "$work/model"
if [ ! -d "$work/shards" ]; then
    "$bin/preprocess" --quiet --vocab "$vocab" --out "$work/tokens" "$data/comments/train.csv" >/dev/null
    "$bin/shard" --quiet --out "$work/shards" --shards 8 --sample 20000 --seed 0 "$work/tokens"
    "$bin/shard" --quiet --out "$work/score" --shards 1 --sample 512 --seed 0 "$work/tokens"
fi
cp "$vocab/vocab.txt" "$work/model"
bert_config "$vocab/vocab.txt" 12 768 12 3072 >"$work/model/config.json"

# What the processes of $program take together now, shared pages once (MB)
taken() {
    local p
    for p in /proc/[0-9]*; do
        if [ "$(readlink "$p/exe" 2>/dev/null)" = "$(realpath "$bin/$program")" ]; then
            cat "$p/smaps_rollup" 2>/dev/null || true # it has ended meanwhile
        fi
    done | awk '/^Pss:/ { s += $2 } END { printf "%d", s / 1000 * 1.024 }'
}
# COMMAND...: runs it; the most that was taken at one time into $peak
watched() {
    local pid now
    "$@" >"$work/log" 2>&1 &
    pid=$!
    peak=0
    while kill -0 $pid 2>/dev/null; do
        now=$(taken)
        [ "$now" -le "$peak" ] || peak=$now
        sleep 0.3
    done
    wait $pid || { tail -3 "$work/log" >&2; return 1; }
}
train=("$bin/train" --init random --config "$work/model" --train "$work/shards" --lanes 8 --epochs 1 --keep 1)
once_and_a_rank='/together, a rank|once a node/ { v = $(NF - 1) * ($NF == "GB" ? 1000 : 1); if (/a rank/) r = v; else n += v } END { printf "%d", r * np + n }'
# BATCH RANKS STEPS OPTIONS...: so many steps of 8 lanes into $work/run-BATCH, what --plan says in $plan (MB)
some_steps() {
    local launch=()
    [ "$2" = 1 ] || launch=(mpirun -np "$2")
    local batch=$1 np=$2 count=$3
    shift 3
    rm -rf "$work/run-$batch"
    "${launch[@]}" "${train[@]}" --batch "$batch" --out "$work/run-$batch" --max-steps "$count" "$@" --plan 2>/dev/null >"$work/plan"
    plan=$(awk -v np="$np" "$once_and_a_rank" "$work/plan")
    program=train
    watched "${launch[@]}" "${train[@]}" --batch "$batch" --out "$work/run-$batch" --max-steps "$count" "$@"
}
ranks_agree() {
    local np hash hashes=
    for np in ${ranks//,/ }; do
        some_steps 8 "$np" 1
        hash=$(grep -o '"state":"[^"]*"' "$work/run-8/metrics.jsonl" | cut -d'"' -f4)
        hashes="$hashes$hash "
        echo "8 lanes x 8 rows, $np ranks: $peak MB in all (at most $plan by --plan), state $hash"
    done
    [ "$(tr ' ' '\n' <<<"$hashes" | sort -u | grep -c .)" = 1 ] && echo "one hash" || echo "THE HASHES DIFFER"
}
# MICRO TOKENS: 0 is the default
training() {
    some_steps 32 1 "$steps" --micro-tokens "$1"
    echo "$peak" >"$work/peak-training-$1"
    echo "8 lanes x 32 rows, 1 rank, $steps steps, --micro-tokens $1: $peak MB ($plan by --plan, ratio $(awk "BEGIN { printf \"%.3f\", $plan / $peak }"))"
}
scoring() {
    [ -e "$work/run-32/last" ] || training 1024
    program=infer
    watched "$bin/infer" --run "$work/run-32" --input "$work/score" --out "$work/scores.csv"
    echo "$peak" >"$work/peak-scoring"
    echo "scoring 512 rows, 1 rank: $peak MB"
}
# WHAT OPTIONS...: PyTorch's peak over as many steps, and ours over it where ours has been measured
beside() {
    local what=$1 ours theirs
    shift
    [ -n "${PYTHON:-}" ] || return 0
    theirs=$("$PYTHON" "$scripts/train_torch.py" "$data/comments/train.csv" "$vocab" --mode best --rows 256 --steps $((steps - 1)) "$@" 2>/dev/null | sed -n 's/.*peak RSS \([0-9.]*\) GB.*/\1/p')
    echo "PyTorch, $what, 256 rows: $theirs GB"
    for ours in "$work/peak-$what"*; do
        [ ! -s "$ours" ] || awk -v name="${ours##*/peak-}" -v t="$theirs" '{ printf "  ratio of %s: %.3f\n", name, $1 / 1000 / t }' "$ours"
    done
}
! wanted ranks || ranks_agree
! wanted training || { training 0 && training 1024; }
! wanted torch-training || beside training
! wanted scoring || scoring
! wanted torch-scoring || beside scoring --infer
