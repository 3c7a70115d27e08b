#!/usr/bin/env bash
# infer from end to end on the project's sample with made-up runs: against each row scored alone, over ranks, threads, micro-batches and resumes.
#   infer.sh BIN MAKE_RUN SOURCE [mpi]
set -uo pipefail
bin=$1 make_run=$2 sample=$3/sample
most=1 few=1
command -v mpirun >/dev/null && [ "${4:-}" = mpi ] && most=4 few=2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0
wrong() { printf 'wrong: %s\n' "$*"; failures=$((failures + 1)); }
launch() { # NP COMMAND...
    local np=$1
    shift
    if [ "$np" = 1 ]; then "$@"; else mpirun -np "$np" "$@"; fi
}
expect() { # CODE TEXT COMMAND...
    local want=$1 text=$2 out code
    shift 2
    out=$("$@" 2>&1)
    code=$?
    [ $code = "$want" ] || wrong "exit $code, not $want: $*: $out"
    grep -q -e "$text" <<<"$out" || wrong "no '$text': $*: $out"
}
same() { cmp "$1" "$2" || wrong "$3"; }

"$bin/preprocess" --quiet --vocab "$sample/model" --out tokens/test "$sample/test.csv" >/dev/null || exit 1
"$bin/preprocess" --quiet --vocab "$sample/model" --out tokens/valid "$sample/validation.csv" >/dev/null || exit 1
"$make_run" run/a "$sample/model" tokens/test 1 real 16 head expected-a.csv || exit 1
"$make_run" run/b "$sample/model" tokens/test 2 padded 24 head-tail expected-b.csv || exit 1
"$make_run" run/two "$sample/model" tokens/test 3 real 20 tail expected-two.csv insult,toxic || exit 1

# Each row alone gives the same float32: printed with nine digits on one side and as short as can be on the other.
for run in a b two; do
    "$bin/infer" --quiet --run run/$run --input tokens/test --out $run.csv --threads 1 --cpu plain || wrong "run $run"
    python3 - $run.csv expected-$run.csv <<'P' || wrong "scores of $run are not those of its rows alone"
import csv, struct, sys
f32 = lambda x: struct.pack('<f', float(x))
a, b = (list(csv.reader(open(p, newline=''))) for p in sys.argv[1:])
assert a[0] == b[0] and len(a) == len(b) > 700, (a[0], b[0], len(a), len(b))
for x, y in zip(a[1:], b[1:]):
    assert x[0] == y[0] and [f32(v) for v in x[1:]] == [f32(v) for v in y[1:]], (x, y)
assert len({tuple(x[1:]) for x in a}) > 300
P
done

# One set of bytes.
for np in 1 2 3 4; do
    [ $np -le $most ] || continue
    for threads in 1 2; do
        launch $np "$bin/infer" --quiet --run run/a --input tokens/test --out "np$np-$threads.csv" --work "w$np-$threads" --threads $threads \
            --micro-tokens $((16 + 61 * np)) --block-rows $((20 + 37 * np)) || wrong "np $np threads $threads"
        same a.csv "np$np-$threads.csv" "np $np, $threads threads: other bytes"
    done
done

# Resume: some blocks gone, one damaged, another number of ranks.
"$bin/infer" --quiet --run run/a --input tokens/test --out r1.csv --work resume --block-rows 50
rm resume/*/rows-*50.scores
printf x | dd of="$(ls resume/*/*.scores | tail -1)" bs=1 seek=130 conv=notrunc 2>/dev/null
expect 0 "7 of 16 blocks of 50 rows were finished before" launch $most "$bin/infer" --run run/a --input tokens/test --out r2.csv --work resume --block-rows 50
same a.csv r2.csv "resumed: other bytes"
expect 0 "r2.csv is already done and whole" "$bin/infer" --run run/a --input tokens/test --out r2.csv --work resume --block-rows 50
sed '2s/[1-8]$/9/; 2s/0$/9/' a.csv >r2.csv
"$bin/infer" --quiet --run run/a --input tokens/test --out r2.csv --work resume --block-rows 50
same a.csv r2.csv "a changed submission of the same length was left"
expect 75 "stopped with 0 of 16 blocks" env SLURM_JOB_END_TIME=1 "$bin/infer" --run run/a --input tokens/test --out r3.csv --work stopped --block-rows 50
[ -e r3.csv ] && wrong "a stopped job left a submission"

# From the CSV, with its ids in the sample's order.
{ head -1 "$sample/sample_submission.csv"; tail -n +2 "$sample/sample_submission.csv" | tac; } >sample.csv
launch $few "$bin/infer" --quiet --run run/a --csv "$sample/test.csv" --sample-submission sample.csv --out csv.csv || wrong "from the CSV"
{ head -1 a.csv; tail -n +2 a.csv | tac; } >turned.csv
same turned.csv csv.csv "from the CSV in the sample's order: other bytes"
expect 0 "csv.csv: valid: 800 records" "$bin/infer" --validate csv.csv --sample-submission sample.csv
expect 6 "line 2: not in the sample's order" "$bin/infer" --validate csv.csv --sample-submission "$sample/sample_submission.csv"
sed '801s/,.*/,nan/' csv.csv >nan.csv
expect 6 "line 801: not a finite number: nan" "$bin/infer" --validate nan.csv --sample-submission sample.csv
{ cat sample.csv; echo 'ключ "é",0.5' | sed 's/"/""/g; s/^\(.*\),/"\1",/'; } >utf8.csv
expect 3 'have no score in the input: "ключ "é""' "$bin/infer" --run run/a --input tokens/test --sample-submission utf8.csv --out no.csv
# What cannot be written is told before anything is scored.
mkdir folder
for option in out predictions report; do
    expect 4 "folder: is a folder" "$bin/infer" --run run/a --input tokens/test --work early --out early.csv --$option folder
done
expect 4 "a file stands where a folder is needed" "$bin/infer" --run run/a --input tokens/test --work early --out a.csv/x.csv
[ ! -e early ] || wrong "something was scored for an output that cannot be written"
# Rows of all ranks are counted.
expect 0 "score 800 of 800 (100%) rows" launch $few "$bin/infer" --run run/a --input tokens/test --out counted.csv --work counted --block-rows 30
cp sample.csv own.csv
expect 2 "would be overwritten" "$bin/infer" --run run/a --input tokens/test --sample-submission own.csv --out ./own.csv
cmp -s sample.csv own.csv || wrong "the sample was overwritten"

# The mean of runs is the blend of their predictions.
launch $few "$bin/infer" --quiet --run run/a,run/b --input tokens/test --out mean.csv || wrong "two runs"
"$bin/infer" --quiet --blend a.csv,b.csv --out blend.csv || wrong "blend"
same mean.csv blend.csv "the mean of two runs is not the blend of their predictions"
"$bin/infer" --quiet --run run/b,run/a,run/b --input tokens/test --out bab.csv || wrong "three runs"
"$bin/infer" --quiet --run run/a,run/b,run/b --input tokens/test --out abb.csv || wrong "three runs in another order"
same bab.csv abb.csv "the mean of runs depends on their order"
"$bin/infer" --quiet --blend a.csv,b.csv --blend-weights 1,0 --sample-submission sample.csv --out blend.csv || wrong "blend with weights"
same turned.csv blend.csv "a blend of all and nothing"
python3 - a.csv b.csv mean.csv <<'P' || wrong "the mean"
import csv, struct, sys
f32 = lambda x: struct.unpack('<f', struct.pack('<f', float(x)))[0]
a, b, m = (list(csv.reader(open(p, newline='')))[1:] for p in sys.argv[1:])
assert all(f32(z[1]) == f32((f32(x[1]) + f32(y[1])) / 2) for x, y, z in zip(a, b, m))
P

# AUC from the data's own labels, and the same from a file.
"$bin/infer" --quiet --run run/a --input tokens/valid --out v.csv --report v.json >auc-1.txt || wrong "labels in the input"
launch $few "$bin/infer" --quiet --run run/a --input tokens/valid --out v2.csv --truth "$sample/validation.csv" >auc-2.txt || wrong "labels in a file"
same auc-1.txt auc-2.txt "AUC differs between the input's labels and --truth"
python3 - v.csv "$sample/validation.csv" v.json <<'P' || wrong "AUC per language"
import csv, json, sys
score = {r[0]: float(r[1]) for r in list(csv.reader(open(sys.argv[1], newline='')))[1:]}
rows = list(csv.DictReader(open(sys.argv[2], newline='')))
report = json.load(open(sys.argv[3]))['toxic']
def auc(rows):
    p = [score[r['id']] for r in rows if float(r['toxic']) >= 0.5]; n = [score[r['id']] for r in rows if float(r['toxic']) < 0.5]
    return sum((x > y) + 0.5 * (x == y) for x in p for y in n) / (len(p) * len(n))
assert abs(report['all']['auc'] - auc(rows)) < 1e-12
langs = {r['lang'] for r in rows}
assert langs == set(report['lang']) and len(langs) > 1
for l in langs:
    assert abs(report['lang'][l]['auc'] - auc([r for r in rows if r['lang'] == l])) < 1e-12, l
P

# Columns by name out of several labels; decimals; the stub.
"$bin/infer" --quiet --run run/two --input tokens/test --sample-submission "$sample/sample_submission.csv" --out t.csv --decimals 3 || wrong "one of two labels"
python3 - t.csv two.csv <<'P' || wrong "one of two labels"
import csv, sys
a, b = (list(csv.reader(open(p, newline=''))) for p in sys.argv[1:])
assert a[0] == ['id', 'toxic'] and all(len(x[1]) == 5 and abs(float(x[1]) - float(y[2])) <= 0.000501 for x, y in zip(a[1:], b[1:]))
P
expect 0 "is a copy of the sample" "$bin/infer" --run run/a --input tokens/test --sample-submission sample.csv --stub-below 801 --out stub.csv
same sample.csv stub.csv "the stub"

# What must be refused.
sed '$d' sample.csv >short.csv
expect 3 "1 of the 800 ids of the input are not in short.csv" "$bin/infer" --run run/a --input tokens/test --sample-submission short.csv --out no.csv
{ cat sample.csv; echo zz,0.5; } >long.csv
expect 3 '1 of the 801 ids of long.csv have no score in the input: "zz"' launch $few "$bin/infer" --run run/a --input tokens/test --sample-submission long.csv --out no.csv
cp -r run/a run/other && sed -i 's/lower=yes/lower=no/' run/other/run.json && "$bin/reseal" run/other/run.json
expect 3 "it has 'lower=yes' where the run has 'lower=no'" launch $few "$bin/infer" --run run/other --input tokens/test --out no.csv
"$bin/preprocess" --quiet --match rust --vocab "$sample/model" --out tokens/rust "$sample/test.csv" >/dev/null || wrong "--match rust"
expect 3 "it has 'match=rust' where the run has 'match=python'" launch $few "$bin/infer" --run run/a --input tokens/rust --out no.csv
expect 3 "made by another tokenizer: it has 'match=rust' where 'match=python' is wanted" "$bin/shard" --out mixed tokens/test tokens/rust
cp -r run/a run/vocab && sed -i 's/vocab=./vocab=x/' run/vocab/run.json && "$bin/reseal" run/vocab/run.json
expect 3 "where the run has 'vocab=x" "$bin/infer" --run run/vocab --input tokens/test --out no.csv
expect 3 "only runs of the same labels" "$bin/infer" --run run/a,run/two --input tokens/test --out no.csv
expect 3 "no weights named 'best'" "$bin/infer" --run run/a --weights best --input tokens/test --out no.csv
expect 2 "less than the run's maximum length" launch $few "$bin/infer" --run run/a --input tokens/test --micro-tokens 15 --work none --out no.csv
expect 2 "give one of them" "$bin/infer" --run run/a --blend a.csv --out no.csv
expect 2 "to score" "$bin/infer" --run run/a --out no.csv
printf 'id,toxic\n0,yes\n' >words.csv
expect 3 "is no label" "$bin/infer" --run run/a --input tokens/test --truth words.csv --out no.csv
cp -r run/a run/cut && head -c 20000 run/a/step-000007/model.safetensors >run/cut/step-000007/model.safetensors
expect 3 "model.safetensors" launch $few "$bin/infer" --run run/cut --input tokens/test --work none --out no.csv
cp -r run/a run/flipped && printf '\377' | dd of=run/flipped/step-000007/model.safetensors bs=1 seek=150000 conv=notrunc 2>/dev/null
expect 3 "not those of the run: state hash" launch $few "$bin/infer" --run run/flipped --input tokens/test --work none --out no.csv
[ -e no.csv ] && wrong "a refused job left a submission"
exit $((failures > 0))
