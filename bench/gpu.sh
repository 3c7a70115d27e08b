#!/usr/bin/env bash
# Everything that only a machine with a GPU can tell, in one command of less than 8 minutes:
#   bench/gpu.sh [BUILD]        BUILD: a build with the device back end, its gpu_check and programs (default build/release)
# A part that fails, hangs or takes too long is told and the rest goes on: every part must be over at a time of its own, which the list `shares` below
# sets, so that the whole stays under 480 s whatever happens; what a part leaves of its share is the next ones'. Prints a table with a verdict a line and
# writes it to gpu.json (GPU_OUT names another folder than the present one). Exit 0 when every bar that could be tried is reached, 6 when one is not, 5
# without a device.
#   GPU_PARTS="agree speed"     only these of the list
#   GPU_ROWS=CSV GPU_VOCAB=FOLDER  comments with labels for the whole recipe, and their vocabulary (default: comments/train.csv and
#                               vocab/bert-base-multilingual-uncased of FRETSAW_DATA or ../shared/data, else the sample's, again and again)
#   GPU_TINY=1                  a tiny network and few steps everywhere, to try this script itself; GPU_PATIENCE=N makes every limit N times as long
#   FRETSAW_PEERS=PYTHON        a Python with PyTorch (default python3)
set -uo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$here/build/release}" && pwd) || exit 2
bin=$build/bin
out=${GPU_OUT:-.}
python=${FRETSAW_PEERS:-python3}
tiny=${GPU_TINY:-}
patience=${GPU_PATIENCE:-1}
# Part and seconds, in this order; together 470. The first of them is the look for a device.
shares=${GPU_SHARES:-first 20 agree 20 repeat 35 recipe 30 whole 35 resume 15 memory 10 ranks 15 speed 75 score 40 cudnn 25 full 110 torch 30 sanitizer 10}
names=$(tr ' ' '\n' <<<"$shares" | awk 'NR % 2 && NR > 1' | paste -sd' ')
parts=${GPU_PARTS:-$names}
begin=$SECONDS
deadline=0 # of the part at hand, in seconds since the begin
scratch=$(mktemp -d "${TMPDIR:-/tmp}/fretsaw-gpu-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
check=$bin/gpu_check
[ -x "$check" ] || { echo "$check is not there: cmake --build $build --target gpu_check" >&2; exit 2; }
mkdir -p "$out"
rows=() missed=0 name= peak=0 without=
quote() { printf '%s' "$1" | tr '\n\t"\\' "   /"; }
# NAME VALUE UNIT VERDICT (reached, missed, said or failed) NOTE: a line of the table
row() {
    rows+=("$(printf '{"name":"%s","value":"%s","unit":"%s","verdict":"%s","note":"%s"}' "$1" "$2" "$3" "$4" "$(quote "${5:-}")")")
    printf '%-44s %14s %-10s %-8s %s\n' "$1" "$2" "$3" "$4" "${5:-}"
    case $4 in missed | failed) missed=1 ;; esac
}
# The bars, each by its part and how its line begins: one without a line of its own at the end gets one that says why.
bars=("speed|bfloat16 base: share of the dense peak" "speed|bfloat16 large: share of the dense peak" "score|bfloat16 base: scoring, share of the peak"
    "score|bfloat16 large: scoring, share of the peak" "speed|exact beside one merged lane" "torch|beside PyTorch" "full|the recipe,")
name_bars() {
    local bar part why
    for bar in "${bars[@]}"; do
        part=${bar%%|*} bar=${bar#*|}
        ! printf '%s\n' "${rows[@]}" | grep -F "{\"name\":\"$bar" | grep -E '"verdict":"(reached|missed|failed)"' >"$scratch/bar" || continue
        why="part $part has no result for it"
        [[ $bar != *"share of"* ]] || [ "$peak" != 0 ] || why="no dense peak is known of ${name:-this device}"
        wanted "$part" || why="part $part was not asked for"
        [ -z "$tiny" ] || why="GPU_TINY tries the script alone"
        row "${bar%,}" - "" said "not shown: ${without:-$why}"
    done
    case $name in *H200* | "") ;; *) echo "The bars are those for one H200; this is $name." ;; esac
}
finish() {
    local i
    name_bars
    {
        printf '{"device":"%s","seconds":%d,"rows":[\n' "$(quote "$name")" $((SECONDS - begin))
        for i in "${!rows[@]}"; do printf '%s%s\n' "${rows[i]}" "$([ "$i" -lt $((${#rows[@]} - 1)) ] && echo ,)"; done
        printf ']}\n'
    } >"$out/gpu.json"
    printf '%d lines in %s, %d seconds: %s\n' ${#rows[@]} "$out/gpu.json" $((SECONDS - begin)) \
        "$([ -n "$without" ] && echo 'no bar was tried' || { [ $missed = 0 ] && echo 'every bar tried is reached'; } || echo 'not every bar is reached')"
}
trap 'row "ended by a signal" - "" failed; finish; exit 6' INT TERM HUP
# VALUE BAR: a bar that the value must reach; for a bar that it must stay under, --below first. No value is a bar missed.
reached() {
    local below=0
    [ "$1" = --below ] && below=1 && shift
    awk -v v="$1" -v b="$2" -v below=$below 'BEGIN { exit !(v ~ /^[0-9.e+-]+$/ && (below ? v <= b : v >= b)) }' && echo reached || echo missed
}
value() { awk -v name="$1" '$1 == name { print $2 }' "$2" | tail -1; }
wanted() { case " $parts " in *" $1 "*) ;; *) false ;; esac; }
left() { echo $((deadline - SECONDS + begin)); }
# FILE COMMAND...: output in FILE; false when it fails or the part's time is over. What a broken driver does not let be killed is left behind.
try() {
    local file=$1 limit=$(($(left) - 3)) last
    shift
    if [ $limit -lt 1 ]; then
        echo "the time of this part is over" >"$file.err"
        return 1
    fi
    timeout -k 1 $limit "$@" </dev/null >"$file" 2>"$file.err" &
    local pid=$!
    last=$((SECONDS + limit + 2))
    while kill -0 $pid 2>/dev/null && [ $SECONDS -lt $last ]; do sleep 0.05; done
    if kill -0 $pid 2>/dev/null; then
        echo "it does not end, not even when killed" >>"$file.err"
        return 1
    fi
    wait $pid
    local code=$?
    [ $code != 124 ] && [ $code != 137 ] || echo "it took longer than the $limit s that were left for this part" >>"$file.err"
    return $code
}
# The same for a question that is answered at once or never.
brief() {
    local keep=$deadline code
    deadline=$((SECONDS - begin + 8 * patience))
    try "$@"
    code=$?
    deadline=$keep
    return $code
}
why() { tail -1 "$1.err" 2>/dev/null | tr '\r' '\n' | tail -1 | cut -c1-150; }

types=(bfloat16 float16 float32)
shapes=(base large) deals=(2:256 8:64) scored=4096
[ -n "$tiny" ] && shapes=(tiny) deals=(2:4) scored=8

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
part_agree() {
    local type
    for type in "${types[@]}"; do
        if try "$scratch/agree" "$check" agree $type; then
            agree_rows $type "$type"
        else
            row "$type: against the CPU" - "" failed "$(why "$scratch/agree")"
        fi
    done
}

part_repeat() {
    local type noise v times=${tiny:+2}
    for type in "${types[@]}"; do
        "$check" noise $(($(left) > 0 ? $(left) : 1)) >/dev/null 2>&1 &
        noise=$!
        if try "$scratch/repeat" "$check" repeat $type "${times:-1000}"; then
            v=$(value repeats_with_other_bits "$scratch/repeat")
            row "$type: repeats with other bits, beside other work" "$v" "" "$(reached --below "$v" 0)" "of $(value repeats "$scratch/repeat")"
        else
            row "$type: repeats" - "" failed "$(why "$scratch/repeat")"
        fi
        kill -KILL $noise 2>/dev/null
        disown $noise 2>/dev/null
    done
}

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
# The sample as shards, made by the first part that needs it.
sample_shards() {
    [ ! -e "$scratch/shards/manifest.json" ] || return 0
    awk -v most="$([ -n "$tiny" ] && echo 41 || echo 1000000)" 'NR <= most' "$here/sample/train-first.csv" >"$scratch/rows.csv"
    try "$scratch/prepare" "$bin/preprocess" --vocab "$sample" --out "$scratch/tokens" "$scratch/rows.csv" &&
        try "$scratch/prepare" "$bin/shard" --out "$scratch/shards" --shards 4 "$scratch/tokens" && return
    row "shards of the sample" - "" failed "$(why "$scratch/prepare")"
    return 1
}
# The undisturbed float32 run that others are compared with.
whole_run() { [ -e "$scratch/run-float32/last" ] || try "$scratch/whole" "$bin/train" "${recipe[@]}" "${most[@]}" --device cuda --out "$scratch/run-float32"; }
losses() { grep -o '"loss":[0-9.e-]*' "$1/metrics.jsonl" | cut -d: -f2; }
apart() { awk '{ d = ($1 - $2) / $1; d = d < 0 ? -d : d; if (d > m) m = d; n++ } END { print n && NF == 2 ? m + 0 : "none" }' <(paste "$1" "$2"); }

part_recipe() {
    local v
    sample_shards || return
    if try "$scratch/cpu" "$bin/train" "${recipe[@]}" --device cpu --max-steps 2 --out "$scratch/on-cpu" &&
        try "$scratch/dev" "$bin/train" "${recipe[@]}" --device cuda --max-steps 2 --out "$scratch/on-device"; then
        v=$(apart <(losses "$scratch/on-cpu") <(losses "$scratch/on-device"))
        row "float32: two steps of training, relative loss" "$v" "" "$(reached --below "$v" 1e-5)" "against the CPU, dropout on"
    else
        row "float32: two steps of training" - "" failed "$(why "$scratch/cpu") $(why "$scratch/dev")"
    fi
    [ -z "$tiny" ] || return
    if try "$scratch/steps" "$here/bench/gpu_step.sh" "$build" "$scratch" --device cuda; then
        v=$(apart "$here/bench/gpu_step.txt" "$scratch/steps")
        row "float32: the recipe's first three steps, loss" "$v" "" "$(reached --below "$v" 1e-4)" "at most 1e-4; base shape, 8 lanes x 64 rows, against the stored steps of a CPU"
    else
        row "float32: the recipe's first three steps" - "" failed "$(why "$scratch/steps")"
    fi
    rm -rf "$scratch/step-run"
}

part_whole() {
    local type
    sample_shards || return
    for type in float32 bfloat16 float16; do
        if try "$scratch/whole" "$bin/train" "${recipe[@]}" "${most[@]}" --device cuda --type $type --out "$scratch/run-$type" &&
            try "$scratch/infer" "$bin/infer" --run "$scratch/run-$type" --input "$scratch/shards" --type $type --device cuda --out "$scratch/$type.csv" --work "$scratch/work-$type"; then
            row "$type: shards to submission" "$(wc -l <"$scratch/$type.csv")" lines reached
        else
            row "$type: shards to submission" - "" failed "$(why "$scratch/whole") $(why "$scratch/infer")"
        fi
    done
}

part_resume() {
    local v job again=("$bin/train" "${recipe[@]}" "${most[@]}" --device cuda --checkpoint-every 2 --out "$scratch/killed")
    sample_shards || return
    "${again[@]}" </dev/null >/dev/null 2>&1 &
    job=$!
    while [ "$(left)" -gt 3 ] && kill -0 $job 2>/dev/null; do
        [ "$(wc -l 2>/dev/null <"$scratch/killed/metrics.jsonl" || echo 0)" -ge 2 ] && break
        sleep 0.05
    done
    kill -KILL $job 2>/dev/null
    disown $job 2>/dev/null
    while kill -0 $job 2>/dev/null && [ "$(left)" -gt 3 ]; do sleep 0.05; done
    if try "$scratch/again" "${again[@]}" && whole_run; then
        cmp -s "$scratch/killed/metrics.jsonl" "$scratch/run-float32/metrics.jsonl" && v=reached || v=missed
        row "float32: killed and resumed, the same bytes" "$([ $v = reached ] && echo yes || echo no)" "" $v
    else
        row "float32: killed and resumed" - "" failed "$(why "$scratch/again") $(why "$scratch/whole")"
    fi
}

part_memory() {
    local plan taken v
    sample_shards || return
    if try "$scratch/plan" "$bin/train" "${recipe[@]}" --device cuda --plan --out "$scratch/planned" &&
        try "$scratch/taken" "$bin/train" "${recipe[@]}" --device cuda --max-steps 2 --out "$scratch/planned"; then
        plan=$(awk '/together, on the device/ { print $5 * ($6 == "GB" ? 1000 : 1) }' "$scratch/plan")
        taken=$(grep -h 'memory taken on a device' "$scratch/taken" "$scratch/taken.err" | sed 's/.*: \([0-9.]*\) MB/\1/' | tail -1)
        v=$(awk -v a="${taken:-0}" -v b="${plan:-1}" 'BEGIN { print a / b }')
        row "memory taken beside --plan" "$v" "" "$(awk -v v="$v" 'BEGIN { exit !(v > 0.9 && v <= 1.02) }' && echo reached || echo missed)" "$taken MB of $plan MB"
    else
        row "memory beside --plan" - "" failed "$(why "$scratch/plan") $(why "$scratch/taken")"
    fi
}

# Two ranks give the bytes of one: over links where there are two devices, else through the host with both on one device.
part_ranks() {
    local v two sharing=(--share-device)
    sample_shards || return
    ! brief "$scratch/gpus" nvidia-smi --list-gpus || [ "$(wc -l <"$scratch/gpus")" -lt 2 ] || sharing=()
    . "$here/jobs/mpi.sh" 2>/dev/null
    two=("$bin/train" "${recipe[@]}" "${most[@]}" --device cuda "${sharing[@]}" --out "$scratch/two")
    if ! command -v mpirun >/dev/null; then
        row "float32: two ranks" - "" said "there is no mpirun"
    elif try "$scratch/ranks" mpirun -np 2 "${two[@]}" && whole_run; then
        cmp -s "$scratch/two/metrics.jsonl" "$scratch/run-float32/metrics.jsonl" && v=reached || v=missed
        row "float32: two ranks, the bytes of one" "$([ $v = reached ] && echo yes || echo no)" "" $v "${sharing[*]:-a device each}"
    else
        row "float32: two ranks" - "" failed "$(why "$scratch/ranks") $(why "$scratch/whole")"
    fi
}

# ---- speed ----
share() { awk -v t="$1" -v p="$peak" 'BEGIN { if (p > 0) printf "%.1f", 100 * t / p; else print "-" }'; }
# TYPE: bars are for bfloat16, the others are looked at more briefly
seconds() { [ -z "$tiny" ] && { [ "$1" = bfloat16 ] && echo 4 || echo 1; } || echo 0; }
fastest=0
train_speed() { # TYPE SHAPE LANES:ROWS
    local type=$1 shape=$2 lanes=${3%:*} batch=${3#*:} bar tokens used
    case $shape in base) bar=45 ;; large) bar=52 ;; *) bar=0 ;; esac
    if ! try "$scratch/speed" "$check" train $type $shape $lanes $batch "$(seconds $type)"; then
        row "$type $shape: training, $lanes x $batch" - "" failed "$(why "$scratch/speed")"
        return
    fi
    tokens=$(value tokens_a_second "$scratch/speed")
    used=$(share "$(value teraflops "$scratch/speed")")
    row "$type $shape: training, $lanes lanes x $batch rows" "$tokens" tokens/s said "$(value teraflops "$scratch/speed") TFLOP/s, $used% of the peak in 16 bits"
    [ "$type $shape $3" = "bfloat16 base 2:256" ] && fastest=$tokens
    if [ "$type $3" = "bfloat16 2:256" ] && [ "$used" != - ]; then
        row "$type $shape: share of the dense peak" "$used" % "$(reached "$used" $bar)" "at least $bar (the bar is for an H200)"
    fi
}
# What has a bar first. What the exact reduction costs: beside the same rows as one lane, whose gradient is summed by the library.
part_speed() {
    local shape type v
    for shape in "${shapes[@]}"; do
        for lanes in "${deals[@]}"; do train_speed bfloat16 $shape $lanes; done
    done
    if [ "$fastest" != 0 ]; then
        if try "$scratch/speed" "$check" train bfloat16 base 1 512 "$(seconds bfloat16)" fast; then
            v=$(awk -v a="$fastest" -v b="$(value tokens_a_second "$scratch/speed")" 'BEGIN { printf "%.2f", 100 * (b / a - 1) }')
            row "exact beside one merged lane" "$v" "% slower" "$(reached --below "$v" 3)" "at most 3; in one rank, so that neither sends anything"
        else
            row "exact beside one merged lane" - "" failed "$(why "$scratch/speed")"
        fi
    fi
    for type in float16 float32; do
        for shape in "${shapes[@]}"; do train_speed $type $shape "${deals[0]}"; done
    done
}

declare -A own_rate=()
part_score() {
    local type shape used
    for type in "${types[@]}"; do
        for shape in "${shapes[@]}"; do
            if try "$scratch/score" "$check" score $type $shape $scored "$(seconds $type)"; then
                own_rate[$type-$shape]=$(value rows_a_second "$scratch/score")
                used=$(share "$(value teraflops "$scratch/score")")
                row "$type $shape: scoring" "${own_rate[$type-$shape]}" rows/s said "$(value teraflops "$scratch/score") TFLOP/s"
                [ "$type" = bfloat16 ] && [ "$used" != - ] && row "$type $shape: scoring, share of the peak" "$used" % "$(reached "$used" 60)" "at least 60"
            else
                row "$type $shape: scoring" - "" failed "$(why "$scratch/score")"
            fi
        done
    done
}

# cuDNN's attention in place of the own kernel, where there is no attention dropout: as exact, and faster? Speed beside the part `score`.
part_cudnn() {
    local type shape v
    for type in bfloat16 float16; do
        if ! try "$scratch/agree" "$check" cudnn agree $type; then
            if grep -q "there is no cuDNN\|no cuDNN (it needs\|older than\|compute capability" "$scratch/agree.err"; then
                row "$type: cuDNN's attention" - "" said "$(why "$scratch/agree")"
            else
                row "$type: cuDNN's attention against the CPU" - "" failed "$(why "$scratch/agree")"
            fi
            continue
        fi
        agree_rows $type "$type, cuDNN"
        if try "$scratch/repeat" "$check" cudnn repeat $type $([ -n "$tiny" ] && echo 2 || echo 300); then
            v=$(value repeats_with_other_bits "$scratch/repeat")
            row "$type, cuDNN: repeats with other bits" "$v" "" "$(reached --below "$v" 0)" "of $(value repeats "$scratch/repeat")"
        else
            row "$type, cuDNN: repeats" - "" failed "$(why "$scratch/repeat")"
        fi
        for shape in "${shapes[@]}"; do
            [ -n "${own_rate[$type-$shape]:-}" ] || continue
            if try "$scratch/score" "$check" cudnn score $type $shape $scored "$(seconds $type)"; then
                v=$(awk -v a="$(value rows_a_second "$scratch/score")" -v b="${own_rate[$type-$shape]}" 'BEGIN { printf "%.3f", a / b }')
                row "$type $shape: scoring with cuDNN beside the own" "$v" times said "$(value teraflops "$scratch/score") TFLOP/s; above 1 --attention auto pays"
            else
                row "$type $shape: scoring with cuDNN" - "" failed "$(why "$scratch/score")"
            fi
        done
    done
}

# The whole recipe on real lengths: 200,000 rows, 2 epochs, from shards to submission.
part_full() {
    local data=${FRETSAW_DATA:-$here/../shared/data} comments vocabulary lines count=200000 lanes=2 batch=256 base=$scratch/full.json from v i whole copies=()
    comments=${GPU_ROWS:-$data/comments/train.csv} vocabulary=${GPU_VOCAB:-$data/vocab/bert-base-multilingual-uncased}
    [ -r "$comments" ] && [ -r "$vocabulary" ] || comments=$here/sample/train-first.csv vocabulary=$sample
    sed 's/"vocab_size": [0-9]*/"vocab_size": 105879/; s/"hidden_size": 128/"hidden_size": 768/; s/"num_hidden_layers": 2/"num_hidden_layers": 12/
        s/"num_attention_heads": 2/"num_attention_heads": 12/; s/"intermediate_size": 256/"intermediate_size": 3072/' "$config" >"$base"
    if [ -n "$tiny" ]; then
        sample_shards || return
        comments=$scratch/rows.csv vocabulary=$sample count=24 lanes=2 batch=4 base=$config
    fi
    lines=$(wc -l <"$comments") # a row has more than one now and then: twice as many as rows are wanted
    for i in $(seq $((2 * count / (lines + 1) + 1))); do
        ln -sf "$comments" "$scratch/comments-$i.csv"
        copies+=("$scratch/comments-$i.csv")
    done
    [ -f "$vocabulary" ] || vocabulary=$vocabulary/vocab.txt
    whole=("$bin/train" --init random --config "$base" --vocab "$vocabulary" --train "$scratch/full-shards" --lanes $lanes --batch $batch --epochs 2
        --type bfloat16 --device cuda --out "$scratch/full")
    if try "$scratch/prepare" "$bin/preprocess" --vocab "$vocabulary" --out "$scratch/full-tokens" "${copies[@]}" &&
        try "$scratch/prepare" "$bin/shard" --out "$scratch/full-shards" --shards 16 --sample $count --seed 42 "$scratch/full-tokens" &&
        try "$scratch/prepare" "$bin/preprocess" --vocab "$vocabulary" --out "$scratch/full-test" "$here/sample/test.csv"; then
        from=$(date +%s.%N)
        if try "$scratch/whole" "${whole[@]}" && try "$scratch/infer" "$bin/infer" --run "$scratch/full" --input "$scratch/full-test" --type bfloat16 \
            --device cuda --out "$scratch/full.csv" --work "$scratch/full-work"; then
            v=$(awk -v a="$from" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }')
            row "the recipe, $count rows, 2 epochs, to submission" "$v" s "$([ -n "$tiny" ] && echo said || reached --below "$v" 90)" "at most 90; rows of $comments"
        else
            row "the recipe, $count rows, 2 epochs" - "" failed "$(why "$scratch/whole") $(why "$scratch/infer")"
        fi
    else
        row "the recipe, $count rows, 2 epochs" - "" failed "$(why "$scratch/prepare")"
    fi
}

# A rival that has not come to its end counts with what it has measured so far.
part_torch() {
    local rival v code=0
    try "$scratch/torch" "$python" "$here/bench/gpu_torch.py" "${shapes[0]}" 512 3 || code=$?
    if [ $code = 77 ] || [ $code = 127 ]; then
        row "PyTorch" - "" said "$python: $(why "$scratch/torch")"
        return
    fi
    rival=$(value tokens_a_second "$scratch/torch")
    if [ -z "$rival" ]; then
        row "PyTorch" - "" failed "$(why "$scratch/torch") $(grep '^#' "$scratch/torch" | tail -1)"
        return
    fi
    row "PyTorch ${shapes[0]}: training, its best way" "$rival" tokens/s said "$(grep '^# the best' "$scratch/torch" | tail -1) $(why "$scratch/torch")"
    [ "$fastest" = 0 ] || { v=$(awk -v a="$fastest" -v b="$rival" 'BEGIN { print a / b }'); row "beside PyTorch" "$v" times "$(reached "$v" 1.5)" "at least 1.5"; }
}

part_sanitizer() {
    local tool
    command -v compute-sanitizer >/dev/null || { row "compute-sanitizer" - "" said "not installed"; return; }
    for tool in memcheck racecheck; do
        if try "$scratch/sanitizer" compute-sanitizer --tool $tool --error-exitcode 9 "$check" repeat float32 2; then
            row "compute-sanitizer $tool on a small step" clean "" reached
        else
            row "compute-sanitizer $tool on a small step" - "" failed "$(tail -1 "$scratch/sanitizer") $(why "$scratch/sanitizer")"
        fi
    done
}

# ---- all parts ----
set -- $shares
deadline=$(($2 * patience))
shift 2
brief "$scratch/doctor" "$bin/doctor"
grep -E '^(ok|note|FIX) *gpu' "$scratch/doctor"
if ! try "$scratch/first" "$check" agree float32; then
    without="there is no device"
    echo "no device to measure: $(why "$scratch/first"); no part is tried: $names" >&2
    finish
    exit 5
fi
! brief "$scratch/name" nvidia-smi --query-gpu=name --format=csv,noheader || name=$(sed -n 1p "$scratch/name")
# Dense peaks in 16 bits with float32 sums, by the makers' data sheets, in TFLOP/s.
case $name in
    *H200* | *H100*SXM* | *H100*HBM3* | *GH200*) peak=989 ;; *H100*) peak=756 ;; *A100*) peak=312 ;; *B200*) peak=2250 ;; *L40S*) peak=362 ;; *L4*) peak=121 ;;
    *4090*) peak=165 ;; *3090*) peak=71 ;; *T4*) peak=65 ;; *) peak=0 ;;
esac
printf '%-44s %14s %-10s %-8s %s\n' "what ($name)" value unit verdict note
while [ $# -gt 0 ]; do
    deadline=$((deadline + $2 * patience))
    if wanted $1; then part_$1; fi
    shift 2
done
finish
[ $missed = 0 ] || exit 6
