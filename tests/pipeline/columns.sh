#!/usr/bin/env bash
# Own headings, delimiter and mark for unlabelled rows, named once: to preprocess. What reads such a CSV again takes them from the run or from the rows.
#   columns.sh BIN SOURCE
set -euo pipefail
bin=$1 source=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/fretsaw-columns-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
wrong() { cat said >&2; echo "wrong: $*" >&2; exit 1; }
exits() { # CODE COMMAND... : output in the file `said`
    local want=$1 code=0
    shift
    "$@" >said 2>&1 || code=$?
    [ $code = "$want" ] || wrong "exit $code, not $want: $*"
}
says() { grep -qF -- "$1" said || wrong "not said: $1"; }
python3 - "$source/sample" <<'P'
import csv, sys
rows = list(csv.DictReader(open(f"{sys.argv[1]}/validation.csv", newline="", encoding="utf-8")))[:80]
def write(name, head, fields, some):
    with open(name, "w", newline="", encoding="utf-8") as f:
        out = csv.writer(f, delimiter=";", lineterminator="\n")
        out.writerow(head)
        out.writerows(fields(i, r) for i, r in enumerate(some))
write("train.csv", ["key", "body", "rude"], lambda i, r: ["k" + r["id"], r["comment_text"], -1 if i == 3 else i % 2], rows)
write("test.csv", ["key", "body"], lambda i, r: ["k" + r["id"], r["comment_text"]], rows[:40])
write("truth.csv", ["id", "key", "rude"], lambda i, r: [i, "k" + r["id"], -1 if i == 3 else i % 2], rows[:40])
P
own=(--id-column key --text-column body --delimiter semicolon)
exits 3 "$bin/preprocess" --vocab "$source/sample/model" --out no "${own[@]}" --labels harsh train.csv
says "no label column (none of harsh; the header has 'key' 'body' 'rude'); name it as the file does in --labels"
exits 0 "$bin/preprocess" --vocab "$source/sample/model" --out tokens "${own[@]}" --labels "harsh|rude" --unlabelled -1 train.csv
exits 2 "$bin/preprocess" --vocab "$source/sample/model" --out tokens "${own[@]}" --labels "harsh|rude" train.csv
says "tokens: holds parts made with other options (--unlabelled); give another --out, or remove it"
exits 0 "$bin/shard" --out shards --shards 2 tokens
exits 0 "$bin/shard" --out again --shards 1 --shuffle no shards # what is known of the CSVs goes through any number of stages
exits 0 "$bin/train" --init random --config "$source/sample/model" --max-length 64 --lanes 1 --batch 8 --max-steps 1 --drop-unlabelled --train again --out run

exits 0 "$bin/infer" --run run --csv test.csv --truth truth.csv --out a.csv
says "--csv: read as the CSVs of run were: --id-column key --text-column body --delimiter semicolon --unlabelled -1 (options that are given are stronger)"
says "AUC harsh all"
says "19 positive, 20 negative, 1 unlabelled"
# The same by hand, through other options than the run's; they are stronger.
sed '1s/key;body/nr;words/' test.csv | tr ';' '\t' >tabs.csv # the texts have no tab
exits 0 "$bin/infer" --run run --csv tabs.csv --id-column nr --text-column words --delimiter tab --out b.csv
cmp a.csv b.csv
exits 3 "$bin/infer" --run run --csv test.csv --text-column words --out c.csv
says "no text column (looked for 'words'; the header has 'key' 'body')"
printf 'key;body\nz;a "quoted" word\n' >loose.csv
exits 3 "$bin/infer" --run run --csv loose.csv --out c.csv
says "quote in an unquoted field"
exits 0 "$bin/infer" --run run --csv loose.csv --dialect pandas --out c.csv
exits 0 "$bin/infer" --verify run --csv loose.csv c.csv
# Labels under any of their names in training: then the AUC is known. The chain is checked with the same reading.
exits 0 "$bin/infer" --run run --csv train.csv --out d.csv --predictions scores.csv
says "39 positive, 40 negative, 1 unlabelled"
exits 0 "$bin/infer" --verify run --csv train.csv d.csv
says "tokenized once more"

# --truth with its ids under a name that is given; a name that it lacks is told with those that it has.
exits 0 "$bin/infer" --run run --input tokens --truth truth.csv --id-column key --out e.csv
says "truth.csv has no label for 40 of 80 rows"
exits 3 "$bin/infer" --run run --input tokens --truth truth.csv --id-column nr --out e.csv
says 'truth.csv: no column "nr"; its columns are "id", "key", "rude"'

exits 0 "$bin/report" run --predictions scores.csv --input again --csv train.csv --out page.html
says "--csv: read as the CSVs of the scored rows were: --id-column key --text-column body --delimiter semicolon"
grep -q 'class="text original"' page.html || wrong "no original texts on the page"
