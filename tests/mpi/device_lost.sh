#!/usr/bin/env bash
# A device, a rank or the way to it is lost in the middle of a step or of a checkpoint: nobody waits for ever, exit 5 and words on how to go on, what was
# saved is whole, and the same command ends with the bytes of the undisturbed run. Messages are those of NCCL's stand-in, whose groups are counted: a step
# has six, and the run six steps.
. "$(dirname "$0")/train_lib.sh"
root=$(dirname "$0")/../..
seed=${FRETSAW_SEED:-$RANDOM}
echo "seed $seed (FRETSAW_SEED)"
RANDOM=$seed
data train 36 1 2 5 60 40 0
data valid 12 1 1 6 60 40 0
base=(--valid "$scratch/valid" --lanes 4 --batch 3 --epochs 2 --max-length 40 --lr 1e-3 --micro-tokens 80 --threads 1 --checkpoint-every 1)
export TMPDIR=$scratch/links
mkdir "$scratch/links"
train 1 whole "${base[@]}" || wrong "undisturbed: $(said)"
train 1 half "${base[@]}" --type float16 || wrong "undisturbed, float16: $(said)"

# VARIABLE=VALUE RANKS TEXT LIKE OPTION...: a run under this wish must end with 5 and these words; without it, it goes on to the bytes of LIKE.
lose() {
    local wish=$1 ranks=$2 text=$3 like=$4
    shift 4
    export "$wish"
    expect 5 "$text" train "$ranks" lost "${base[@]}" "$@"
    unset "${wish%%=*}"
    grep -Eq "the same command (goes on|begins again)" "$scratch/log" || wrong "$wish: it does not say how to go on: $(said)"
    train 1 lost "${base[@]}" "$@" || wrong "$wish: it does not go on: $(said)"
    same_run "$like" lost "$wish"
    rm -rf "$scratch/lost"
}

# Copies to the host: losses, hashes, and where a checkpoint is written weights and moments. None of these may be garbage.
for at in 17 $((RANDOM % 40 + 18)); do # the 17th and 18th are the first moments to be saved
    lose FRETSAW_TWIN_LOST_COPY=$at 1 "told to be lost" whole
done
if [ -n "$mpi" ]; then
    # The library finds out that another rank is gone: one rank is told, the others wait on their devices for it.
    for at in 1 $((RANDOM % 30 + 2)); do
        lose FRETSAW_STAND_NCCL_ERROR=$((at % 2)),$at 2 "NCCL, messages between ranks: remote process exited" whole
    done
    lose FRETSAW_STAND_NCCL_ERROR=$((RANDOM % 3)),$((RANDOM % 30 + 2)) 3 "another rank, its device or the way to it is lost" half --type float16
    # It never finds out, as between devices of one machine: the launcher ends the others.
    mpi=$root/jobs/mpirun.sh
    lose FRETSAW_STAND_NCCL_KILL=$((RANDOM % 3)),$((RANDOM % 30 + 2)) 3 "a rank was killed (SIGKILL)" whole
fi
finish
