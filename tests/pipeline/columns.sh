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
never() { ! grep -qF -- "$1" said || wrong "said: $1"; }
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
[ "$(sed -n 1p a.csv)" = key,harsh ] || wrong "other headings than the CSV's: $(sed -n 1p a.csv)"
says "--csv: read as the CSVs of run were: --id-column key,id --text-column body,comment_text,content,text --delimiter semicolon --unlabelled -1 (options that are given are stronger)"
says "AUC harsh all"
says "19 positive, 20 negative, 1 unlabelled"
# The same by hand, through other options than the run's; they are stronger.
sed '1s/key;body/nr;words/' test.csv | tr ';' '\t' >tabs.csv # the texts have no tab
exits 0 "$bin/infer" --run run --csv tabs.csv --id-column nr --text-column words --delimiter tab --out b.csv
[ "$(sed -n 1p b.csv)" = nr,harsh ] || wrong "other headings than the CSV's: $(sed -n 1p b.csv)"
cmp <(tail -n +2 a.csv) <(tail -n +2 b.csv)
exits 3 "$bin/infer" --run run --csv test.csv --text-column words --out c.csv
says "no text column (looked for 'words'; the header has 'key' 'body')"
printf 'key;body\nz;a "quoted" word\n' >loose.csv
exits 3 "$bin/infer" --run run --csv loose.csv --out c.csv
says "quote in an unquoted field"
exits 0 "$bin/infer" --run run --csv loose.csv --dialect pandas --out c.csv
exits 0 "$bin/infer" --verify run --csv loose.csv c.csv
# Of a submission that is replaced the line says whose it was; one that is the same is none.
exits 0 "$bin/infer" --run run --csv loose.csv --dialect pandas --out c.csv
never "is replaced"
exits 0 "$bin/infer" --run run --csv test.csv --out c.csv
says "c.csv is replaced: it was made by run (step-000001, step 1), of other rows or with other options"
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
says "--csv: read as the CSVs of the scored rows were: --id-column key,id --text-column body,comment_text,content,text --delimiter semicolon"
grep -q 'class="text original"' page.html || wrong "no original texts on the page"

exits 0 "$bin/infer" --run run --input tokens --out h.csv
[ "$(sed -n 1p h.csv)" = key,harsh ] || wrong "the shards have forgotten what the ids are called: $(sed -n 1p h.csv)"
exits 0 "$bin/infer" --verify run --input tokens h.csv
was=$(sha256sum <h.csv | cut -c1-64) && sed -i 1s/key/id/ h.csv # as an older version called them
sed -i "s/$was/$(sha256sum <h.csv | cut -c1-64)/" h.csv.provenance.json
exits 0 "$bin/infer" --verify run --input tokens h.csv

# No ids at all: rows are numbered over all files, whoever reads them; an id that a test set has goes first.
python3 - <<'P'
import csv
rows = list(csv.reader(open("train.csv", newline="", encoding="utf-8"), delimiter=";"))[1:]
for name, some in ("a", rows[:30]), ("b", rows[30:]):
    with open(f"only-{name}.csv", "w", newline="", encoding="utf-8") as f:
        csv.writer(f, lineterminator="\n").writerows([["text", "toxic"]] + [[t, max(0, int(label))] for _, t, label in some])
with open("with-ids.csv", "w", newline="", encoding="utf-8") as f:
    csv.writer(f, lineterminator="\n").writerows([["id", "text"]] + [[i, t] for i, t, _ in rows[:30]])
open("ids", "w").writelines(f"{i}\n" for i, _, _ in rows[:30])
P
exits 3 "$bin/preprocess" --vocab "$source/sample/model" --out no only-a.csv
says "name it with --id-column; where there is none, --id-column :number numbers the rows"
for split in 64M 300; do
    exits 0 "$bin/preprocess" --vocab "$source/sample/model" --out "numbered-$split" --split $split --id-column :number only-a.csv only-b.csv
    exits 0 "$bin/shard" --export csv --out "numbered-$split.txt" "numbered-$split"
    cmp <(seq 0 79) <(tail -n +2 "numbered-$split.txt" | cut -d, -f1) || wrong "other numbers with --split $split"
done
exits 0 "$bin/train" --init random --config "$source/sample/model" --max-length 64 --lanes 1 --batch 8 --max-steps 1 --train numbered-300 --out plain
exits 0 "$bin/infer" --run plain --csv only-a.csv,only-b.csv --out n.csv --predictions n-scores.csv
cmp <(seq 0 79) <(tail -n +2 n.csv | cut -d, -f1) || wrong "infer numbers otherwise"
[ "$(sed -n 1p n.csv)" = id,toxic ] || wrong "numbers are called $(sed -n 1p n.csv)"
exits 0 "$bin/infer" --run plain --csv with-ids.csv --out n.csv
says "n.csv is replaced: it was made by plain (step-000001, step 1), of other rows or with other options"
rm n.csv.provenance.json
exits 0 "$bin/infer" --run plain --csv only-a.csv,only-b.csv --out n.csv
says "n.csv is replaced; no provenance.json beside it tells who made it"
exits 0 "$bin/infer" --run run --csv only-a.csv --text-column text --id-column :number --delimiter comma --out n2.csv
exits 0 "$bin/infer" --run plain --csv only-a.csv --out n2.csv
says "n2.csv is replaced: it was made by run (step-000001, step 1)"
exits 0 "$bin/infer" --run plain --csv with-ids.csv --out i.csv
cmp ids <(tail -n +2 i.csv | cut -d, -f1) || wrong "the ids of a test set"
cmp <(head -n 31 n.csv | cut -d, -f2) <(cut -d, -f2 i.csv) || wrong "other scores"
exits 0 "$bin/infer" --verify plain --csv only-a.csv,only-b.csv n.csv
exits 0 "$bin/report" plain --predictions n-scores.csv --input numbered-64M --csv only-a.csv,only-b.csv --mistakes 40 --out numbers.html
python3 - <<'P' || wrong "a text under another row's number"
import csv, html, re
rows = [r[0] for name in "ab" for r in list(csv.reader(open(f"only-{name}.csv", newline="", encoding="utf-8")))[1:]]
page = open("numbers.html", encoding="utf-8").read()
found = re.findall(r'<td class="left">(\d+)</td><td class="text original"[^>]*>(.*?)</td>', page, re.S)
assert any(int(i) < 30 for i, _ in found) and any(int(i) >= 30 for i, _ in found), found
squeeze = lambda t: "".join(t.split())
assert all(squeeze(html.unescape(t)) == squeeze(rows[int(i)]) for i, t in found), found
P
