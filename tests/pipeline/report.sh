#!/usr/bin/env bash
# The page of a run: what stands on it is what the run has recorded and what infer measures; nothing in it reaches out; names are made safe; sizes;
# contrast. With the word browser: a real Chromium opens it at two widths in both themes (skipped where there is none).
. "$(dirname "$0")/../mpi/train_lib.sh"
here=$(dirname "$0") browser=${4:-}
report() { "$bin/report" "$@" >"$scratch/log" 2>&1; }
data train 240 2 2 5 120 60 0
data valid 90 2 1 6 120 60 3
base=(--valid "$scratch/valid" --lanes 4 --batch 8 --epochs 3 --max-length 24 --threads 1)
train 1 'one<b>&"x' "${base[@]}" --lr 1e-3 || wrong "the run failed: $(said)"
train 1 two "${base[@]}" --lr 2e-3 --head-dropout 0.2 || wrong "the second run failed: $(said)"
one="$scratch/one<b>&\"x" two="$scratch/two"
for r in one two; do
    "$bin/infer" --quiet --run "${!r}" --input "$scratch/valid" --out "$scratch/$r.csv" --predictions "$scratch/$r-scores.csv" --report "$scratch/$r.json" \
        --work "$scratch/work" >"$scratch/log" 2>&1 || wrong "infer: $(said)"
done
report "$one" --out "$scratch/plain.html" || wrong "a run alone: $(said)"
report "$one" --predictions "$scratch/one-scores.csv" --out "$scratch/one.html" || wrong "with scores: $(said)"
report "$one" "$two" --predictions "$scratch/one-scores.csv,$scratch/two-scores.csv" --input "$scratch/valid" --out "$scratch/both.html" || wrong "two runs: $(said)"
python3 "$here/report_check.py" "$scratch/plain.html" "$one" || failures=$((failures + 1))
python3 "$here/report_check.py" "$scratch/one.html" "$one" "$scratch/one.json" || failures=$((failures + 1))
python3 "$here/report_check.py" "$scratch/both.html" "$two" "$scratch/two.json" || failures=$((failures + 1))
# Which is better; ticks at whole epochs; commands from the folder of the run, which are run as they stand there.
better=$(python3 - "$scratch" <<'END'
import json, sys
area = {r: json.load(open(f"{sys.argv[1]}/{r}.json"))for r in ("one", "two")}
mean = {r: sum(label["all"]["auc"] for label in area[r].values()) / len(area[r]) for r in area}
print("two" if mean["two"] > mean["one"] else "one", f"{max(mean.values()):.5f}")
END
)
grep -Eq "(two|x) is better by the AUC of the scored rows: ${better#* }, [0-9.e-]+ above " "$scratch/both.html" || wrong "no verdict ($better): $(grep verdict "$scratch/both.html")"
report "$one" "$two" --out "$scratch/beside.html" || wrong "two runs without scores: $(said)"
grep -q 'is better by the validation AUC of its best epoch: 0\.' "$scratch/beside.html" || wrong "no verdict on validation"
python3 - "$scratch/plain.html" <<'END' || wrong "ticks between epochs"
import re, sys
found = re.findall(r'by epoch">.*?(?=</figure>)', open(sys.argv[1], encoding="utf-8").read(), re.S)
assert found
for chart in found:
    ticks = re.findall(r'<span class="x"[^>]*>([^<]*)</span>', chart)
    assert ticks == ["1", "2", "3"], ticks
END
(cd "$scratch" && "$bin/train" --quiet --init random --config config.json --train train --valid valid --lanes 2 --batch 8 --epochs 1 --max-length 24 --threads 1 --out near) \
    >"$scratch/log" 2>&1 || wrong "a run by short paths: $(said)"
report "$scratch/near" --out "$scratch/near.html" || wrong "its page: $(said)"
python3 - "$scratch/near.html" >"$scratch/again.sh" <<'END'
import html, re, sys
print("set -e\n" + html.unescape(re.search(r"<pre>(cd .*?)</pre>", open(sys.argv[1], encoding="utf-8").read(), re.S).group(1)))
END
grep -q -- '--out near-again$' "$scratch/again.sh" && (cd / && PATH=$bin:$PATH bash "$scratch/again.sh" >"$scratch/log" 2>&1) || wrong "the commands of Made by: $(cat "$scratch/again.sh" "$scratch/log")"
grep -q 'Options in which the runs differ' "$scratch/both.html" && grep -q '<td>head-dropout</td><td>0.3</td><td>0.2</td>' "$scratch/both.html" ||
    wrong "the recipes' difference is not shown"

grep -Eq '[0-9.]+ s of validation and [0-9.]+ s of saving' "$scratch/one.html" || wrong "validation and saving are not told"

# Mistakes in their original words, out of two CSVs; what is cut, what is no UTF-8, what is missing.
python3 - "$scratch" "$here" <<'END' || wrong "the CSVs could not be made"
import csv, sys
folder = sys.argv[1]
ids = [row[0] for row in list(csv.reader(open(f"{folder}/one-scores.csv", newline="", encoding="utf-8")))[1:]]
halves = ids[:len(ids) // 2], ids[len(ids) // 2:]
for name, half, text in ("a", halves[0], "comment_text"), ("b", halves[1], "content"):
    with open(f"{folder}/texts-{name}.csv", "wb") as out:
        out.write(f"{text},id\n".encode())
        for n, one in enumerate(half):
            out.write(b'"Of <%s> & ""co"",\n%s \xff %s"' % (one.encode(), "\u00dfaid".encode(), b"x" * (5000 if n % 2 else 3)) + f",{one}\n".encode())
END
gzip "$scratch/texts-b.csv" # a packed one is read as well
report "$one" --predictions "$scratch/one-scores.csv" --csv "$scratch/texts-a.csv,$scratch/texts-b.csv.gz" --out "$scratch/words.html" || wrong "with CSVs: $(said)"
python3 "$here/report_check.py" "$scratch/words.html" "$one" "$scratch/one.json" || failures=$((failures + 1))
python3 - "$scratch" <<'END' || wrong "the mistakes' texts"
import html, re, sys
folder = sys.argv[1]
cells = lambda page: re.findall(r'<td class="left">([^<]*)</td><td class="text([^"]*)" dir="auto">(.*?)</td>', open(f"{folder}/{page}", encoding="utf-8").read(), re.S)
tokens, words = cells("one.html"), cells("words.html")
assert [t[0] for t in tokens] == [w[0] for w in words] and len(words) > 6, (len(tokens), len(words))
cut = 0
for one, kind, text in words:
    begins = f'Of <{one}> & "co",\n\u00dfaid \ufffd x'
    text = html.unescape(text)
    assert kind == " original" and text.startswith(begins), text[:80]
    cut += text.endswith("x\u2026") and len(text.encode()) < 1210
    assert text.endswith("xxx") or text.endswith("x\u2026"), text[-20:]
assert 0 < cut < len(words) and all(kind == "" for _, kind, _ in tokens)
END
report "$one" --predictions "$scratch/one-scores.csv" --csv "$scratch/texts-a.csv" --out "$scratch/half.html" || wrong "with half of the CSVs: $(said)"
grep -q 'mistakes are not in the CSVs' "$scratch/log" && grep -q 'class="text original"' "$scratch/half.html" && grep -q 'class="text" dir' "$scratch/half.html" ||
    wrong "half of the texts: $(said)"

# Ten thousand steps stay under a megabyte; a run that was cut off in a line is read up to there.
cp -a "$two" "$scratch/long"
python3 - "$scratch/long" <<'END' || wrong "the long run could not be made"
import sys
run = sys.argv[1]
with open(f"{run}/metrics.jsonl", "w") as metrics, open(f"{run}/timing.jsonl", "w") as timing:
    for step in range(1, 10001):
        metrics.write(f'{{"step":{step},"epoch":1,"loss":{0.1 + step % 97 / 100},"lr":{1e-5 * (10000 - step) / 10000},"rows":32,"tokens":500,"state":"0"}}\n')
        timing.write(f'{{"step":{step},"seconds":{0.1 + step % 13 / 100},"qkv":0.05,"reduce":0.01}}\n')
    metrics.write('{"step":10001,"ep')
END
report "$scratch/long" --out "$scratch/long.html" || wrong "the long run: $(said)"
[ "$(stat -c %s "$scratch/long.html")" -lt 1000000 ] || wrong "the page of 10,000 steps has $(stat -c %s "$scratch/long.html") bytes"
grep -q '>10,000<' "$scratch/long.html" || wrong "10,000 steps are not told"

says() { # CODE TEXT report...
    local code
    report "${@:3}"
    code=$?
    [ $code = "$1" ] && grep -q -- "$2" "$scratch/log" || wrong "report ${*:3}: exit $code, $(said); wanted $1 and '$2'"
}
says 2 "name a run"
says 3 "no such folder" "$scratch/nowhere"
says 2 "goes with --predictions" "$one" --csv "$scratch/texts-a.csv"
gunzip "$scratch/texts-b.csv.gz"
sed 's/^content,id/content,number/' "$scratch/texts-b.csv" >"$scratch/foreign.csv"
says 3 "number" "$one" --predictions "$scratch/one-scores.csv" --csv "$scratch/foreign.csv"
sed 's/,\([^,"]*\)$/,z\1/;1s/zid/id/' "$scratch/texts-b.csv" >"$scratch/foreign.csv"
says 3 "none of the [0-9]* ids" "$one" --predictions "$scratch/one-scores.csv" --csv "$scratch/foreign.csv"
says 2 "one a run" "$one" "$two" --predictions "$scratch/one-scores.csv"
printf 'id,other\n1,0.5\n' >"$scratch/other.csv"
says 3 "no column" "$one" --predictions "$scratch/other.csv" --input "$scratch/valid"
head -20 "$scratch/one-scores.csv" >"$scratch/few.csv"
says 3 "no score for id" "$one" --predictions "$scratch/few.csv"
sed -i '3s/"step"/"stop"/' "$scratch/long/metrics.jsonl"
says 3 "line 3: step 3 should stand here" "$scratch/long"

if [ "$browser" = browser ]; then
    chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || { echo "skipped: no chromium"; exit 77; }
    for page in one both; do
        for view in "1200 0" "1200 1" "390 0" "390 1"; do # width; 0 dark, 1 light
            # shellcheck disable=SC2086
            set -- $view
            { cat "$scratch/$page.html" && echo "<script>" && cat "$here/report_probe.js" && echo "</script>"; } >"$scratch/probe.html"
            printf '<!doctype html><meta name="color-scheme" content="light dark"><body style="margin:0"><iframe id="f" src="probe.html" style="border:0;width:%spx;height:900px"></iframe>' "$1" \
                >"$scratch/frame.html"
            timeout 120 "$chromium" --headless=new --no-sandbox --disable-gpu --disable-background-networking --no-first-run --enable-logging=stderr \
                --user-data-dir="$scratch/profile" --blink-settings=preferredColorScheme="$2" --window-size=1300,1000 --virtual-time-budget=2000 \
                --allow-file-access-from-files --dump-dom "file://$scratch/frame.html" >"$scratch/dom" 2>"$scratch/browser.log"
            grep 'CONSOLE' "$scratch/browser.log" | grep -v 'probe: ' && wrong "$page at $view: the console has spoken"
            grep -q "probe: fine, [0-9]* texts, width $1, $([ "$2" = 0 ] && echo dark || echo light)" "$scratch/browser.log" ||
                wrong "$page at $view: $(grep -h 'probe: ' "$scratch/browser.log" || tail -3 "$scratch/browser.log")"
        done
    done
fi
finish
