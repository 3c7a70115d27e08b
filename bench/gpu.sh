#!/usr/bin/env bash
# Everything that only a machine with a GPU can tell, in one command of less than 8 minutes:
#   bench/gpu.sh [BUILD]        BUILD: a build with the device back end, its gpu_check and programs (default build/release)
# A part that fails is told and the rest goes on. Prints a table with a verdict a line and writes it to gpu.json (GPU_OUT names another folder than the
# present one). Exit 0 when every bar that could be tried is reached, 6 when one is not, 5 without a device.
#   GPU_PARTS="agree speed"     only these of: agree repeat recipe whole resume memory ranks speed score cudnn full torch sanitizer
#   GPU_ROWS=CSV GPU_VOCAB=FILE comments with labels for the whole recipe, and their vocabulary (default: comments/train.csv and vocab/ of FRETSAW_DATA or
#                               ../shared/data, else the sample's, again and again)
#   GPU_TINY=1                  a tiny network and few steps everywhere, to try this script itself; GPU_PATIENCE=N makes every limit N times as long
#   FRETSAW_PEERS=PYTHON        a Python with PyTorch (default python3)
set -uo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$here/build/release}" && pwd) || exit 2
bin=$build/bin
out=${GPU_OUT:-.}
parts=${GPU_PARTS:-agree repeat recipe whole resume memory ranks speed score cudnn full torch sanitizer}
python=${FRETSAW_PEERS:-python3}
tiny=${GPU_TINY:-}
patience=${GPU_PATIENCE:-1}
begin=$SECONDS
scratch=$(mktemp -d "${TMPDIR:-/tmp}/fretsaw-gpu-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
check=$bin/gpu_check
[ -x "$check" ] || { echo "$check is not there: cmake --build $build --target gpu_check" >&2; exit 2; }
mkdir -p "$out"
rows=() missed=0
quote() { printf '%s' "$1" | tr '\n"\\' "  /"; }
# NAME VALUE UNIT VERDICT (reached, missed, said or failed) NOTE: a line of the table
row() {
    rows+=("$(printf '{"name":"%s","value":"%s","unit":"%s","verdict":"%s","note":"%s"}' "$1" "$2" "$3" "$4" "$(quote "${5:-}")")")
    printf '%-44s %14s %-10s %-8s %s\n' "$1" "$2" "$3" "$4" "${5:-}"
    case $4 in missed | failed) missed=1 ;; esac
}
# VALUE BAR: a bar that the value must reach; for a bar that it must stay under, --below first
reached() {
    local below=0
    [ "$1" = --below ] && below=1 && shift
    awk -v v="$1" -v b="$2" -v below=$below 'BEGIN { exit !(below ? v <= b : v >= b) }' && echo reached || echo missed
}
value() { awk -v name="$1" '$1 == name { print $2 }' "$2" | tail -1; }
wanted() { case " $parts " in *" $1 "*) [ $((SECONDS - begin)) -lt $((440 * patience)) ] ;; *) false ;; esac; }
# LIMIT FILE COMMAND...: output in FILE; false when it fails, takes longer, or when the 8 minutes are over
try() {
    local limit=$(($1 * patience)) file=$2 left=$((470 * patience - SECONDS + begin))
    shift 2
    [ $limit -lt $left ] || limit=$left
    if [ $limit -lt 1 ]; then
        echo "the 8 minutes are over" >"$file.err"
        return 1
    fi
    timeout -k 5 $limit "$@" >"$file" 2>"$file.err"
}
why() { tail -1 "$1.err" 2>/dev/null | tr '\r' '\n' | tail -1 | cut -c1-150; }

types=(bfloat16 float16 float32)
"$bin/doctor" 2>/dev/null | grep -E '^(ok|note|FIX) *gpu' || true
if ! try 60 "$scratch/first" "$check" agree float32; then
    echo "no device to measure: $(why "$scratch/first")" >&2
    exit 5
fi
name=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | sed -n 1p)
# Dense peaks in 16 bits with float32 sums, by the makers' data sheets, in TFLOP/s.
case $name in
    *H200* | *H100*SXM* | *H100*HBM3* | *GH200*) peak=989 ;; *H100*) peak=756 ;; *A100*) peak=312 ;; *B200*) peak=2250 ;; *L40S*) peak=362 ;; *L4*) peak=121 ;;
    *4090*) peak=165 ;; *3090*) peak=71 ;; *T4*) peak=65 ;; *) peak=0 ;;
esac
printf '%-44s %14s %-10s %-8s %s\n' "what ($name)" value unit verdict note

# TYPE NAME: what gpu_check has said of the distance from the CPU. Of a gradient in half types most is max pooling, which takes another position where two
# are within rounding: the error goes with the root of how often, and the twin measures 0.07 and 0.02.
agree_rows() {
    local bars what v i=0
    case $1 in float32) bars=(1e-5 1e-5 1e-4) ;; float16) bars=(1e-3 5e-3 5e-2) ;; *) bars=(1e-2 3e-2 1.5e-1) ;; esac
    for what in loss score gradient; do
        v=$(value ${what}_error "$scratch/agree")
        row "$2: $what against the CPU, relative" "$v" "" "$(reached --below "$v" "${bars[i]}")" "at most ${bars[i]}"
        i=$((i + 1))
    done
}
if wanted agree; then
    for type in "${types[@]}"; do
        if try 60 "$scratch/agree" "$check" agree $type; then
            agree_rows $type "$type"
        else
            row "$type: against the CPU" - "" failed "$(why "$scratch/agree")"
        fi
    done
fi

if wanted repeat; then
    times=${tiny:+2}
    for type in "${types[@]}"; do
        "$check" noise 60 >/dev/null 2>&1 &
        noise=$!
        if try 70 "$scratch/repeat" "$check" repeat $type "${times:-1000}"; then
            v=$(value repeats_with_other_bits "$scratch/repeat")
            row "$type: repeats with other bits, beside other work" "$v" "" "$(reached --below "$v" 0)" "of $(value repeats "$scratch/repeat")"
        else
            row "$type: repeats" - "" failed "$(why "$scratch/repeat")"
        fi
        kill $noise 2>/dev/null
        wait $noise 2>/dev/null
    done
fi

# ---- whole programs on the sample ----
sample=$here/sample/model
config=$scratch/config.json
cat >"$config" <<JSON
{"model_type": "bert", "vocab_size": $(wc -l <"$sample/vocab.txt"), "hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2,
 "intermediate_size": 256, "max_position_embeddings": 192, "type_vocab_size": 2, "hidden_act": "gelu", "pad_token_id": 0,
 "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "layer_norm_eps": 1e-12, "initializer_range": 0.02}
JSON
recipe=(--init random --config "$config" --vocab "$sample/vocab.txt" --train "$scratch/shards" --lanes 4 --batch 16 --epochs 1 --lr 1e-4 --threads 2)
most=()
[ -n "$tiny" ] && recipe+=(--batch 2) && most=(--max-steps 4)
if wanted recipe || wanted whole || wanted resume || wanted memory || wanted ranks; then
    head -n "$([ -n "$tiny" ] && echo 41 || echo 1000000)" "$here/sample/train-first.csv" >"$scratch/rows.csv"
    try 60 "$scratch/prepare" "$bin/preprocess" --vocab "$sample" --out "$scratch/tokens" "$scratch/rows.csv" &&
        try 60 "$scratch/prepare" "$bin/shard" --out "$scratch/shards" --shards 4 "$scratch/tokens" || row "shards of the sample" - "" failed "$(why "$scratch/prepare")"
fi
losses() { grep -o '"loss":[0-9.e-]*' "$1/metrics.jsonl" | cut -d: -f2; }
if wanted recipe; then
    if try 60 "$scratch/cpu" "$bin/train" "${recipe[@]}" --device cpu --max-steps 2 --out "$scratch/on-cpu" &&
        try 60 "$scratch/dev" "$bin/train" "${recipe[@]}" --device cuda --max-steps 2 --out "$scratch/on-device"; then
        v=$(paste <(losses "$scratch/on-cpu") <(losses "$scratch/on-device") | awk '{ d = ($1 - $2) / $1; d = d < 0 ? -d : d; if (d > m) m = d } END { print m + 0 }')
        row "float32: two steps of training, relative loss" "$v" "" "$(reached --below "$v" 1e-5)" "against the CPU, dropout on"
    else
        row "float32: two steps of training" - "" failed "$(why "$scratch/cpu") $(why "$scratch/dev")"
    fi
fi
if wanted whole; then
    for type in "${types[@]}"; do
        if try 90 "$scratch/whole" "$bin/train" "${recipe[@]}" "${most[@]}" --device cuda --type $type --out "$scratch/run-$type" &&
            try 60 "$scratch/infer" "$bin/infer" --run "$scratch/run-$type" --input "$scratch/shards" --type $type --device cuda --out "$scratch/$type.csv" --work "$scratch/work-$type"; then
            row "$type: shards to submission" "$(wc -l <"$scratch/$type.csv")" lines reached
        else
            row "$type: shards to submission" - "" failed "$(why "$scratch/whole") $(why "$scratch/infer")"
        fi
    done
fi
if wanted resume; then
    again=("$bin/train" "${recipe[@]}" "${most[@]}" --device cuda --checkpoint-every 2 --out "$scratch/killed")
    "${again[@]}" >/dev/null 2>&1 &
    job=$!
    for _ in $(seq $((600 * patience))); do
        [ "$(wc -l 2>/dev/null <"$scratch/killed/metrics.jsonl" || echo 0)" -ge 2 ] && break
        sleep 0.05
    done
    kill -KILL $job 2>/dev/null
    wait $job 2>/dev/null
    if try 90 "$scratch/again" "${again[@]}" && { [ -d "$scratch/run-float32" ] || try 90 "$scratch/whole" "$bin/train" "${recipe[@]}" "${most[@]}" --device cuda --out "$scratch/run-float32"; }; then
        cmp -s "$scratch/killed/metrics.jsonl" "$scratch/run-float32/metrics.jsonl" && v=reached || v=missed
        row "float32: killed and resumed, the same bytes" "$([ $v = reached ] && echo yes || echo no)" "" $v
    else
        row "float32: killed and resumed" - "" failed "$(why "$scratch/again")"
    fi
fi
if wanted memory; then
    if try 60 "$scratch/plan" "$bin/train" "${recipe[@]}" --device cuda --plan --out "$scratch/planned" &&
        try 90 "$scratch/taken" "$bin/train" "${recipe[@]}" --device cuda --max-steps 2 --out "$scratch/planned"; then
        plan=$(awk '/together, on the device/ { print $5 * ($6 == "GB" ? 1000 : 1) }' "$scratch/plan")
        taken=$(grep -h 'memory taken on a device' "$scratch/taken" "$scratch/taken.err" | sed 's/.*: \([0-9.]*\) MB/\1/' | tail -1)
        v=$(awk -v a="${taken:-0}" -v b="${plan:-1}" 'BEGIN { print a / b }')
        row "memory taken beside --plan" "$v" "" "$(awk -v v="$v" 'BEGIN { exit !(v > 0.9 && v <= 1.02) }' && echo reached || echo missed)" "$taken MB of $plan MB"
    else
        row "memory beside --plan" - "" failed "$(why "$scratch/plan") $(why "$scratch/taken")"
    fi
fi

# Two ranks give the bytes of one: over links where there are two devices, else through the host with both on one device.
if wanted ranks; then
    devices=$(nvidia-smi --list-gpus 2>/dev/null | wc -l)
    sharing=()
    [ "$devices" -ge 2 ] || sharing=(--share-device)
    . "$here/jobs/mpi.sh" 2>/dev/null
    two=("$bin/train" "${recipe[@]}" "${most[@]}" --device cuda "${sharing[@]}" --out "$scratch/two")
    if ! command -v mpirun >/dev/null; then
        row "float32: two ranks" - "" said "there is no mpirun"
    elif try 90 "$scratch/ranks" mpirun -np 2 "${two[@]}" &&
        { [ -d "$scratch/run-float32" ] || try 90 "$scratch/whole" "$bin/train" "${recipe[@]}" "${most[@]}" --device cuda --out "$scratch/run-float32"; }; then
        cmp -s "$scratch/two/metrics.jsonl" "$scratch/run-float32/metrics.jsonl" && v=reached || v=missed
        row "float32: two ranks, the bytes of one" "$([ $v = reached ] && echo yes || echo no)" "" $v "${sharing[*]:-a device each}"
    else
        row "float32: two ranks" - "" failed "$(why "$scratch/ranks") $(why "$scratch/whole")"
    fi
fi

# ---- speed ----
shapes=(base large) deals=(2:256 8:64) scored=4096 seconds=5
[ -n "$tiny" ] && shapes=(tiny) deals=(2:4) scored=8 seconds=0
share() { awk -v t="$1" -v p="$peak" 'BEGIN { if (p > 0) printf "%.1f", 100 * t / p; else print "-" }'; }
fastest=0
if wanted speed; then
    for shape in "${shapes[@]}"; do
        case $shape in base) bar=45 ;; large) bar=52 ;; *) bar=0 ;; esac
        for type in "${types[@]}"; do
            for lanes in "${deals[@]}"; do
                wanted speed || continue
                [ "$type" != bfloat16 ] && [ $lanes = 8:64 ] && continue
                if try 60 "$scratch/speed" "$check" train $type $shape ${lanes%:*} ${lanes#*:} $seconds; then
                    tokens=$(value tokens_a_second "$scratch/speed")
                    used=$(share "$(value teraflops "$scratch/speed")")
                    row "$type $shape: training, ${lanes%:*} lanes x ${lanes#*:} rows" "$tokens" tokens/s said "$(value teraflops "$scratch/speed") TFLOP/s"
                    [ "$type $shape $lanes" = "bfloat16 base 2:256" ] && fastest=$tokens
                    if [ $type = bfloat16 ] && [ $lanes = 2:256 ] && [ "$used" != - ]; then
                        row "$type $shape: share of the dense peak" "$used" % "$(reached "$used" $bar)" "at least $bar (the bar is for an H200)"
                    fi
                else
                    row "$type $shape: training, ${lanes%:*} x ${lanes#*:}" - "" failed "$(why "$scratch/speed")"
                fi
            done
        done
    done
fi
# What the exact reduction costs: beside the same rows as one lane, whose gradient is summed by the library.
if wanted speed && [ "$fastest" != 0 ]; then
    if try 60 "$scratch/speed" "$check" train bfloat16 base 1 512 $seconds fast; then
        v=$(awk -v a="$fastest" -v b="$(value tokens_a_second "$scratch/speed")" 'BEGIN { printf "%.2f", 100 * (b / a - 1) }')
        row "exact beside one merged lane and all-reduce" "$v" "% slower" "$(reached --below "$v" 3)" "at most 3"
    else
        row "exact beside one merged lane and all-reduce" - "" failed "$(why "$scratch/speed")"
    fi
fi
if wanted score; then
    for shape in "${shapes[@]}"; do
        for type in "${types[@]}"; do
            if try 60 "$scratch/score" "$check" score $type $shape $scored $seconds; then
                used=$(share "$(value teraflops "$scratch/score")")
                row "$type $shape: scoring" "$(value rows_a_second "$scratch/score")" rows/s said "$(value teraflops "$scratch/score") TFLOP/s"
                [ "$type" = bfloat16 ] && [ "$used" != - ] && row "$type $shape: scoring, share of the peak" "$used" % "$(reached "$used" 60)" "at least 60"
            else
                row "$type $shape: scoring" - "" failed "$(why "$scratch/score")"
            fi
        done
    done
fi
# cuDNN's attention in place of the own kernel, where there is no attention dropout: as exact, and faster?
if wanted cudnn; then
    for type in bfloat16 float16; do
        if ! try 60 "$scratch/agree" "$check" cudnn agree $type; then
            if grep -q "there is no cuDNN\|no cuDNN (it needs\|older than\|compute capability" "$scratch/agree.err"; then
                row "$type: cuDNN's attention" - "" said "$(why "$scratch/agree")"
            else
                row "$type: cuDNN's attention against the CPU" - "" failed "$(why "$scratch/agree")"
            fi
            continue
        fi
        agree_rows $type "$type, cuDNN"
        if try 60 "$scratch/repeat" "$check" cudnn repeat $type $([ -n "$tiny" ] && echo 2 || echo 300); then
            v=$(value repeats_with_other_bits "$scratch/repeat")
            row "$type, cuDNN: repeats with other bits" "$v" "" "$(reached --below "$v" 0)" "of $(value repeats "$scratch/repeat")"
        else
            row "$type, cuDNN: repeats" - "" failed "$(why "$scratch/repeat")"
        fi
        for shape in "${shapes[@]}"; do
            if try 60 "$scratch/own" "$check" score $type $shape $scored $seconds && try 60 "$scratch/score" "$check" cudnn score $type $shape $scored $seconds; then
                v=$(awk -v a="$(value rows_a_second "$scratch/score")" -v b="$(value rows_a_second "$scratch/own")" 'BEGIN { printf "%.3f", a / b }')
                row "$type $shape: scoring with cuDNN beside the own" "$v" times said "$(value teraflops "$scratch/score") TFLOP/s; above 1 --attention auto pays"
            else
                row "$type $shape: scoring with cuDNN" - "" failed "$(why "$scratch/own") $(why "$scratch/score")"
            fi
        done
    done
fi
# The whole recipe on real lengths: 200,000 rows, 2 epochs, from shards to submission.
if wanted full; then
    data=${FRETSAW_DATA:-$here/../shared/data}
    comments=${GPU_ROWS:-$data/comments/train.csv} vocabulary=${GPU_VOCAB:-$data/vocab/bert-base-multilingual-uncased.vocab.txt}
    [ -r "$comments" ] && [ -r "$vocabulary" ] || { comments=$here/sample/train-first.csv vocabulary=$sample/vocab.txt; }
    lines=$(wc -l <"$comments") count=200000 lanes=2 batch=256 limit=150 network=base
    [ -n "$tiny" ] && comments=$scratch/rows.csv vocabulary=$sample/vocab.txt lines=40 count=24 lanes=2 batch=4 network=tiny
    copies=()
    for i in $(seq $((count / lines + 1))); do
        ln -sf "$comments" "$scratch/comments-$i.csv"
        copies+=("$scratch/comments-$i.csv")
    done
    [ $network = tiny ] && cp "$config" "$scratch/full.json" || sed 's/"vocab_size": [0-9]*/"vocab_size": 105879/; s/"hidden_size": 128/"hidden_size": 768/
        s/"num_hidden_layers": 2/"num_hidden_layers": 12/; s/"num_attention_heads": 2/"num_attention_heads": 12/; s/"intermediate_size": 256/"intermediate_size": 3072/' \
        "$config" >"$scratch/full.json"
    whole=("$bin/train" --init random --config "$scratch/full.json" --vocab "$vocabulary" --train "$scratch/full-shards" --lanes $lanes --batch $batch --epochs 2
        --type bfloat16 --device cuda --out "$scratch/full")
    if try 120 "$scratch/prepare" "$bin/preprocess" --vocab "$vocabulary" --out "$scratch/full-tokens" "${copies[@]}" &&
        try 60 "$scratch/prepare" "$bin/shard" --out "$scratch/full-shards" --shards 16 --sample $count --seed 42 "$scratch/full-tokens" &&
        try 60 "$scratch/prepare" "$bin/preprocess" --vocab "$vocabulary" --out "$scratch/full-test" "$here/sample/test.csv"; then
        from=$(date +%s.%N)
        if try $limit "$scratch/whole" "${whole[@]}" && try 60 "$scratch/infer" "$bin/infer" --run "$scratch/full" --input "$scratch/full-test" --type bfloat16 \
            --device cuda --out "$scratch/full.csv" --work "$scratch/full-work"; then
            v=$(awk -v a="$from" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }')
            row "the recipe, $count rows, 2 epochs, to submission" "$v" s "$([ -n "$tiny" ] && echo said || reached --below "$v" 90)" "at most 90; rows of $(basename "$comments")"
        else
            row "the recipe, $count rows, 2 epochs" - "" failed "$(why "$scratch/whole") $(why "$scratch/infer")"
        fi
    else
        row "the recipe, $count rows, 2 epochs" - "" failed "$(why "$scratch/prepare")"
    fi
fi
if wanted torch; then
    if "$python" -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
        if try 100 "$scratch/torch" "$python" "$here/bench/gpu_torch.py" "${shapes[0]}" 512 3; then
            rival=$(value tokens_a_second "$scratch/torch")
            row "PyTorch ${shapes[0]}: training, its best way" "$rival" tokens/s said "$(grep '^# the best' "$scratch/torch")"
            [ "$fastest" = 0 ] || { v=$(awk -v a="$fastest" -v b="$rival" 'BEGIN { print a / b }'); row "beside PyTorch" "$v" times "$(reached "$v" 1.5)" "at least 1.5"; }
        else
            row "PyTorch" - "" failed "$(why "$scratch/torch")"
        fi
    else
        row "PyTorch" - "" said "$python has none with a device"
    fi
fi
if wanted sanitizer; then
    if command -v compute-sanitizer >/dev/null; then
        for tool in memcheck racecheck; do
            if try 60 "$scratch/sanitizer" compute-sanitizer --tool $tool --error-exitcode 9 "$check" repeat float32 2; then
                row "compute-sanitizer $tool on a small step" clean "" reached
            else
                row "compute-sanitizer $tool on a small step" - "" failed "$(tail -1 "$scratch/sanitizer")"
            fi
        done
    else
        row "compute-sanitizer" - "" said "not installed"
    fi
fi
{
    printf '{"device":"%s","seconds":%d,"rows":[\n' "$(quote "$name")" $((SECONDS - begin))
    for i in "${!rows[@]}"; do printf '%s%s\n' "${rows[i]}" "$([ "$i" -lt $((${#rows[@]} - 1)) ] && echo ,)"; done
    printf ']}\n'
} >"$out/gpu.json"
printf '%d lines in %s, %d seconds: %s\n' ${#rows[@]} "$out/gpu.json" $((SECONDS - begin)) "$([ $missed = 0 ] && echo 'every bar tried is reached' || echo 'not every bar is reached')"
[ $missed = 0 ] || exit 6
