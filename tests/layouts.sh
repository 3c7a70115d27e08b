#!/usr/bin/env bash
# Any layout: shards of CSVs, one training and its submission by any number of ranks and threads, with and without shared memory between ranks,
# over two hosts, with every instruction set and three sizes of micro-batch, from any number of shards. One hash each of the shards, of weights
# (with the optimizer's state), metrics, predictions and submission.
#   tests/layouts.sh [--short] [--build build/release] [PART...]      parts: tokens, ranks, tcp, hosts, shards, grid; all of them
# tokens: preprocess --shards at np 1 to 8, in hosts on two hosts too;
# ranks: np 1 to 8 x threads 1 to 3; tcp: the same, messages between ranks of a host by TCP; hosts: np 2 to 8 x threads 1 to 3 on two hosts (root);
# shards: 1, 7 and 64; grid: np 1, 2, 3, 5, 8 x threads 1, 2 x plain, avx2, avx512 x three --micro-tokens. --short takes a few of each but hosts.
set -uo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
short= build=$here/build/release parts=()
words=("$@")
while [ $# -gt 0 ]; do
    case $1 in
        --short) short=yes ;;
        --build) build=$(realpath "$2") && shift ;;
        tokens | ranks | tcp | hosts | shards | grid) parts+=("$1") ;;
        *) sed -n '2,9s/^# *//p' "$0"; exit 2 ;;
    esac
    shift
done
if [ ${#parts[@]} = 0 ]; then
    parts=(tokens ranks tcp shards grid)
    [ -n "$short" ] || parts=(tokens ranks tcp hosts shards grid)
fi
case " ${parts[*]} " in
    *" hosts "*)
        . "$here/tests/support/hosts.sh"
        hosts_enclose "$0" "${words[@]}"
        hosts_start left right ;;
    *)
        scratch=$(mktemp -d "${TMPDIR:-/tmp}/fretsaw-layouts-XXXXXX")
        trap 'rm -rf "$scratch"' EXIT ;;
esac
. "$here/jobs/mpi.sh"
cd "$scratch" || exit 4
bin=$build/bin
command -v mpirun >/dev/null && [ "$("$bin/train" --version >/dev/null; echo $?)" = 0 ] || { echo "mpirun or $bin/train is missing"; exit 2; }
wrong=0 runs=0 wanted= wanted_shards=

"$bin/train_make_data" . train 100 1 3 5 60 14 0 && "$bin/train_make_data" . valid 30 1 1 6 60 14 0 || exit 1

hash_of() { sha256sum | cut -c1-16; }
# What must be the same, as one line.
hashes() {
    local last
    last=$(head -1 run/last)
    echo "weights $(cat run/epoch-*/* run/"$last"/* | hash_of), metrics $(cat run/metrics.jsonl | hash_of)," \
        "predictions $(cat predictions.csv | hash_of), submission $(cat submission.csv | hash_of)"
}
# DATA WHAT LAUNCH... -- OPTION...
one() {
    local data=$1 what=$2 launch=() begin=$SECONDS got
    shift 2
    while [ "$1" != -- ]; do launch+=("$1"); shift; done
    shift
    rm -rf run submission.csv predictions.csv predictions
    if ! timeout -k 5 300 "${launch[@]}" "$bin/train" --quiet --init random --config . --train "$data" --valid valid --out run --lanes 8 --batch 2 --epochs 1 \
        --max-length 14 --lr 1e-3 --checkpoint-every 3 "$@" </dev/null >log 2>&1 ||
        ! timeout -k 5 300 "${launch[@]}" "$bin/infer" --quiet --run run --input valid --out submission.csv --predictions predictions.csv --block-rows 7 \
            "$@" </dev/null >>log 2>&1; then
        echo "wrong: $what: $(tail -5 log)"
        wrong=$((wrong + 1))
        return
    fi
    if ! [ -s submission.csv ] || ! [ -s predictions.csv ] || ! [ -e run/last ]; then
        echo "wrong: $what: exit 0, and a result is missing: $(ls -R . | sed -n 1,40p) $(cat log)"
        wrong=$((wrong + 1))
        return
    fi
    got=$(hashes) runs=$((runs + 1))
    if [ -z "$wanted" ]; then
        wanted=$got
        echo "$got"
    fi
    [ "$got" = "$wanted" ] || { echo "wrong: $what: $got"; wrong=$((wrong + 1)); }
}
# WHAT LAUNCH...: shards of two CSVs, long enough that ranks of a host have several turns at them.
shards_of_csvs() {
    local what=$1 got i
    shift
    if [ ! -e long.csv ]; then
        cp "$here/sample/train-first.csv" long.csv
        for i in $(seq 6); do tail -n +2 "$here/sample/train-first.csv"; done >>long.csv
    fi
    rm -rf shards-made
    if ! timeout -k 5 300 "$@" "$bin/preprocess" --quiet --vocab "$here/sample/model" --shards 5 --out shards-made long.csv "$here/sample/train-second.csv" \
        </dev/null >log 2>&1; then
        echo "wrong: $what: $(tail -5 log)"
        wrong=$((wrong + 1))
        return
    fi
    got=$(cd shards-made && sha256sum ./* | hash_of) runs=$((runs + 1))
    if [ -z "$wanted_shards" ]; then
        wanted_shards=$got
        echo "shards $got"
    fi
    [ "$got" = "$wanted_shards" ] || { echo "wrong: $what: shards $got"; wrong=$((wrong + 1)); }
}
launch_np() { if [ "$1" = 1 ]; then echo env; else echo "mpirun -np $1"; fi; }
say() { echo "-- $*: $runs runs so far, $wrong wrong ($SECONDS s)"; }

part_tokens() {
    local np list=(1 2 3 4 5 6 7 8)
    [ -z "$short" ] || list=(1 3)
    for np in "${list[@]}"; do
        shards_of_csvs "shards of CSVs by np $np" $(launch_np "$np")
    done
}
part_ranks() { # MPI OPTIONS...
    local np threads list=(1 2 3 4 5 6 7 8) many=(1 2 3)
    [ -z "$short" ] || list=(1 3 8) many=(2)
    for np in "${list[@]}"; do
        for threads in "${many[@]}"; do
            one train "np $np, $threads threads $*" $(launch_np "$np") $([ "$np" = 1 ] || echo "$@") -- --threads "$threads"
        done
    done
}
part_tcp() {
    if [ -n "$short" ]; then
        one train "np 2 over TCP" mpirun -np 2 --mca btl tcp,self -- --threads 1
    else
        part_ranks --mca btl tcp,self
    fi
}
part_hosts() {
    local np threads
    for np in 2 3 4 5 6 7 8; do
        shards_of_csvs "shards of CSVs by np $np on two hosts" mpirun --host left:4,right:4 --map-by node -np "$np"
        shards_of_csvs "shards of CSVs by np $np, one host after the other" mpirun --host left:1,right:7 --map-by slot -np "$np"
        for threads in 1 2 3; do
            one train "np $np on two hosts, $threads threads" mpirun --host left:4,right:4 --map-by node -np "$np" -- --threads "$threads"
        done
    done
}
part_shards() {
    local shards list=(1 7 64)
    [ -z "$short" ] || list=(7)
    for shards in "${list[@]}"; do
        rm -rf "train-$shards"
        "$bin/shard" --quiet --shuffle no --shards "$shards" --out "train-$shards" train >/dev/null || wrong=$((wrong + 1))
        one "train-$shards" "$shards shards" mpirun -np 2 -- --threads 1
    done
}
part_grid() {
    local np threads set micro ranks=(1 2 3 5 8) many=(1 2) sets=(plain avx2 avx512) sizes=(14 40 999)
    [ -z "$short" ] || ranks=(1) many=(1)
    for set in "${sets[@]}"; do
        "$bin/train" --init random --config . --train train --out none --lanes 8 --batch 2 --max-length 14 --cpu "$set" --plan >log 2>&1 ||
            { echo "absent: $set: $(tail -1 log)"; continue; }
        for micro in "${sizes[@]}"; do
            for np in "${ranks[@]}"; do
                for threads in "${many[@]}"; do
                    one train "np $np, $threads threads, $set, $micro tokens" $(launch_np "$np") -- --threads "$threads" --cpu "$set" --micro-tokens "$micro"
                done
            done
        done
    done
}

for part in "${parts[@]}"; do
    part_"$part"
    say "$part"
done
echo "layouts: $runs runs, $wrong wrong; $wanted"
[ $wrong = 0 ] && [ $runs -gt 0 ]
