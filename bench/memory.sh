#!/usr/bin/env bash
# What training and scoring hold in memory, with bert-base-multilingual-uncased's full shape, random weights and real comments:
#   - one step of 8 lanes x 8 rows with 1, 2 and 8 ranks: one hash, and the memory of all ranks together (shared pages counted once; bar: 16 GB at 8)
#   - one step of 8 lanes x 32 rows on one rank, beside PyTorch's best way with 256 rows (bar: 0.75 of its peak), and beside what --plan said
#   - scoring, beside PyTorch's (bar: 0.6)
#   bench/memory.sh [--skip-torch] [--ranks 1,2,8]
# BIN is the folder of the programs, FRETSAW_DATA the data folder, PYTHON a python with torch and transformers, FRETSAW_PEER_SCRIPTS the folder of
# train_torch.py. Time plays no part: it may run beside other work.
set -euo pipefail
cd "$(dirname "$0")/.."
ranks=1,2,8 torch=yes
while [ $# -gt 0 ]; do
    case $1 in
        --skip-torch) torch= ;;
        --ranks) ranks=$2; shift ;;
        *) sed -n '2,8p' "$0" >&2; exit 2 ;;
    esac
    shift
done
data=$(realpath "${FRETSAW_DATA:-../shared/data}")
scripts=${FRETSAW_PEER_SCRIPTS:-../shared/peers}
bin=${BIN:-build/release/bin}
. jobs/mpi.sh
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
printf '{"model_type":"bert","vocab_size":%d,"num_hidden_layers":12,"hidden_size":768,"num_attention_heads":12,"intermediate_size":3072,"max_position_embeddings":512,"type_vocab_size":2,"hidden_act":"gelu","pad_token_id":0,"layer_norm_eps":1e-12,"initializer_range":0.02}\n' \
    "$(wc -l <"$vocab/vocab.txt")" >"$work/model/config.json"

# COMMAND...: runs it; the most memory that all processes of that program took together at one time, shared pages once, into $peak (MB)
watched() {
    local pid
    "$@" >"$work/log" 2>&1 &
    pid=$!
    peak=0
    while kill -0 $pid 2>/dev/null; do
        now=$(for p in /proc/[0-9]*; do
            [ "$(readlink "$p/exe" 2>/dev/null)" = "$(realpath "$bin/$program")" ] && cat "$p/smaps_rollup" 2>/dev/null
        done | awk '/^Pss:/ { s += $2 } END { printf "%d", s / 1000 * 1.024 }')
        [ "${now:-0}" -gt "$peak" ] && peak=$now
        sleep 0.3
    done
    wait $pid || { tail -3 "$work/log" >&2; return 1; }
}
train=("$bin/train" --init random --config "$work/model" --train "$work/shards" --lanes 8 --epochs 1 --max-steps 1 --keep 1)
program=train
hashes=
for np in ${ranks//,/ }; do
    rm -rf "$work/run"
    launch=()
    [ "$np" = 1 ] || launch=(mpirun -np "$np")
    "${launch[@]}" "${train[@]}" --batch 8 --out "$work/run" --plan 2>/dev/null >"$work/plan"
    plan=$(awk '/together, a rank|once a node/ { v = $(NF - 1) * ($NF == "GB" ? 1000 : 1); if (/a rank/) r = v; else n += v } END { printf "%d", r * '"$np"' + n }' "$work/plan")
    watched "${launch[@]}" "${train[@]}" --batch 8 --out "$work/run"
    hash=$(grep -o '"state":"[^"]*"' "$work/run/metrics.jsonl" | cut -d'"' -f4)
    hashes="$hashes$hash "
    echo "8 lanes x 8 rows, $np ranks: $peak MB in all (at most $plan by --plan), state $hash"
done
[ "$(tr ' ' '\n' <<<"$hashes" | sort -u | grep -c .)" = 1 ] && echo "one hash" || echo "THE HASHES DIFFER"
rm -rf "$work/run"
"${train[@]}" --batch 32 --out "$work/run" --plan 2>/dev/null >"$work/plan"
plan=$(awk '/together, a rank|once a node/ { v = $(NF - 1) * ($NF == "GB" ? 1000 : 1); s += v } END { printf "%d", s }' "$work/plan")
watched "${train[@]}" --batch 32 --out "$work/run"
ours=$peak
echo "8 lanes x 32 rows, 1 rank: $ours MB ($plan by --plan, ratio $(awk "BEGIN { printf \"%.3f\", $plan / $ours }"))"
program=infer
watched "$bin/infer" --run "$work/run" --input "$work/score" --out "$work/scores.csv"
score=$peak
echo "scoring 512 rows, 1 rank: $score MB"
[ -n "$torch" ] && [ -n "${PYTHON:-}" ] || exit 0
theirs() { "$PYTHON" "$scripts/train_torch.py" "$data/comments/train.csv" "$vocab" --mode best --rows 256 --steps 1 "$@" 2>/dev/null | sed -n 's/.*peak RSS \([0-9.]*\) GB.*/\1/p'; }
a=$(theirs)
echo "PyTorch, 256 rows: $a GB; ratio $(awk "BEGIN { printf \"%.3f\", $ours / 1000 / $a }")"
b=$(theirs --infer)
echo "PyTorch, scoring: $b GB; ratio $(awk "BEGIN { printf \"%.3f\", $score / 1000 / $b }")"
