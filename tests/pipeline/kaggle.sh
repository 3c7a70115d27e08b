#!/usr/bin/env bash
# The bundle for Kaggle, made and used: in a root that holds nothing else, without network, as an ordinary user, it gives the same submission as the
# build over MPI; it trains there too; the notebook cell does the same through Python; a bad submission is not offered for sending.
#   kaggle.sh BIN MAKE_RUN SOURCE        FRETSAW_STATIC_PROGRAM: a static fretsaw that is there already
set -euo pipefail
bin=$1 make_run=$2 source=$3
. "$source/tests/support/doc_block.sh"
skip() { echo "skipped: $*"; exit 77; }
wrong() { echo "wrong: $*" >&2; exit 1; }
[ "$(id -u)" = 0 ] || skip "an empty root needs root"
unshare --net true 2>/dev/null || skip "this machine does not let root make network namespaces"
work=$(mktemp -d "${TMPDIR:-/tmp}/fretsaw-kaggle-XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
cd "$work"
sample=$source/sample
alone() { unshare --net setpriv --reuid 4242 --regid 4242 --clear-groups env -i PATH=/usr/bin:/bin HOME=/tmp LANG=C.UTF-8 "$@"; }
enclosed() { # a command of the empty root
    unshare --net env -i ${enclosed_environment:-} /usr/sbin/chroot --userspec=4242:4242 --groups= "$work/root" "$@"
}

"$bin/preprocess" --quiet --vocab "$sample/model" --out tokens "$sample/test.csv" >/dev/null
"$make_run" one "$sample/model" tokens 7 real 64 head expected.csv >/dev/null
"$bin/infer" --quiet --run one --csv "$sample/test.csv" --sample-submission "$sample/sample_submission.csv" --out by-mpi.csv

export BUILD=$work/static FRETSAW=${FRETSAW_STATIC_PROGRAM:-}
# The page's commands, with the source folder, a run and Kaggle's program where they take them to be.
mkdir runs tools
ln -s "$source/jobs" jobs
mv one runs/one
printf '#!/bin/sh\n[ "$1 $2 $3" = "datasets create -p" ] && grep -q fretsaw-bundle "$4/dataset-metadata.json"\n' >tools/kaggle
chmod 755 tools/kaggle
commands=$(doc_block "$source/docs/kaggle.md" bundle)
PATH="$PWD/tools:$PATH" bash -ec "$commands" || wrong "the page's commands: $commands"
mv out/kaggle bundle
code=0
FRETSAW=$bin/fretsaw "$source/jobs/kaggle/bundle.sh" other 2>/dev/null || code=$?
[ $code = 3 ] && [ ! -e other ] || wrong "a program that needs libraries was bundled"
code=0
FRETSAW=$PWD/bundle/fretsaw "$source/jobs/kaggle/bundle.sh" tokens 2>/dev/null || code=$?
[ $code = 2 ] && [ -e tokens/manifest.json ] || wrong "bundle.sh took a folder of other things"
bytes=$(du -sb --exclude=runs bundle | cut -f1)
[ "$bytes" -le $((30 << 20)) ] || wrong "the bundle without runs has $bytes bytes"
needed=$(readelf -d bundle/fretsaw)
[[ $needed != *NEEDED* ]] || wrong "the program needs libraries"
(cd bundle && tail -n +3 fretsaw-bundle.txt | sha256sum --quiet -c) || wrong "fretsaw-bundle.txt"

# Nothing but the bundle and the competition's files.
mkdir -p root/input root/working root/tmp root/bundle
cp -r bundle/. root/bundle/
cp "$sample"/{test.csv,sample_submission.csv,train-first.csv} root/input/
cp -r "$sample/model" root/input/model
chmod 1777 root/tmp
chown 4242:4242 root/working
f=/bundle/fretsaw
enclosed $f --version >/dev/null || wrong "the program does not start in an empty root"
enclosed $f infer --quiet --run /bundle/runs/one --csv /input/test.csv --sample-submission /input/sample_submission.csv --out /working/submission.csv ||
    wrong "infer in an empty root"
cmp by-mpi.csv root/working/submission.csv || wrong "another submission than over MPI"
enclosed $f infer --quiet --run /bundle/runs/one --csv /input/test.csv --sample-submission /input/sample_submission.csv --stub-below 1000 \
    --out /working/stub.csv --work /working/stub || wrong "the quick commit"
cmp "$sample/sample_submission.csv" root/working/stub.csv || wrong "the quick commit is not the sample"
enclosed $f preprocess --quiet --vocab /input/model --out /working/tokens /input/train-first.csv >/dev/null || wrong "preprocess in an empty root"
enclosed $f shard --quiet --shards 2 --sample 128 --out /working/shards /working/tokens || wrong "shard in an empty root"
enclosed $f train --quiet --recipe /bundle/recipes/tiny.conf --epochs 1 --config /input/model --train /working/shards --out /working/run ||
    wrong "train in an empty root"
[ -e root/working/run/provenance.json ] || wrong "train left no run"

# The cell, as the notebook runs it.
mkdir -m 777 notebook
cell() { alone FRETSAW_BUNDLE="$work/bundle" FRETSAW_COMPETITION="$sample" FRETSAW_WORK="$work/notebook" "$@" python3 bundle/cell.py; }
chmod 644 bundle/fretsaw # as data sets arrive
cell FRETSAW_STUB_BELOW=0 >cell.log 2>&1 || { cat cell.log >&2; wrong "the cell"; }
cmp by-mpi.csv notebook/submission.csv || wrong "the cell's submission"
grep -q '^kaggle competitions submit -c sample -f ' cell.log || { cat cell.log >&2; wrong "the cell prints no command"; }
! cell FRETSAW_DEVICE=cuda >cell.log 2>&1 && grep -q 'make it with jobs/kaggle/bundle.sh --cuda' cell.log || wrong "the cell asks a bundle without it for a GPU"
cell A=b >cell.log 2>&1 || { cat cell.log >&2; wrong "the cell's quick commit"; }
cmp "$sample/sample_submission.csv" notebook/submission.csv || wrong "the cell's quick commit"
chmod 755 bundle/fretsaw

# submit.sh: the line for a whole file, none for another.
export FRETSAW=$work/bundle/fretsaw
cp "$sample/sample_submission.csv" .
cp by-mpi.csv submission.csv
commands=$(doc_block "$source/docs/kaggle.md" submit)
bash -ec "$commands" >said || wrong "submit.sh"
grep -qx 'kaggle competitions submit -c jigsaw-multilingual-toxic-comment-classification -f submission.csv -m mBERT\\,\\ 2\\ epochs' said || { cat said >&2; wrong "the line of submit.sh"; }
sed '5d' by-mpi.csv >short.csv
! "$source/jobs/kaggle/submit.sh" my-competition "$sample/sample_submission.csv" short.csv >said 2>&1 && ! grep -q '^kaggle' said || wrong "a short file is offered"
echo "-- bundle without runs: $((bytes / 1024)) KiB"

# With programs for GPUs: in the empty root they find every library but the driver's; on the CPU, and on the twin of a device, they give what the programs over MPI give.
command -v nvcc >/dev/null || [ -x "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" ] || { echo "-- not tried: the bundle for GPUs, there is no nvcc here"; exit 0; }
export FRETSAW=${FRETSAW_STATIC_PROGRAM:-$work/bundle/fretsaw} CUDA_ARCHITECTURES=75
commands=$(doc_block "$source/docs/kaggle.md" cuda)
bash -ec "$commands" || wrong "the page's commands: $commands"
mv out/kaggle gpu
(cd gpu && tail -n +3 fretsaw-bundle.txt | sha256sum --quiet -c) || wrong "fretsaw-bundle.txt for GPUs"
rm -rf root/bundle
cp -r gpu root/bundle
on_gpu=(/bundle/cuda/loader --library-path /bundle/cuda/lib /bundle/cuda/bin/infer --quiet --run /bundle/runs/one --csv /input/test.csv --sample-submission
    /input/sample_submission.csv)
enclosed "${on_gpu[@]}" --device cpu --out /working/loaded.csv || wrong "infer by the bundle's loader"
cmp by-mpi.csv root/working/loaded.csv || wrong "another submission by the bundle's loader"
code=0
enclosed_environment=FRETSAW_DEVICE_LIBRARY=/bundle/cuda/fretsaw_cuda.so enclosed "${on_gpu[@]}" --device cuda --out /working/none.csv >said 2>&1 || code=$?
[ $code = 5 ] && grep -q 'no NVIDIA driver' said || { cat said >&2; wrong "no device: exit $code"; }
twin=$(dirname "$bin")/tests/fretsaw_twin.so
[ -e "$twin" ] || { echo "-- not tried: the cell on the twin of a device, which this build does not have"; exit 0; }
cp "$twin" twin.so
FRETSAW_DEVICE_LIBRARY=$PWD/twin.so "$bin/infer" --quiet --device cuda --run runs/one --csv "$sample/test.csv" --sample-submission "$sample/sample_submission.csv" --out twin.csv
! cmp -s by-mpi.csv twin.csv || wrong "the twin's scores are the CPU's: it was not used"
chmod 644 gpu/cuda/loader gpu/cuda/bin/* gpu/fretsaw
alone FRETSAW_BUNDLE="$work/gpu" FRETSAW_COMPETITION="$sample" FRETSAW_WORK="$work/notebook" FRETSAW_STUB_BELOW=0 FRETSAW_DEVICE=cuda FRETSAW_DEVICE_LIBRARY="$work/twin.so" \
    python3 bundle/cell.py >cell.log 2>&1 || { cat cell.log >&2; wrong "the cell on the twin"; }
cmp twin.csv notebook/submission.csv || wrong "the cell's submission on the twin"
echo "-- bundle for GPUs without runs: $(du -sm --exclude=runs gpu | cut -f1) MiB"
