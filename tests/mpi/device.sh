#!/usr/bin/env bash
# The device back end on its twin: the whole training step against the CPU's, the same bytes at 1, 2 and 3 ranks and after a kill, and what is refused.
. "$(dirname "$0")/train_lib.sh"
data train 36 1 2 5 60 40 0
data valid 12 1 1 6 60 40 0
base=(--valid "$scratch/valid" --lanes 4 --batch 3 --epochs 1 --max-length 40 --lr 1e-3 --micro-tokens 80 --threads 1 --checkpoint-every 2)
several=${mpi:+3}
several=${several:-1}

# A run where there is no NCCL: a file of its name that is no library is found first.
staged() { LD_LIBRARY_PATH=$(dirname "$FRETSAW_DEVICE_LIBRARY")/no-nccl${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$@"; }
# A B TOLERANCE: losses of two runs, step by step
close_runs() {
    paste <(grep -o '"loss":[0-9.e-]*' "$scratch/$1/metrics.jsonl") <(grep -o '"loss":[0-9.e-]*' "$scratch/$2/metrics.jsonl") | tr ':' '\t' |
        awk -v most="$3" '{ d = $2 > $4 ? $2 - $4 : $4 - $2; if (d > most * $2) bad = 1; n++ } END { exit bad || n < 3 }' ||
        wrong "the losses of $2 are not within $3 of those of $1"
}
train 1 cpu "${base[@]}" --device cpu || wrong "on the CPU: $(said)"
tolerance_float32=2e-6 tolerance_bfloat16=1e-2 tolerance_float16=1e-3
for type in float32 bfloat16 float16; do
    train 1 "$type" "${base[@]}" --device cuda --type $type || wrong "$type: $(said)"
    tolerance=tolerance_$type
    close_runs cpu $type "${!tolerance}"
done
grep -q '"loss_scale"' "$scratch/float16/$(head -1 "$scratch/float16/last")/state.json" || wrong "the loss scale is not in the checkpoint"
# Over NCCL's stand-in, and where there is no NCCL.
[ -z "$mpi" ] || for ranks in 2 3 4; do
    FRETSAW_TWIN_LOG=$scratch/links$ranks train $ranks linked$ranks "${base[@]}" --type bfloat16 || wrong "$ranks ranks with NCCL: $(said)"
    grep -q "rank 1 on .*: device 1 of 8" "$scratch/log" || wrong "no map of devices: $(said)"
    same_run bfloat16 linked$ranks "$ranks ranks with NCCL"
    # Before a step's first wait, head, two layers and the embedding have set out one after another, with the device's work between them.
    awk -v want=$((ranks * 4)) '{ key = $1 } waited[key] { next } $3 == "wait" { waited[key] = 1; next } $4 > 0 && $2 > last[key] { n++; last[key] = $2 } END { exit n < want }' \
        "$scratch/links$ranks" || wrong "$ranks ranks: gradients do not set out layer by layer: $(head -12 "$scratch/links$ranks" | tr '\n' ';')"
    awk '$3 == "wait" { waited[$1] = 1 } $3 == "allocated" { n++; bad = bad || waited[$1] } END { exit bad || n == 0 }' "$scratch/links$ranks" ||
        wrong "$ranks ranks: memory is allocated after the first step began"
    [ $ranks = 4 ] && continue
    staged train $ranks ranks$ranks "${base[@]}" --type bfloat16 || wrong "$ranks ranks: $(said)"
    grep -q "NCCL is not there for every rank" "$scratch/log" || wrong "it is not said that NCCL is not there: $(said)"
    same_run bfloat16 ranks$ranks "$ranks ranks without NCCL"
done
# The library's own sum promises no order, so no bits; with all sums in the order of ranks the stand-in's losses are close.
if [ -n "$mpi" ]; then
    train 3 fast "${base[@]}" --reduce fast || wrong "--reduce fast over NCCL: $(said)"
    close_runs float32 fast 2e-6
    staged train 3 fast-staged "${base[@]}" --reduce fast || wrong "--reduce fast without NCCL: $(said)"
    close_runs float32 fast-staged 2e-6
fi

# A device that is lost: exit 5, the checkpoints stay, the same command goes on to the same bytes, at another number of ranks.
FRETSAW_TWIN_LOST=1100 expect 5 "the twin was told to be lost" train 1 lost "${base[@]}" --type float16
ls -d "$scratch"/lost/step-* >/dev/null 2>&1 || wrong "no checkpoint is left of the run that lost its device"
train "$several" lost "${base[@]}" --type float16 || wrong "after the loss: $(said)"
same_run float16 lost "lost and resumed"

# Gradients that overflow float16: all ranks leave those steps out alike and halve the scale, which goes on from a checkpoint.
sed 's/"initializer_range": *[0-9.]*/"initializer_range": 1/' "$scratch/config.json" >"$scratch/wide.json"
wide=("${base[@]}" --config "$scratch/wide.json" --vocab "$scratch/vocab.txt" --lanes 2 --batch 1 --type float16)
train 1 wide "${wide[@]}" || wrong "overflow: $(said)"
[ "$(grep -c "a gradient overflowed and nothing was updated" "$scratch/log")" -ge 2 ] || wrong "nothing overflowed: $(said)"
grep -q '"value": 65536' "$scratch/wide/$(head -1 "$scratch/wide/last")/state.json" && wrong "the loss scale was not halved"
FRETSAW_TWIN_LOST=1200 expect 5 "the twin was told to be lost" train 1 wide-lost "${wide[@]}"
train 1 wide-lost "${wide[@]}" || wrong "overflow, after the loss: $(said)"
same_run wide wide-lost "overflow, lost and resumed"
if [ -n "$mpi" ]; then
    train 2 wide2 "${wide[@]}" || wrong "overflow at 2 ranks: $(said)"
    same_run wide wide2 "overflow at 2 ranks"
fi

# What is refused, and in which words.
FRETSAW_TWIN_LOST=300 train 1 moved "${base[@]}"
expect 6 "a run stays where it was begun" train 1 moved "${base[@]}" --device cpu
expect 6 "a run stays where it was begun" train 1 moved "${base[@]}" --micro-tokens 96
expect 2 "was begun with other values of --type" train 1 moved "${base[@]}" --type bfloat16
expect 2 "is for devices" train 1 none "${base[@]}" --device cpu --type bfloat16
FRETSAW_TWIN_SM=75 expect 2 "bfloat16 needs compute capability 8.0" train 1 none "${base[@]}" --type bfloat16
FRETSAW_TWIN_MEMORY=1000000 expect 5 "no room for" train 1 small "${base[@]}"
FRETSAW_DEVICE_LIBRARY=/nowhere.so expect 5 "no device back end" train 1 none "${base[@]}" --device cuda
FRETSAW_TWIN_DEVICES=0 expect 5 "no CUDA device is visible" train 1 none "${base[@]}" --device cuda
FRETSAW_TWIN_DEVICES=0 train 1 auto "${base[@]}" || wrong "auto without a device: $(said)"
same_run cpu auto "auto without a device"
if [ -n "$mpi" ]; then
    FRETSAW_TWIN_DEVICES=1 expect 2 "start at most one rank a device" train 2 none "${base[@]}" --device cuda
    FRETSAW_TWIN_DEVICES=1 train 2 shared "${base[@]}" --share-device || wrong "shared: $(head -c 600 "$scratch/log")"
    same_run float32 shared "two ranks on one device"
fi

# infer: on the device as on the CPU, to the type's rounding; the same at any number of ranks.
score() {
    local out=$1 ranks=$2 launch=()
    shift 2
    [ "$ranks" = 1 ] || launch=("$mpi" -np "$ranks")
    timeout 90 "${launch[@]}" "$bin/infer" --run "$scratch/float32" --input "$scratch/valid" --out "$scratch/$out.csv" --work "$scratch/$out.work" "$@" \
        >"$scratch/log" 2>&1 || wrong "infer $out: $(said)"
}
score on-cpu 1 --device cpu
score on-device 1
score on-several "$several"
score in-half 1 --type bfloat16
cmp -s "$scratch/on-device.csv" "$scratch/on-several.csv" || wrong "infer on several devices gives other bytes"
for pair in on-device:1e-5 in-half:2e-2; do
    paste -d, "$scratch/on-cpu.csv" "$scratch/${pair%:*}.csv" | awk -F, -v most="${pair#*:}" \
        'NR > 1 { d = $2 > $4 ? $2 - $4 : $4 - $2; if (d > most) bad = 1 } END { exit bad || NR != 13 }' || wrong "scores ${pair%:*} are not those of the CPU"
done

# cuDNN's attention, by its stand-in: in scoring, and in training without attention dropout. A run stays with what it began with.
expect 2 "is for devices" train 1 none "${base[@]}" --device cpu --attention cudnn
mkdir "$scratch/no-cudnn" && echo none >"$scratch/no-cudnn/libcudnn.so.9"
without() { LD_LIBRARY_PATH=$scratch/no-cudnn${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$@"; }
if [ "${FRETSAW_STAND_IN:-}" = cudnn ]; then
    score by-cudnn 1 --type bfloat16 --attention cudnn
    grep -q "attention by cuDNN 9.19.0" "$scratch/by-cudnn.csv.provenance.json" || wrong "the scores do not say who computed attention"
    paste -d, "$scratch/on-cpu.csv" "$scratch/by-cudnn.csv" | awk -F, 'NR > 1 { d = $2 > $4 ? $2 - $4 : $4 - $2; if (d > 2e-2) bad = 1 } END { exit bad || NR != 13 }' ||
        wrong "scores with cuDNN's attention are not those of the CPU"
    plain=("${base[@]}" --type bfloat16 --attention-dropout 0)
    train 1 own "${plain[@]}" || wrong "own attention: $(said)"
    train 1 fused "${plain[@]}" --attention cudnn || wrong "cuDNN's attention: $(said)"
    grep -q "attention without dropout by cuDNN 9.19.0 (engine 4)" "$scratch/log" || wrong "train does not say who computes attention: $(said)"
    grep -q "attention by cuDNN 9.19.0" "$scratch/fused/run.json" || wrong "run.json does not say who computes attention"
    close_runs own fused 1e-2
    cmp -s "$scratch/own/metrics.jsonl" "$scratch/fused/metrics.jsonl" && wrong "cuDNN's attention changed nothing: was it used?"
    train 1 own-padded "${plain[@]}" --pooling padded --attention own || wrong "own attention, padded: $(said)"
    train 1 fused-padded "${plain[@]}" --pooling padded --attention cudnn || wrong "cuDNN's attention, padded: $(said)"
    close_runs own-padded fused-padded 1e-3
    taken=$(sed -n 's/.*memory taken on a device: \([0-9.]*\) MB.*/\1/p' "$scratch/log")
    train 1 none "${plain[@]}" --pooling padded --attention cudnn --plan || wrong "plan: $(said)"
    awk -v taken="${taken:-0}" '/together, on the device/ { plan = $5; n++ } END { exit n != 1 || plan < taken || plan - taken > 0.5 }' "$scratch/log" ||
        wrong "a device holds $taken MB, and --plan says: $(grep 'on the device' "$scratch/log")"
    train "$several" fused-several "${plain[@]}" --attention auto || wrong "cuDNN's attention at $several ranks: $(said)"
    same_run fused fused-several "cuDNN's attention at $several ranks"
    without train 1 auto-own "${plain[@]}" --attention auto || wrong "auto without cuDNN: $(said)"
    grep -q "by the own kernel on all devices, since there is no cuDNN 9 here" "$scratch/log" || wrong "auto does not say that it goes without cuDNN: $(said)"
    same_run own auto-own "auto without cuDNN"
    without expect 5 "there is no cuDNN 9 here" train 1 none "${plain[@]}" --attention cudnn
    expect 5 "takes bfloat16 and float16" train 1 none "${base[@]}" --attention cudnn
    FRETSAW_TWIN_SM=75 expect 5 "compute capability 8.0" train 1 none "${base[@]}" --type float16 --attention cudnn
    FRETSAW_STAND_CUDNN=91400 expect 5 "older than 9.15" train 1 none "${plain[@]}" --attention cudnn
    FRETSAW_TWIN_LOST=300 train 1 stays "${plain[@]}" --attention cudnn
    expect 6 "a run stays where it was begun" train 1 stays "${plain[@]}"
    FRETSAW_STAND_CUDNN=92000 expect 6 "a run stays where it was begun" train 1 stays "${plain[@]}" --attention cudnn
    train 1 stays "${plain[@]}" --attention cudnn || wrong "resumed with cuDNN: $(said)"
    same_run fused stays "lost and resumed with cuDNN"
fi
finish
