#!/usr/bin/env bash
# Makes a folder to upload as a Kaggle data set: one static program, which needs neither MPI, Python, compiler nor network, the runs it scores with,
# and the notebook cell that does it.
#   jobs/kaggle/bundle.sh OUT [RUN...]          RUN: run folders of train; only the weights named by WEIGHTS (last) are taken, no optimizer state
#   WEIGHTS=best jobs/kaggle/bundle.sh out/kaggle runs/one runs/two
#   jobs/kaggle/bundle.sh --cuda OUT [RUN...]   programs for the notebook's GPU beside it, with every library they need but the driver
#   FRETSAW=path/to/a/static/fretsaw ...        take this program instead of building one (into BUILD, build/static; with --cuda also BUILD-cuda)
#   CUDA_ARCHITECTURES="75" ...                 compute capabilities to build for (75;80;89;90: T4, A100, L4, H100)
set -euo pipefail
source=$(cd "$(dirname "$(realpath "$0")")/../.." && pwd)
cuda=no
[ "${1:-}" != --cuda ] || { cuda=yes; shift; }
[ $# -ge 1 ] && [ "${1#-}" = "$1" ] || { echo "usage: jobs/kaggle/bundle.sh [--cuda] OUT [RUN...]" >&2; exit 2; }
out=$1
shift
weights=${WEIGHTS:-last}
[ ! -e "$out" ] || [ -e "$out/fretsaw-bundle.txt" ] || [ -z "$(ls -A "$out")" ] ||
    { echo "bundle: $out is there and holds something else; name a new folder" >&2; exit 2; }
for run in "$@"; do
    [ -r "$run/run.json" ] || { echo "bundle: $run is no run folder (no run.json); name what train --out was given" >&2; exit 3; }
done

build=${BUILD:-$source/build/static}
make_in() { # FOLDER TARGETS OPTION...: targets with spaces between
    local folder=$1 targets=$2
    mkdir -p "$folder"
    { cmake -S "$source" -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DFRETSAW_MPI=OFF -DFRETSAW_TESTS=OFF -DFRETSAW_BENCH=OFF "${@:3}" &&
        cmake --build "$folder" --target $targets; } >"$folder/build.log" 2>&1 || { tail -n 30 "$folder/build.log" >&2; exit 4; }
}
fretsaw=${FRETSAW:-}
[ -n "$fretsaw" ] && [ $cuda = no ] || "$source/jobs/setup.sh" build
if [ -z "$fretsaw" ]; then
    make_in "$build" program_fretsaw -DFRETSAW_STATIC=ON
    fretsaw=$build/bin/fretsaw
fi
[ $cuda = no ] ||
    make_in "$build-cuda" "program_infer program_train fretsaw_cuda" -DFRETSAW_CUDA=ON "-DFRETSAW_CUDA_ARCHITECTURES=${CUDA_ARCHITECTURES:-75;80;89;90}"
segments=$(readelf -l "$fretsaw")
[[ $segments != *INTERP* ]] || { echo "bundle: $fretsaw is not linked statically; configure with -DFRETSAW_STATIC=ON" >&2; exit 3; }

new=$out.new-$$
trap 'rm -rf "$new"' EXIT
mkdir -p "$new"
strip -o "$new/fretsaw" "$fretsaw"
chmod 755 "$new/fretsaw"
cp -r "$source/recipes" "$new/"
cp "$source/jobs/kaggle/cell.py" "$new/"
# A static program cannot open the driver's library. So these come with the C library and the loader of this machine, which the cell starts them by:
# whatever C library the image has, theirs is the one they were linked with.
if [ $cuda = yes ]; then
    mkdir -p "$new/cuda/bin" "$new/cuda/lib"
    strip -o "$new/cuda/bin/infer" "$build-cuda/bin/infer"
    strip -o "$new/cuda/bin/train" "$build-cuda/bin/train"
    strip -o "$new/cuda/fretsaw_cuda.so" "$build-cuda/fretsaw_cuda.so"
    beside=$(dirname "$(sed -n 's/^FRETSAW_CUBLASLT:[A-Z]*=//p' "$build-cuda/CMakeCache.txt")")
    needed=$(for file in "$build-cuda"/bin/{infer,train} "$build-cuda/fretsaw_cuda.so"; do LD_LIBRARY_PATH=$beside ldd "$file"; done)
    [[ $needed != *"not found"* ]] || { printf 'bundle: a library is missing here: %s\n' "$(grep 'not found' <<<"$needed" | sort -u)" >&2; exit 4; }
    while read -r library; do cp -L "$library" "$new/cuda/lib/"; done < <(grep -oE '/[^ ]+' <<<"$needed" | sort -u)
    mv "$new/cuda/lib"/ld-linux-*.so.2 "$new/cuda/loader"
fi
for run in "$@"; do
    name=$(basename "$(realpath "$run")")
    which=$weights
    if [ -f "$run/$weights" ]; then which=$(head -n 1 "$run/$weights"); fi
    [ -r "$run/$which/model.safetensors" ] || { echo "bundle: $run has no weights '$weights' ($run/$which/model.safetensors)" >&2; exit 3; }
    [ ! -e "$new/runs/$name" ] || { echo "bundle: two runs are called $name; rename one" >&2; exit 2; }
    mkdir -p "$new/runs/$name/$which"
    for file in run.json recipe.conf provenance.json metrics.jsonl; do [ ! -e "$run/$file" ] || cp "$run/$file" "$new/runs/$name/"; done
    for file in config.json vocab.txt model.safetensors state.json; do [ ! -e "$run/$which/$file" ] || cp "$run/$which/$file" "$new/runs/$name/$which/"; done
    printf '%s\n' "$which" >"$new/runs/$name/last" # infer takes `last` unless told otherwise
done
{
    "$new/fretsaw" --version
    echo "statically linked$([ $cuda = no ] || echo ", and for GPUs"); runs: ${*:-none}"
    (cd "$new" && find . -type f ! -name fretsaw-bundle.txt | LC_ALL=C sort | xargs -d '\n' sha256sum)
} >"$new/fretsaw-bundle.txt"
cat >"$new/dataset-metadata.json" <<META
{"title": "fretsaw-bundle", "id": "${KAGGLE_USERNAME:-YOUR-NAME}/fretsaw-bundle", "licenses": [{"name": "other"}]}
META
rm -rf "$out"
mv "$new" "$out"
echo "$out: $(du -sh --apparent-size "$out" | cut -f1), of it the program $(du -h --apparent-size "$out/fretsaw" | cut -f1)$(
    [ $cuda = no ] || echo ", those for GPUs with their libraries $(du -sh --apparent-size "$out/cuda" | cut -f1)")"
echo "upload:  kaggle datasets create -p $out --dir-mode zip      (again: kaggle datasets version -p $out --dir-mode zip -m update)"
echo "then add it to a notebook and paste $out/cell.py into a cell"
