#!/bin/sh
# CSV to shards, by preprocess and shard and by preprocess --shards alone, on one and two ranks, beside pandas with nanotoken and with the Rust tokenizers of transformers; the peak
# memory of each rank and of all, which --memory 300M bounds whatever TIMES is.
#     bench/preprocess.sh [TIMES [PEER...]]      TIMES: how often comments/train.csv is repeated (10); PEER: nano hf (both) or none
# All of it is done FRETSAW_ROUNDS times (1), the sides in turns, and of each the fastest round counts.
# FRETSAW_PEERS is a python with pandas, transformers, nanotoken, h5py and hdf5plugin; FRETSAW_DATA the data folder (../shared/data beside the
# source unless set); FRETSAW_BUILD the build folder (build/bench below the source unless set). TMPDIR needs about 1 GB for TIMES 10.
# On two cores the peers use both, as do two ranks. Start-up is told apart: of the programs a run over four rows, of the peers their imports.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
build=${FRETSAW_BUILD:-$source/build/bench}
data=${FRETSAW_DATA:-$source/../shared/data}
times=${1:-10}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- nano hf
vocab=$data/vocab/bert-base-multilingual-uncased
[ -r "$data/comments/train.csv" ] || { echo "preprocess.sh: no $data/comments/train.csv; set FRETSAW_DATA" >&2; exit 3; }
[ -n "${FRETSAW_PEERS:-}" ] || { echo "preprocess.sh: set FRETSAW_PEERS to a python with pandas, transformers, nanotoken, h5py, hdf5plugin" >&2; exit 2; }
[ -f "$build/build.ninja" ] || cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release >/dev/null
ninja -C "$build" preprocess shard >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
csv=$work/in.csv
cp "$data/comments/train.csv" "$csv" && chmod u+w "$csv"
i=1
while [ "$i" -lt "$times" ]; do
    tail -n +2 "$data/comments/train.csv" >>"$csv"
    i=$((i + 1))
done
head -n 5 "$csv" >"$work/few.csv"
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# Each rank goes through this: it notes the peak of its program.
cat >"$work/rank.py" <<'PYTHON'
import os, resource, subprocess, sys
code = subprocess.run(sys.argv[2:]).returncode
with open(f"{sys.argv[1]}/peak-{os.environ.get('OMPI_COMM_WORLD_RANK', '0')}", "w") as f:
    f.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3))
sys.exit(code)
PYTHON

# Seconds of wall time and the peaks of all ranks: run STAGE RANKS PROGRAM ARGUMENTS...
run()
{
    stage=$1 ranks=$2
    shift 2
    "$FRETSAW_PEERS" - "$stage" "$ranks" "$work" "$vocab" "$@" <<'PYTHON'
import json, subprocess, sys, time
stage, ranks, work, vocab, *command = sys.argv[1:]
launch = ["mpirun", "-np", ranks] if ranks != "1" else []
noted = launch + [sys.executable, "-S", work + "/rank.py", work]

def seconds(words):
    begin = time.perf_counter()
    subprocess.run(noted + words, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin

small = [w.replace("/in.csv", "/few.csv").replace("/tokens", "/few-tokens").replace("/shards", "/few-shards").replace("/direct", "/few-direct") for w in command]
start = seconds(small)
whole = seconds(command)
peaks = [float(open(f"{work}/peak-{r}").read()) for r in range(int(ranks))]
with open(work + "/times.json", "a") as f:
    f.write(json.dumps({"stage": stage, "ranks": int(ranks), "seconds": whole, "start": start, "memory": peaks}) + "\n")
PYTHON
}

for round in $(seq "${FRETSAW_ROUNDS:-1}"); do
    for ranks in 1 2; do
        rm -rf "$work/tokens" "$work/shards" "$work/direct" "$work"/few-*/
        run preprocess $ranks "$build/bin/preprocess" --quiet --memory 300M --vocab "$vocab" --out "$work/tokens" "$csv"
        run shard $ranks "$build/bin/shard" --quiet --memory 300M --shards 8 --out "$work/shards" "$work/tokens"
        run direct $ranks "$build/bin/preprocess" --quiet --memory 300M --shards 8 --vocab "$vocab" --out "$work/direct/tokens" "$csv"
        diff -r "$work/shards" "$work/direct/tokens" >/dev/null || { echo "preprocess.sh: the shards of the two ways differ" >&2; exit 6; }
    done
    for peer in "$@"; do
        [ "$peer" != none ] || continue
        "$FRETSAW_PEERS" "$source/bench/preprocess_peers.py" "$csv" "$vocab" "$work/peer.h5" "$peer" >"$work/peer-$peer-$round.json"
        rm -f "$work/peer.h5"
    done
done
"$FRETSAW_PEERS" "$source/bench/preprocess_report.py" "$work"
