# Sourced by the tests of train: made-up data, short runs, comparison of runs.
#   BIN (folder of the programs) and MAKE (train_make_data) come as the first two arguments of each test.
set -uo pipefail
. "$(dirname "$0")/../../jobs/mpi.sh"
bin=$1 make=$2
failures=0
scratch=$(mktemp -d "${TMPDIR:-/tmp}/fretsaw-train-XXXXXX")
[ -n "${FRETSAW_KEEP:-}" ] || trap 'rm -rf "$scratch"' EXIT
mpi=$([ "${3:-}" = mpi ] && command -v mpirun || true)

wrong() {
    echo "wrong: $*"
    failures=$((failures + 1))
}
# NAME rows labels files seed vocabulary longest unlabelled
data() { "$make" "$scratch" "$@" || exit 1; }
said() { tail -3 "$scratch/log" | cut -c1-300; }
# RANKS OUT OPTION...: a run on the data; its exit code, output in $scratch/log
train() {
    local ranks=$1 out=$2
    shift 2
    local launch=()
    [ "$ranks" = 1 ] || launch=("$mpi" -np "$ranks")
    timeout -k 5 300 "${launch[@]}" "$bin/train" --init random --config "$scratch" --train "$scratch/train" --out "$scratch/$out" "$@" >"$scratch/log" 2>&1
}
# CODE TEXT train...: exit code and a text of the message
expect() {
    local want=$1 text=$2 code
    shift 2
    "$@"
    code=$?
    [ $code = "$want" ] || wrong "exit $code, not $want: $* ($(said))"
    grep -q -- "$text" "$scratch/log" || wrong "no '$text' said by: $* ($(said))"
}
# A B: the files of two runs that must be the same
same_run() {
    local f
    [ -d "$scratch/$2" ] || { wrong "no run $2 ($3)"; return; }
    for f in metrics.jsonl recipe.conf run.json provenance.json last best; do
        cmp -s "$scratch/$1/$f" "$scratch/$2/$f" || wrong "$f differs between $1 and $2 ($3)"
    done
    for f in $(cd "$scratch/$1" && ls -d epoch-*) "$(head -1 "$scratch/$1/last")"; do
        diff -rq "$scratch/$1/$f" "$scratch/$2/$f" >/dev/null || wrong "$f differs between $1 and $2 ($3)"
    done
    [ -z "$(find "$scratch/$2" -name '*tmp*')" ] || wrong "temporary files are left in $2 ($3)"
}
finish() {
    [ $failures = 0 ] && echo ok
    exit $((failures > 0))
}
