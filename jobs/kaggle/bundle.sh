#!/usr/bin/env bash
# Makes a folder to upload as a Kaggle data set: one static program, which needs neither MPI, Python, compiler nor network, the runs it scores with,
# and the notebook cell that does it.
#   jobs/kaggle/bundle.sh OUT [RUN...]          RUN: run folders of train; only the weights named by WEIGHTS (last) are taken, no optimizer state
#   WEIGHTS=best jobs/kaggle/bundle.sh out/kaggle runs/one runs/two
#   FRETSAW=path/to/a/static/fretsaw ...        take this program instead of building one (into BUILD, build/static)
set -euo pipefail
source=$(cd "$(dirname "$(realpath "$0")")/../.." && pwd)
[ $# -ge 1 ] && [ "${1#-}" = "$1" ] || { echo "usage: jobs/kaggle/bundle.sh OUT [RUN...]" >&2; exit 2; }
out=$1
shift
weights=${WEIGHTS:-last}
[ ! -e "$out" ] || [ -e "$out/fretsaw-bundle.txt" ] || [ -z "$(ls -A "$out")" ] ||
    { echo "bundle: $out is there and holds something else; name a new folder" >&2; exit 2; }
for run in "$@"; do
    [ -r "$run/run.json" ] || { echo "bundle: $run is no run folder (no run.json); name what train --out was given" >&2; exit 3; }
done

fretsaw=${FRETSAW:-}
if [ -z "$fretsaw" ]; then
    "$source/jobs/setup.sh" build
    build=${BUILD:-$source/build/static}
    mkdir -p "$build"
    { cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DFRETSAW_MPI=OFF -DFRETSAW_STATIC=ON -DFRETSAW_TESTS=OFF -DFRETSAW_BENCH=OFF &&
        cmake --build "$build" --target program_fretsaw; } >"$build/build.log" 2>&1 || { tail -n 30 "$build/build.log" >&2; exit 4; }
    fretsaw=$build/bin/fretsaw
fi
segments=$(readelf -l "$fretsaw")
[[ $segments != *INTERP* ]] || { echo "bundle: $fretsaw is not linked statically; configure with -DFRETSAW_STATIC=ON" >&2; exit 3; }

new=$out.new-$$
trap 'rm -rf "$new"' EXIT
mkdir -p "$new"
strip -o "$new/fretsaw" "$fretsaw"
chmod 755 "$new/fretsaw"
cp -r "$source/recipes" "$new/"
cp "$source/jobs/kaggle/cell.py" "$new/"
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
    echo "statically linked; runs: ${*:-none}"
    (cd "$new" && find . -type f ! -name fretsaw-bundle.txt | LC_ALL=C sort | xargs -d '\n' sha256sum)
} >"$new/fretsaw-bundle.txt"
cat >"$new/dataset-metadata.json" <<META
{"title": "fretsaw-bundle", "id": "${KAGGLE_USERNAME:-YOUR-NAME}/fretsaw-bundle", "licenses": [{"name": "other"}]}
META
rm -rf "$out"
mv "$new" "$out"
echo "$out: $(du -sh --apparent-size "$out" | cut -f1), of it the program $(du -h --apparent-size "$out/fretsaw" | cut -f1)"
echo "upload:  kaggle datasets create -p $out --dir-mode zip      (again: kaggle datasets version -p $out --dir-mode zip -m update)"
echo "then add it to a notebook and paste $out/cell.py into a cell"
