#!/usr/bin/env bash
# bench/gpu.sh on the twin: every part in its tiny form, or what it says without a device and with one that is lost.
#   gpu.sh BUILD SOURCE whole|lost|hangs
set -uo pipefail
build=$1 source=$2 part=$3
failures=0
wrong() { echo "wrong: $*"; failures=$((failures + 1)); }
scratch=$(mktemp -d "${TMPDIR:-/tmp}/fretsaw-gpu-test-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
# A Python without PyTorch: what is measured beside it is not this test's.
printf '#!/bin/sh\nexit 77\n' >"$scratch/python"
chmod +x "$scratch/python"
[ "$part" = hangs ] || export GPU_TINY=1
export GPU_OUT=$scratch FRETSAW_PEERS=$scratch/python GPU_PATIENCE=2

# CODE: gpu.sh's exit code; its output in $scratch/log
expect() {
    "$source/bench/gpu.sh" "$build" >"$scratch/log" 2>&1
    local code=$?
    [ $code = "$1" ] || wrong "exit $code, not $1: $(tail -5 "$scratch/log")"
}
# NAME VERDICT: a line of the table on paper
verdict() {
    python3 -c 'import json, sys
got = [r["verdict"] for r in json.load(open(sys.argv[1]))["rows"] if sys.argv[2] in r["name"] and not r["note"].startswith("not shown")]
sys.exit(not got or set(got) != {sys.argv[3]})' "$scratch/gpu.json" "$1" "$2" ||
        wrong "'$1' is not $2: $(grep -F -- "$1" "$scratch/log")"
}
# NAME WHY: a bar that is not shown, and why, in the table and on paper
unshown() {
    grep -qE "^$1 .* said +not shown: .*$2" "$scratch/log" || wrong "'$1' is not said to be unshown for '$2': $(grep -F -- "$1" "$scratch/log")"
    grep -qF "{\"name\":\"$1\",\"value\":\"-\",\"unit\":\"\",\"verdict\":\"said\",\"note\":\"not shown" "$scratch/gpu.json" || wrong "'$1' is not on paper"
}
bars=("bfloat16 base: share of the dense peak" "bfloat16 large: share of the dense peak" "bfloat16 base: scoring, share of the peak"
    "bfloat16 large: scoring, share of the peak" "exact beside one merged lane" "beside PyTorch" "the recipe")
if [ "$part" = hangs ]; then
    # Programs that never end, and not when they are told to: every part is over at its time, and so is the whole.
    mkdir -p "$scratch/build/bin"
    cat >"$scratch/build/bin/gpu_check" <<'S'
#!/bin/sh
[ "$1 $2" = "agree float32" ] && [ ! -e "$0.asked" ] && : >"$0.asked" && exit 0
trap "" TERM
exec sleep 300
S
    chmod +x "$scratch/build/bin/gpu_check"
    for program in train infer preprocess shard doctor; do ln -s gpu_check "$scratch/build/bin/$program"; done
    printf '#!/bin/sh\ntrap "" TERM\nexec sleep 300\n' >"$scratch/python"
    build=$scratch/build
    begin=$SECONDS
    export GPU_PATIENCE=1 GPU_SHARES="first 14 agree 4 repeat 4 recipe 4 speed 4 full 4 torch 4" # 38 s
    expect 6
    passed=$((SECONDS - begin))
    [ $passed -le 42 ] || wrong "parts of 38 s took $passed s"
    for name in "bfloat16: against the CPU" "float32: repeats" "shards of the sample" "bfloat16 base: training" "the recipe" PyTorch; do verdict "$name" failed; done
    unshown "bfloat16 base: share of the dense peak" "no dense peak is known of this device"
    unshown "beside PyTorch" "part torch has no result"
    unshown "bfloat16 base: scoring, share of the peak" "part score was not asked for"
    grep -q "it took longer than" "$scratch/log" || wrong "it is not said that a part took too long: $(cat "$scratch/log")"
elif [ "$part" = lost ]; then
    FRETSAW_TWIN_DEVICES=0 expect 5
    grep -q "no device to measure: .*no CUDA device is visible" "$scratch/log" || wrong "it does not say why: $(cat "$scratch/log")"
    for name in "${bars[@]}"; do unshown "$name" "there is no device"; done
    grep -q "no bar was tried" "$scratch/log" || wrong "it does not say that nothing was tried"
    # Whole trainings have more launches than that: one part fails, and the next one is tried.
    FRETSAW_TWIN_LOST=400 GPU_PARTS="memory torch" expect 6
    verdict "memory beside --plan" failed
    verdict PyTorch said
    grep -q "not every bar is reached" "$scratch/log" || wrong "no verdict in all"
else
    expect 0
    for name in "loss against the CPU" "gradient against the CPU" "repeats with other bits" "two steps of training" "shards to submission" \
        "killed and resumed" "memory taken beside --plan" "two ranks, the bytes of one"; do
        verdict "$name" reached
    done
    for name in "${bars[@]}"; do unshown "$name" "GPU_TINY"; done
    for name in "tiny: training" "tiny: scoring" "the recipe" PyTorch; do
        verdict "$name" said
    done
    if [ "${FRETSAW_STAND_IN:-}" = cudnn ]; then
        verdict "cuDNN: loss against the CPU" reached
        verdict "cuDNN: gradient against the CPU" reached
        verdict "cuDNN: repeats with other bits" reached
        verdict "scoring with cuDNN beside the own" said
    else
        verdict "cuDNN's attention" said
    fi
fi
[ $failures = 0 ] && echo ok
exit $((failures > 0))
