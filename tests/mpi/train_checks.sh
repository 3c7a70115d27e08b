#!/usr/bin/env bash
# --diff and --replay: they agree where runs agree, and name step, tensor and element where these part; planted differences are all found.
. "$(dirname "$0")/train_lib.sh"
data train 320 1 3 5 120 60 0
data valid 60 1 1 6 120 60 0
base=(--valid "$scratch/valid" --lanes 4 --batch 8 --max-length 40 --lr 1e-3 --checkpoint-every 3 --micro-tokens 200 --threads 1)
several=${mpi:+2}
several=${several:-1}
train 1 one "${base[@]}" --epochs 2 --keep 9 || wrong "the first run failed: $(said)"
train "$several" two "${base[@]}" --epochs 2 --keep 9 || wrong "the second run failed: $(said)"
check() { # RANKS OPTION...
    local ranks=$1 launch=()
    shift
    [ "$ranks" = 1 ] || launch=("$mpi" -np "$ranks")
    timeout -k 5 60 "${launch[@]}" "$bin/train" "$@" >"$scratch/log" 2>&1
}
both() { check 1 --diff "$scratch/$1" "$scratch/$2"; }

expect 0 "weights after step 20 (epoch-2, epoch-2): equal" both one two
expect 0 "equal up to step 20" check "$several" --diff "$scratch/one" "$scratch/two"
[ "$(grep -c '^weights after step .*: equal' "$scratch/log")" = 10 ] || wrong "not all checkpoints and epochs were compared: $(cat "$scratch/log")"

# Another schedule: the first step has the same rate, the second has not.
train 1 longer "${base[@]}" --epochs 3 --keep 99 || wrong "the longer run failed: $(said)"
expect 6 "equal up to step 1 and part after it" both one longer
grep -q '^step 2 is the first' "$scratch/log" || wrong "the step is not told: $(cat "$scratch/log")"
grep -q "longer: recipe: epochs = 3" "$scratch/log" || wrong "the recipe's difference is not told"
grep -q "tensor bert.embeddings.word_embeddings.weight: [0-9]* of 5760 elements differ" "$scratch/log" || wrong "the tensor is not told: $(cat "$scratch/log")"

# A stopped run has equal lines and ends; one flipped bit in the middle of a tensor; one in a moment.
cp -r "$scratch/one" "$scratch/short" && sed -i '12,$d' "$scratch/short/metrics.jsonl"
expect 6 "equal up to step 10, where one of them ends" both one short
cp -r "$scratch/one" "$scratch/bit"
python3 - "$scratch/bit/step-000009/model.safetensors" bert.encoder.layer.1.output.dense.weight 100 <<'P'
import json, sys
path, name, index = sys.argv[1], sys.argv[2], int(sys.argv[3])
with open(path, 'r+b') as f:
    n = int.from_bytes(f.read(8), 'little')
    at = 8 + n + json.loads(f.read(n))[name]['data_offsets'][0] + 4 * index
    f.seek(at); b = f.read(1)[0]; f.seek(at); f.write(bytes([b ^ 1]))
P
expect 6 "the weights after step 9 are not: a file has changed" both one bit
grep -q "bert.encoder.layer.1.output.dense.weight\[1, 20\] = " "$scratch/log" || wrong "the element is not told: $(cat "$scratch/log")"
grep -q "tensor bert.encoder.layer.1.output.dense.weight: 1 of 3840 elements differ" "$scratch/log" || wrong "one element: $(cat "$scratch/log")"
cp -r "$scratch/one" "$scratch/moment"
printf x | dd of="$scratch/moment/step-000015/optimizer-00000.bin" bs=1 seek=5000 conv=notrunc 2>/dev/null
expect 6 "the weights after step 15 are not" both one moment
grep -q "optimizer-00000.bin: the optimizer's moments differ" "$scratch/log" || wrong "the moments: $(cat "$scratch/log")"
expect 2 "two runs" check 1 --diff "$scratch/one"
expect 3 "no such folder" check 1 --diff "$scratch/one" "$scratch/nowhere"

# Every step comes out again, at other ranks, from whichever checkpoint lies before it; nothing is written.
cp -r "$scratch/one" "$scratch/before"
expect 0 "step 1 of .*: the same loss and the same state" check 1 --replay 1 "$scratch/one"
expect 0 "step 9 of .*: the same loss and the same state" check "$several" --replay 9 "$scratch/one"
grep -q "replaying steps 7 to 9 from a checkpoint" "$scratch/log" || wrong "not from the checkpoint before: $(cat "$scratch/log")"
expect 0 "step 20 of .*: the same loss" check "$several" --replay 20 "$scratch/one" --micro-tokens 64 --cpu plain
diff -r "$scratch/one" "$scratch/before" >/dev/null || wrong "--replay has written into the run"
sed -i '/^{"step":8,/s/"loss":0\.\(.\)/"loss":0.1\1/' "$scratch/before/metrics.jsonl"
expect 6 "step 8 of .* comes out otherwise" check "$several" --replay 9 "$scratch/before"
expect 0 "step 7 of .*: the same" check 1 --replay 7 "$scratch/before"
expect 2 "the run has 20 steps" check 1 --replay 21 "$scratch/one"
expect 2 "other values of --seed" check 1 --replay 3 "$scratch/one" --seed 1
expect 3 "no run.json" check 1 --replay 3 "$scratch/train"

# The plain sum of --reduce fast: the same training but for rounding, said in the provenance, and no part of an exact run.
train "$several" fast "${base[@]}" --epochs 2 --keep 9 --reduce fast || wrong "--reduce fast: $(said)"
grep -q '"reduce": "fast"' "$scratch/fast/provenance.json" && grep -q '"reduce": "exact"' "$scratch/one/provenance.json" || wrong "the reduction is not in the provenance"
python3 - "$scratch/one/metrics.jsonl" "$scratch/fast/metrics.jsonl" <<'P' || wrong "--reduce fast trains otherwise"
import json, sys
a, b = ([json.loads(l)["loss"] for l in open(p) if '"loss"' in l] for p in sys.argv[1:])
assert len(a) == len(b) == 20 and all(abs(x - y) < 1e-3 * x for x, y in zip(a, b)), max(abs(x - y) / x for x, y in zip(a, b))
P
expect 2 "other values of --reduce" train 1 one "${base[@]}" --epochs 2 --keep 9 --reduce fast
# Rows that are validated on and trained on: told with their number, by --plan too, whatever the ranks.
data same 30 1 1 5 120 60 0 # the first rows of train
few=(--lanes 2 --batch 8 --max-steps 1 --max-length 24 --threads 1)
for ranks in 1 ${mpi:+2}; do
    expect 0 "warning: 30 of the 90 rows of --valid (33.33%) have a text that --train has too.*shard --exclude $scratch/valid " train "$ranks" "common-$ranks" "${few[@]}" \
        --valid "$scratch/valid,$scratch/same"
done
expect 0 "warning: 30 of the 30 rows of --valid" train 1 none "${few[@]}" --valid "$scratch/same" --plan
train 1 apart "${few[@]}" --valid "$scratch/valid"
grep -q 'have a text that' "$scratch/log" && wrong "no row in common, and yet: $(said)"
finish
