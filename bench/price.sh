#!/usr/bin/env bash
# What exactness costs: seconds a step of --reduce exact against --reduce fast, np = lanes = 2, 32 rows a lane, on the base shape
# (bert-base-multilingual-uncased's, random weights) and on 6 layers of 384, in interleaved pairs; then the price of eight lanes against one merged
# batch on one rank.
#   bench/price.sh [--pairs 10] [--steps 3] [--shapes base,6x384] [--threads 1]
# BIN is the folder of the programs. A run of STEPS steps is timed by its own records, the first step left out; ratios are of the pairs' medians, and
# each pair's own ratio is printed too. Rows are made up, 64 to 192 tokens long. Needs about 6 GB of memory for the base shape. On a quiet machine only.
set -euo pipefail
cd "$(dirname "$0")/.."
pairs=10 steps=3 shapes=base,6x384 threads=1
while [ $# -gt 0 ]; do
    case $1 in
        --pairs) pairs=$2 ;;
        --steps) steps=$2 ;;
        --shapes) shapes=$2 ;;
        --threads) threads=$2 ;;
        *) sed -n '2,8p' "$0" >&2; exit 2 ;;
    esac
    shift 2
done
bin=${BIN:-build/release/bin}
. jobs/mpi.sh
work=$(mktemp -d "${TMPDIR:-/tmp}/fretsaw-price-XXXXXX")
trap 'rm -rf "$work"' EXIT
echo "machine: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) cores; load $(cut -d' ' -f1 /proc/loadavg)"

python3 - "$work" "$((64 * (steps + 1)))" <<'P'
import json, random, sys
work, rows = sys.argv[1], int(sys.argv[2])
def shape(layers, hidden, heads, ffn, vocab, name):
    json.dump(dict(model_type="bert", vocab_size=vocab, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads, intermediate_size=ffn,
                   max_position_embeddings=512, type_vocab_size=2, hidden_act="gelu", pad_token_id=0, hidden_dropout_prob=0.1,
                   attention_probs_dropout_prob=0.1, layer_norm_eps=1e-12, initializer_range=0.02), open(f"{work}/{name}.json", "w"))
shape(12, 768, 12, 3072, 105879, "base")
shape(6, 384, 12, 1536, 30522, "6x384")
draw = random.Random(1)
with open(f"{work}/vocab.txt", "w") as f:
    f.write("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n" + "".join(f"w{i}\n" for i in range(5, 30522)))
with open(f"{work}/rows.csv", "w") as f:
    f.write("id,comment_text,toxic\n")
    for i in range(rows): # common words often, rare ones seldom, as in text
        words = " ".join(f"w{5 + int(30517 * draw.random() ** 4)}" for _ in range(draw.randint(62, 190)))
        f.write(f"{i},{words},{i % 2}\n")
P
"$bin/preprocess" --quiet --vocab "$work" --out "$work/tokens" "$work/rows.csv" >/dev/null

# SHAPE RANKS LANES BATCH REDUCE STEPS -> median seconds of the steps after the first
seconds() {
    local launch=(env)
    [ "$2" = 1 ] || launch=(mpirun -np "$2")
    rm -rf "$work/run"
    "${launch[@]}" "$bin/train" --quiet --init random --config "$work/$1.json" --vocab "$work/vocab.txt" --train "$work/tokens" --out "$work/run" --lanes "$3" \
        --batch "$4" --max-length 192 --epochs 1 --max-steps "$6" --lr 1e-5 --micro-tokens 2048 --threads "$threads" --reduce "$5" --keep 1 >&2
    python3 -c '
import json, statistics, sys
t = [json.loads(l)["seconds"] for l in open(sys.argv[1]) if "seconds" in l][1:]
print("%.4f" % statistics.median(t))' "$work/run/timing.jsonl"
}
compare() { # TITLE, then pairs of "a b" on stdin
    python3 -c '
import statistics, sys
p = [tuple(map(float, l.split())) for l in sys.stdin]
a, b = (statistics.median(x) for x in zip(*p))
each = sorted(x / y for x, y in p)
print("%s: %.3f s against %.3f s: ratio %.4f (medians of %d pairs; single pairs %.4f to %.4f, median %.4f)" % (sys.argv[1], a, b, a / b, len(p), each[0], each[-1], statistics.median(each)))' "$1"
}
# TITLE A B: what A and B, each the words of `seconds`, take in pairs; who begins changes from pair to pair, so that a drift meets both.
pairs_of() {
    local a b
    for i in $(seq "$pairs"); do
        if [ $((i % 2)) = 1 ]; then
            a=$(seconds $2)
            b=$(seconds $3)
        else
            b=$(seconds $3)
            a=$(seconds $2)
        fi
        echo "$a $b"
    done >"$work/pairs"
    compare "$1" <"$work/pairs"
}
for shape in ${shapes//,/ }; do
    pairs_of "$shape, np = lanes = 2, 32 rows a lane: exact against fast" "$shape 2 2 32 exact $((steps + 1))" "$shape 2 2 32 fast $((steps + 1))"
    pairs_of "$shape, one rank, 64 rows: eight lanes against one merged batch" "$shape 1 8 8 exact $((steps + 1))" "$shape 1 1 64 exact $((steps + 1))"
done
