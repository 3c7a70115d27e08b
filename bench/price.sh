#!/usr/bin/env bash
# What exactness costs, in interleaved pairs, on the base shape (bert-base-multilingual-uncased's, random weights) and on 6 layers of 384:
#   fast   a step of --reduce exact against --reduce fast, np = lanes = 2, 32 rows a lane, one thread a rank
#   lanes  eight lanes of 8 rows against one merged batch of 64, on one rank with two threads
#   hash   the state hash of all weights in the optimizer's pass, against that pass without it and against a base step of 256 rows (2 threads)
#   bench/price.sh [--parts fast,lanes,hash] [--pairs 10] [--steps 3] [--shapes base,6x384] [--words 62-190]
# BIN is the folder of the programs. A run of STEPS + 1 steps is timed by its own records, the first step left out; ratios are of the pairs' medians,
# and each pair's own ratio is printed too, and the medians of the steps' phases. Rows are made up, with so many words, of one token each. WRAP, if set,
# is put before each timed command. Needs about 6 GB of memory for the base shape. On a quiet machine only.
set -euo pipefail
cd "$(dirname "$0")/.."
parts=fast,lanes,hash pairs=10 steps=3 shapes=base,6x384 words=62-190
while [ $# -gt 0 ]; do
    case $1 in
        --parts) parts=$2 ;;
        --pairs) pairs=$2 ;;
        --steps) steps=$2 ;;
        --shapes) shapes=$2 ;;
        --words) words=$2 ;;
        *) sed -n '2,10p' "$0" >&2; exit 2 ;;
    esac
    shift 2
done
bin=${BIN:-build/release/bin}
read -ra wrap <<<"${WRAP:-}"
. jobs/mpi.sh
. bench/shape.sh
work=$(mktemp -d "${TMPDIR:-/tmp}/fretsaw-price-XXXXXX")
trap 'rm -rf "$work"' EXIT
machine_line "; rows of $words words"

python3 - "$work" "$((64 * (steps + 1) > 512 ? 64 * (steps + 1) : 512))" "$words" <<'P'
import json, random, sys
work, rows = sys.argv[1], int(sys.argv[2])
low, high = map(int, sys.argv[3].split("-"))
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
        words = " ".join(f"w{5 + int(30517 * draw.random() ** 4)}" for _ in range(draw.randint(low, high)))
        f.write(f"{i},{words},{i % 2}\n")
P
"$bin/preprocess" --quiet --vocab "$work" --out "$work/tokens" "$work/rows.csv" >/dev/null

# SHAPE RANKS THREADS LANES BATCH REDUCE -> median seconds of the steps after the first, and of each phase, as JSON
seconds() {
    local launch=(env)
    [ "$2" = 1 ] || launch=(mpirun -np "$2")
    rm -rf "$work/run"
    "${wrap[@]}" "${launch[@]}" "$bin/train" --quiet --init random --config "$work/$1.json" --vocab "$work/vocab.txt" --train "$work/tokens" --out "$work/run" \
        --lanes "$4" --batch "$5" --max-length 192 --epochs 1 --max-steps "$((steps + 1))" --lr 1e-5 --micro-tokens 2048 --threads "$3" --reduce "$6" --keep 1 >&2
    python3 -c '
import json, statistics, sys
t = [j for j in map(json.loads, open(sys.argv[1])) if "step" in j and "seconds" in j][1:]
print(json.dumps({k: statistics.median(j[k] for j in t) for k in t[0] if isinstance(t[0][k], float)}))' "$work/run/timing.jsonl"
}
compare() { # TITLE, then a line of each side in turns on stdin
    python3 -c '
import json, statistics, sys
lines = [json.loads(l) for l in sys.stdin]
a, b = lines[0::2], lines[1::2]
mid = lambda side, k: statistics.median(x[k] for x in side)
x, y = mid(a, "seconds"), mid(b, "seconds")
each = sorted(p["seconds"] / q["seconds"] for p, q in zip(a, b))
print("%s: %.3f s against %.3f s: ratio %.4f (medians of %d pairs; single pairs %.4f to %.4f, median %.4f)"
      % (sys.argv[1], x, y, x / y, len(a), each[0], each[-1], statistics.median(each)))
print("  by phase: " + ", ".join("%s %.4f against %.4f" % (k, mid(a, k), mid(b, k)) for k in a[0] if k != "seconds"))' "$1"
}
# TITLE A B: what A and B, each the words of `seconds`, take in pairs; who begins changes from pair to pair, so that a drift meets both.
pairs_of() {
    local i
    : >"$work/pairs"
    for i in $(seq "$pairs"); do
        if [ $((i % 2)) = 1 ]; then
            seconds $2 >"$work/a"
            seconds $3 >"$work/b"
        else
            seconds $3 >"$work/b"
            seconds $2 >"$work/a"
        fi
        cat "$work/a" "$work/b" >>"$work/pairs"
        compare "$1" <"$work/pairs" | sed -n 1p >&2 # so far: a run that is cut short says this much
    done
    compare "$1" <"$work/pairs"
}
hash_price() {
    local hash_bench=$bin/hash_bench step
    if [ ! -x "$hash_bench" ]; then
        [ -f build/bench/build.ninja ] || cmake -S . -B build/bench -G Ninja -DCMAKE_BUILD_TYPE=Release >/dev/null
        ninja -C build/bench hash_bench >/dev/null
        hash_bench=build/bench/bin/hash_bench
    fi
    "${wrap[@]}" "$hash_bench" 2 168 "$pairs" | tail -n 1 | tee "$work/hash"
    steps=1 step=$(seconds base 1 2 8 32 exact)
    python3 -c '
import json, re, sys
step, more = json.loads(sys.argv[1])["seconds"], float(re.search(r"difference (-?[0-9.]+) ms", sys.argv[2])[1])
print("base, 256 rows: a step takes %.2f s: the state hash is %.2f%% of it" % (step, more / 10 / step))' "$step" "$(cat "$work/hash")"
}
[[ ,$parts, != *,hash,* ]] || hash_price
for shape in ${shapes//,/ }; do
    [[ ,$parts, != *,fast,* ]] || pairs_of "$shape, np = lanes = 2, 32 rows a lane: exact against fast" "$shape 2 1 2 32 exact" "$shape 2 1 2 32 fast"
    [[ ,$parts, != *,lanes,* ]] || pairs_of "$shape, one rank, 64 rows: eight lanes against one merged batch" "$shape 1 2 8 8 exact" "$shape 1 2 1 64 exact"
done
