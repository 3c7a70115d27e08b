#!/usr/bin/env bash
# The losses of the recipe's first steps, one a line: base shape with the multilingual vocabulary's size, 8 lanes of 64 rows of the sample, dropout on.
#   bench/gpu_step.sh BUILD FOLDER --device cpu >bench/gpu_step.txt      what bench/gpu.sh compares a device with; the same on any CPU, some minutes on two cores
#   FOLDER keeps what is made on the way
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
bin=$1/bin out=$2
shift 2
mkdir -p "$out"
sample=$here/sample/model
cat >"$out/base.json" <<'JSON'
{"model_type": "bert", "vocab_size": 105879, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
 "intermediate_size": 3072, "max_position_embeddings": 512, "type_vocab_size": 2, "hidden_act": "gelu", "pad_token_id": 0,
 "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "layer_norm_eps": 1e-12, "initializer_range": 0.02}
JSON
"$bin/preprocess" --quiet --vocab "$sample" --out "$out/step-tokens" "$here/sample/train-first.csv" >&2
"$bin/shard" --quiet --out "$out/step-shards" --shards 1 --seed 42 "$out/step-tokens" >&2
rm -rf "$out/step-run"
"$bin/train" --quiet --init random --config "$out/base.json" --vocab "$sample/vocab.txt" --train "$out/step-shards" --lanes 8 --batch 64 --epochs 1 \
    --max-length 192 --lr 3.2e-5 --max-steps 3 --checkpoint-minutes 0 --out "$out/step-run" "$@" >&2
grep -o '"loss":[0-9.e-]*' "$out/step-run/metrics.jsonl" | cut -d: -f2
