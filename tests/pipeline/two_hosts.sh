#!/usr/bin/env bash
# Two hosts that share no memory, ranks dealt over them in several ways, messages over TCP: the same bytes as one rank.
#   two_hosts.sh BIN SOURCE
set -euo pipefail
bin=$1 source=$2
. "$source/tests/support/hosts.sh"
hosts_enclose "$0" "$@"
. "$source/jobs/mpi.sh"
cd "$scratch"
sample=$source/sample
say() { echo "-- $* ($SECONDS s)"; }
wrong() { echo "wrong: $*" >&2; exit 1; }

hosts_start left right
[ "$(host_run left hostname) $(host_run right hostname)" = "left right" ] || wrong "the hosts' names"
over() { # PLACEMENT... -- PROGRAM...: mpirun's options, then the program
    local placement=()
    while [ "$1" != -- ]; do placement+=("$1"); shift; done
    shift
    timeout -k 5 100 mpirun "${placement[@]}" "$@" </dev/null
}

# A second model, wide enough in its vocabulary for several stripes of the optimizer, so that both hosts own some.
mkdir wide
sed 's/"vocab_size": [0-9]*/"vocab_size": 200000/' "$sample/model/config.json" >wide/config.json
cp "$sample/model/vocab.txt" wide/

prepare() { # FOLDER LAUNCH...
    local to=$1
    shift
    "$@" "$bin/preprocess" --quiet --vocab "$sample/model" --split 100000 --out "$to/tokens" "$sample/train-first.csv" "$sample/train-second.csv" >/dev/null
    "$@" "$bin/preprocess" --quiet --vocab "$sample/model" --split 20000 --out "$to/test" "$sample/test.csv" >/dev/null
    "$@" "$bin/shard" --quiet --out "$to/shards" --shards 3 --sample 2000 --seed 7 "$to/tokens"
}
small() { # RUN LAUNCH...
    local run=$1
    shift
    "$@" "$bin/train" --threads 1 --recipe "$source/recipes/tiny.conf" --config "$sample/model" --epochs 1 --checkpoint-every 10 \
        --train one/shards --valid one/test-labelled --out "$run"
}
large() { # RUN LAUNCH...
    local run=$1
    shift
    "$@" "$bin/train" --threads 1 --recipe "$source/recipes/tiny.conf" --config wide --max-steps 3 --train one/shards --out "$run"
}
score() { # RUN OUT LAUNCH...
    local run=$1 out=$2
    shift 2
    "$@" "$bin/infer" --quiet --threads 1 --run "$run" --input one/test --block-rows 64 --work "$out.work" --sample-submission "$sample/sample_submission.csv" --out "$out"
}
same_run() { # RUN RUN
    local file
    for file in metrics.jsonl recipe.conf run.json provenance.json; do
        cmp "$1/$file" "$2/$file" || wrong "$2/$file"
    done
    diff -r "$1/epoch-1" "$2/epoch-1" && diff -r "$1/$(head -1 "$1/last")" "$2/$(head -1 "$2/last")" || wrong "weights of $2"
}

say "one rank"
prepare one
"$bin/preprocess" --quiet --vocab "$sample/model" --out one/test-labelled "$sample/validation.csv" >/dev/null
small small-one >log 2>&1 || { cat log; exit 1; }
large large-one >log 2>&1 || { cat log; exit 1; }
score small-one one.csv

say "preprocess and shard on both hosts"
prepare both over --host left:2,right:1 --
diff -r one/tokens both/tokens && diff -r one/shards both/shards && diff -r one/test both/test || wrong "parts or shards made on two hosts"

# NAME PLACEMENT: blocks of ranks; ranks in turn, so that a host's ranks are not neighbours; uneven hosts; a rank a host.
while read -r name placement; do
    say "train: $name"
    small "small-$name" over $placement -- >log 2>&1 || { cat log; wrong "train with $placement"; }
    grep -q 'ranks on 2 nodes' log || { cat log; wrong "the ranks of '$placement' were not on two hosts"; }
    ! grep -q 'keeps a copy of its own' log || { cat log; wrong "memory was not shared within a host"; }
    same_run small-one "small-$name"
done <<'END'
blocks --host left:2,right:2 -np 4
turns --host left:2,right:2 -np 4 --map-by node
uneven --host left:2,right:1 -np 3
single --host left:1,right:1 -np 2
END

for placement in "--map-by node" "--map-by slot"; do
    say "train: several stripes, $placement"
    rm -rf large-two
    large large-two over --host left:2,right:2 -np 4 $placement -- >log 2>&1 || { cat log; wrong "train of the large model"; }
    same_run large-one large-two
done

say "infer on both hosts"
score small-blocks both.csv over --host left:2,right:1 --
cmp one.csv both.csv || wrong "the submission made on two hosts"

say "a rank of the other host dies: all end soon"
over --host left:1,right:1 -np 2 -- "$bin/train" --quiet --threads 1 --recipe "$source/recipes/tiny.conf" --config "$sample/model" --epochs 500 \
    --checkpoint-every 10 --train one/shards --out dying >log 2>&1 &
running=$!
hosts_wait_for 60 "a checkpoint" test -e dying/last || { cat log; exit 1; }
host_run right pkill -KILL -x train
begin=$SECONDS code=0
wait $running || code=$?
[ $code != 0 ] && [ $code != 124 ] && [ $((SECONDS - begin)) -le 10 ] || wrong "exit $code, $((SECONDS - begin)) s after a rank was killed"
say "passed"
