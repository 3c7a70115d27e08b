#!/usr/bin/env bash
# recipes/notebook.conf against PyTorch: the same rows in DistributedSampler's own order, dropout off, fourteen optimizer steps; losses and weights
# (tests/oracle/notebook_torch.py made the reference). Then what the options around the order promise and refuse.
#   notebook.sh BIN SOURCE [mpi]
set -uo pipefail
bin=$1 source=$2 oracle=$2/tests/oracle/notebook
. "$source/jobs/mpi.sh"
several=(env)
[ "${3:-}" = mpi ] && several=(mpirun -np 3)
work=$(mktemp -d "${TMPDIR:-/tmp}/fretsaw-notebook-XXXXXX")
[ -n "${FRETSAW_KEEP:-}" ] || trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0
wrong() { printf 'wrong: %s\n' "$*"; failures=$((failures + 1)); }
value() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$oracle/expected.json" "$1"; }

python3 - "$oracle/expected.json" "$source/sample" <<'P' || exit 1
import csv, json, sys
rows = json.load(open(sys.argv[1]))["rows"]
for name, count in zip(("train-first.csv", "train-second.csv", "validation.csv"), rows):
    with open(f"{sys.argv[2]}/{name}", newline="", encoding="utf-8") as f, open(name, "w", newline="", encoding="utf-8") as to:
        csv.writer(to, lineterminator="\n").writerows(list(csv.reader(f))[: count + 1])
P
"$bin/preprocess" --quiet --vocab "$oracle" --lower yes --out tokens/train train-first.csv train-second.csv >/dev/null || exit 1
"$bin/preprocess" --quiet --vocab "$oracle" --lower yes --out tokens/valid validation.csv >/dev/null || exit 1
train() { # RUN OPTION...
    local run=$1
    shift
    "${launch[@]}" "$bin/train" --quiet --recipe "$source/recipes/notebook.conf" --model "$oracle" --train tokens/train,tokens/valid --out "$run" --lanes 4 \
        --batch 3 --max-length 32 --lr 1e-3 --dropout 0 --attention-dropout 0 --head-dropout 0 --threads 1 --micro-tokens 70 "$@" 2>log
}
launch=("${several[@]}")
train run --order "$oracle/order.txt" || { cat log; exit 1; }
python3 - "$oracle/expected.json" run <<'P' || wrong "not PyTorch's numbers"
import json, struct, sys
want, run = json.load(open(sys.argv[1])), sys.argv[2]
lines = [json.loads(l) for l in open(f"{run}/metrics.jsonl")]
got = [l["loss"] for l in lines]
assert len(got) == len(want["loss"]) == 14, (len(got), len(want["loss"]))
worst = max(abs(a - b) / b for a, b in zip(got, want["loss"]))
assert worst < 2e-5, f"loss off by {worst:.2e}"
rates = [4 * want["lr"] * (want["schedule"] - t) / want["schedule"] for t in range(14)]
assert all(abs(l["lr"] - r) < 1e-12 for l, r in zip(lines, rates)), "learning rates"
raw = open(f"{run}/{open(run + '/last').readline().strip()}/model.safetensors", "rb").read()
n = struct.unpack("<Q", raw[:8])[0]
head = json.loads(raw[8 : 8 + n])
apart = 0.0
for name, t in want["tensors"].items():
    a, b = head[name]["data_offsets"]
    have = struct.unpack(f"<{(b - a) // 4}f", raw[8 + n + a : 8 + n + b])
    # The key's bias has no gradient but rounding, which AdamW blows up to steps of full size in either direction.
    bound = 0.2 * t["largest"] + 1e-2 if name.endswith("key.bias") else 2e-4 * t["largest"] + 2e-6
    off = max(abs(have[i] - v) for i, v in zip(t["places"], t["values"]))
    if not name.endswith("key.bias") and t["largest"] > 0:
        apart = max(apart, off / t["largest"])
    assert off <= bound, f"{name}: off by {off:.3g}, allowed {bound:.3g}"
    assert ".pooler." in name or t["moved"] > 20 * bound or name.endswith("key.bias"), f"{name} has hardly moved: the test would not see a fault"
print(f"losses within {worst:.1e}, weights within {apart:.1e} of their largest")
P
launch=(env)
train alone --order "$oracle/order.txt" || wrong "alone: $(cat log)"
for f in metrics.jsonl last run.json provenance.json; do cmp run/$f alone/$f || wrong "$f depends on the number of ranks"; done
grep -q '"order": {' run/provenance.json || wrong "the order is not in the provenance"

# The recipe's own parts matter: each one changed gives other losses.
for other in "--deal balanced" "--pooling real" "--schedule-steps run"; do
    # shellcheck disable=SC2086
    rm -rf other && train other --order "$oracle/order.txt" $other || wrong "$other: $(cat log)"
    cmp -s run/metrics.jsonl other/metrics.jsonl && wrong "$other changes nothing"
done

# Without a file: the same order in both epochs, or not. With constant weights, an epoch's losses tell its order.
train fixed --lr 1e-30 --max-length 64 --micro-tokens 64 >/dev/null 2>&1 && wrong "--max-length above the model's positions"
train fixed --lr 1e-30 || wrong "the same order: $(cat log)"
train mixed --lr 1e-30 --reshuffle yes || wrong "another order: $(cat log)"
losses() { sed -n "$2"'s/.*"loss":\([^,]*\),.*/\1/p' "$1/metrics.jsonl"; }
[ "$(losses fixed 1,7)" = "$(losses fixed 8,14)" ] || wrong "--reshuffle no: the epochs differ"
[ "$(losses mixed 1,7)" = "$(losses mixed 8,14)" ] && wrong "--reshuffle yes: the epochs are the same"
[ "$(losses mixed 1,7)" = "$(losses fixed 1,7)" ] || wrong "the first epoch depends on --reshuffle"

refuse() { # CODE TEXT OPTION...
    local want=$1 text=$2
    shift 2
    train no "$@"
    local code=$?
    [ $code = "$want" ] && grep -q -e "$text" log || wrong "exit $code, not $want with '$text': $(cat log)"
    rm -rf no
}
refuse 2 "add --reshuffle no" --order "$oracle/order.txt" --reshuffle yes
printf '0\n1\n90\n' >bad.txt
refuse 3 "bad.txt: line 3: '90' is not a row number from 0 to 89" --order bad.txt
printf '0\nx1\n' >bad.txt
refuse 3 "line 2: 'x1'" --order bad.txt
seq 0 10 >bad.txt
refuse 2 "bad.txt has 11 rows: fewer than one global batch of 12" --order bad.txt
tac "$oracle/order.txt" >turned.txt
launch=(env) && train run --order turned.txt && wrong "a run went on in another order"
grep -q "begun with other rows in --order" log || wrong "another order: $(cat log)"
[ $failures = 0 ] && echo ok
exit $((failures > 0))
