#!/usr/bin/env bash
# Which options may be others when a run goes on: each one that --help names is tried on a begun run. Those that can change the weights are refused, with
# the reason; the rest are taken, and what all of them together end with are the bytes of the undisturbed run.
. "$(dirname "$0")/train_lib.sh"
data train 96 1 2 5 120 60 0
data valid 40 1 1 6 120 60 0
seq 95 -1 0 >"$scratch/order"
seq 0 95 >"$scratch/forth"
base=(--valid "$scratch/valid" --lanes 4 --batch 4 --epochs 1 --max-length 40 --lr 1e-3 --reshuffle no --order "$scratch/order")
train 1 whole "${base[@]}" || wrong "the undisturbed run: $(said)"
begin() { SLURM_JOB_END_TIME=1 expect 75 "everything saved" train 1 "$@"; } # stops before its first step
begin begun "${base[@]}"
several=${mpi:+2}

# What a later word says is what counts. "same": taken.
mkdir "$scratch/shape" && cp -r "$scratch"/{config.json,vocab.txt,train,valid,order} "$scratch/shape" # base names stand in provenance.json
declare -A other=(
    [drop-unlabelled]="2" [lanes]="2 8" [batch]="2 2" [epochs]="2 2" [max-steps]="2 3" [max-length]="2 39"
    [truncate]="2 tail" [pooling]="2 padded" [deal]="2 strided" [reduce]="2 fast" [seed]="2 43" [dropout]="2 0.2" [attention-dropout]="2 0.2"
    [head-dropout]="2 0.2" [lr]="2 2e-3" [scale-lr]="2 2" [beta1]="2 0.8" [beta2]="2 0.99" [epsilon]="2 1e-7" [weight-decay]="2 0.01" [schedule]="2 constant"
    [schedule-steps]="2 rows" [warmup]="2 2"
    [train]="same $scratch/shape/train" [valid]="same $scratch/shape/valid" [config]="same $scratch/shape" [vocab]="same $scratch/shape/vocab.txt"
    [order]="same $scratch/shape/order" [checkpoint-every]="same 1" [checkpoint-minutes]="same 1" [keep]="same 3" [device]="same cpu" [share-device]="same" [attention]="same auto"
    [micro-tokens]="same 64" [threads]="same 2" [cpu]="same plain" [data-memory]="same 4K" [time-limit]="same 1h" [grace]="same 5s" [profile]="same"
    [log]="same $scratch/said" [quiet]="same"
    # Tried below: reshuffle, type, init, init-from, model. Of no run that goes on:
    [reshuffle]="-" [init]="-" [type]="-" [init-from]="-" [model]="-" [out]="-" [plan]="-" [diff]="-" [replay]="-" [recipe]="-" [version]="-" [help]="-"
)
taken=()
while read -r name; do
    [ -n "${other[$name]:-}" ] || { wrong "--$name is new: say here whether it may change within a run"; continue; }
    read -ra words <<<"${other[$name]}"
    case ${words[0]} in
        2)
            SLURM_JOB_END_TIME=1 expect 2 "was begun with other values of .*--$name.*can change the weights" train 1 begun "${base[@]}" "--$name" "${words[@]:1}"
            begin "new-$name" "${base[@]}" "--$name" "${words[@]:1}" # it is a word that a run of its own takes
            ;;
        same)
            begin begun "${base[@]}" "--$name" "${words[@]:1}"
            taken+=("--$name" "${words[@]:1}")
            ;;
    esac
done < <("$bin/train" --help | sed -n 's/^  --\([a-z0-9-]*\).*/\1/p')
[ ${#taken[@]} -gt 30 ] || wrong "few options are listed: ${taken[*]}"

# An order goes with --reshuffle no alone; half types are a device's.
ordered=("${base[@]:0:12}")
begin plain "${ordered[@]}"
expect 2 "was begun with other values of --reshuffle" train 1 plain "${ordered[@]}" --reshuffle no
expect 2 "was begun with other values of --type\|float32 alone\|--type" train 1 begun "${base[@]}" --type bfloat16

# Other contents under whatever path.
mkdir "$scratch/new" && "$make" "$scratch/new" train 96 1 2 7 120 60 0
expect 3 "was begun with other training data, on which its weights depend" train 1 begun "${base[@]}" --train "$scratch/new/train"
expect 3 "was begun with other validation data" train 1 begun "${base[@]}" --valid "$scratch/new/train"
expect 3 "was begun with other rows in --order" train 1 begun "${base[@]}" --order "$scratch/forth"
sed 's/"layer_norm_eps": [^,}]*/"layer_norm_eps": 0.01/' "$scratch/config.json" >"$scratch/shape/config.json"
cmp -s "$scratch/config.json" "$scratch/shape/config.json" && wrong "the config has no layer_norm_eps to change"
expect 3 "was begun with other \(initial weights\|values in config.json\)" train 1 begun "${base[@]}" --config "$scratch/shape"

# Runs that begin from weights: a model's, another run's.
from() { # OPTION OUT WEIGHTS OPTION...
    timeout 60 "$bin/train" "$1" "$3" "${@:4}" --train "$scratch/train" --out "$scratch/$2" --lanes 4 --batch 4 --epochs 1 --max-length 40 >"$scratch/log" 2>&1
}
train 1 second "${base[@]}" --seed 9 || wrong "another run: $(said)"
cp -r "$scratch/whole" "$scratch/moved"
for kind in model init-from; do
    folder=
    [ $kind = init-from ] || folder=/epoch-1
    SLURM_JOB_END_TIME=1 expect 75 "everything saved" from --$kind $kind "$scratch/whole$folder"
    SLURM_JOB_END_TIME=1 expect 75 "everything saved" from --$kind $kind "$scratch/moved$folder"
    expect 3 "was begun with other initial weights" from --$kind $kind "$scratch/second$folder"
done
expect 2 "was begun with other values of --init " from --model model "$scratch/whole/epoch-1" --init random

# All that may change at once, half way; and another number of ranks.
cp -r "$scratch/begun" "$scratch/half"
train 1 half "${base[@]}" --checkpoint-every 1 &
job=$!
for _ in $(seq 1000); do [ -e "$scratch/half/last" ] && break; sleep 0.01; done
kill -TERM "$(pgrep -f -- "bin/train .*--out $scratch/half( |\$)" | tail -1)" 2>/dev/null
wait $job
cp "$scratch/config.json" "$scratch/shape/config.json"
expect 0 "" train "${several:-1}" half "${base[@]}" "${taken[@]}"
same_run whole half "continued with other options"
finish
