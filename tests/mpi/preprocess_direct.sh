#!/usr/bin/env bash
# preprocess --shards against preprocess and shard: the same bytes on any number of ranks, over random CSVs and options; what kills, signals and damage
# leave is gone on with; a full disk, a changed input and a wrong option are told.
#   preprocess_direct.sh BIN SOURCE [mpi]       FRETSAW_SEED: that of the random CSVs
set -uo pipefail
bin=$1 source=$2 mpi=${3:-}
work=$(mktemp -d "${TMPDIR:-/tmp}/fretsaw-direct-XXXXXX")
[ -n "${FRETSAW_KEEP:-}" ] || trap 'mountpoint -q "$work/tiny" && umount "$work/tiny"; rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0
wrong() {
    echo "wrong: $*" >&2
    failures=$((failures + 1))
}
ranks=(1)
[ "$mpi" != mpi ] || ranks=(1 2 3 4)
vocab=(--vocab "$source/sample/model")
launch() { # RANKS COMMAND...
    local n=$1
    shift
    if [ "$n" = 1 ]; then "$@"; else mpirun -np "$n" "$@"; fi
}
expect() { # CODE TEXT COMMAND...
    local want=$1 text=$2 code
    shift 2
    "$@" >said 2>&1
    code=$?
    [ $code = "$want" ] || wrong "exit $code, not $want: $* ($(tail -n 3 said))"
    grep -qE -- "$text" said || wrong "no '$text' said by: $* ($(tail -n 3 said))"
}
# Nothing but what is wanted, to the byte.
same() { # WANTED HAS WHAT
    diff -r "$1" "$2" >differ 2>&1 || wrong "$3: $(head -n 3 differ)"
}

# The hash behind the first WORD of a manifest becomes another; it is sealed again.
falsify() { # FILE WORD
    python3 - "$@" <<'P'
import hashlib, sys
path, word = sys.argv[1:]
text = open(path, encoding="utf-8").read()
at = text.index(word) + len(word)
text = text[:at] + ("0" if text[at] != "0" else "1") + text[at + 1:]
body = text[:text.index(' "sha256": "', text.rindex("]"))]
open(path, "w", encoding="utf-8").write(body + f' "sha256": "{hashlib.sha256(body.encode()).hexdigest()}"\n}}\n')
P
}

# ---- the same bytes ----

seed=${FRETSAW_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
echo "FRETSAW_SEED=$seed"
cat >make.py <<'P'
import gzip, random, subprocess, sys
seed, round_ = int(sys.argv[1]), int(sys.argv[2])
r = random.Random(seed * 1000 + round_)
pandas = round_ % 3 == 2
words = ["you", "are", "nicht", "kind", "été", "你好", "При", "!!", "rotten", 'a "word"', "two\nlines", "a, b", "NA"]
labels = ["0", "1", "0.5", "", "2e-1", "NA"]
files, total = [], 0
for i in range(r.choice([1, 2, 4])):
    header = (["id", "comment_text", "lang", "toxic"], ["target", "comment_text", "id"], ["id", "content"])[r.randrange(3)]
    rows = r.choice([1, 7, 300, 2500])
    total += rows
    lines = [",".join(header)]
    for n in range(rows):
        cells = []
        for name in header:
            text = {"id": f"{i}-{n}", "lang": r.choice(["en", "de", "", "fr"]), "toxic": r.choice(labels), "target": r.choice(labels)}.get(name)
            if text is None:
                text = "the same" if r.random() < 0.1 else "" if r.random() < 0.05 else " ".join(r.choices(words, k=r.choice([1, 9, 40, 400] if r.random() < 0.1 else [5])))
            text = text.replace('"', '""')
            cells.append(f'"{text}"' if r.random() < 0.2 or any(c in text for c in ',"\n') else text)
        line = ",".join(cells)
        lines.append(line)
        if pandas and r.random() < 0.05:
            lines.append("  ")
    name = f"in-{round_}-{i}.csv"
    data = ("\r\n" if r.random() < 0.5 else "\n").join(lines).encode() + b"\n"
    pack = r.randrange(4)
    if pack == 0:
        name += ".gz"
        data = gzip.compress(data, mtime=0)
    elif pack == 1:
        name += ".zst"
        data = subprocess.run(["zstd", "-qc"], input=data, stdout=subprocess.PIPE, check=True).stdout
    open(name, "wb").write(data)
    files.append(name)
if round_ == 0 or r.random() < 0.3:
    files.append(files[0])  # one CSV twice: the merged description names it once
read = (["--csv", "pandas"] if pandas else []) + (["--split", r.choice(["1K", "20K", "300K"])] if r.random() < 0.7 else [])
if r.random() < 0.2:
    read += ["--id-column", ":number"]
make = ["--shards", str(r.choice([1, 3, 8, 40]))]
if r.random() < 0.5:
    make += ["--sample", str(r.choice([1, total // 2 + 1, 2 * total + 5]))]
if r.random() < 0.5:
    make += ["--seed", str(r.randrange(10**6))]
if r.random() < 0.3:
    make += ["--shuffle", "no"]
open("words", "w").write("".join(f"{name}=({' '.join(list_)})\n" for name, list_ in (("files", files), ("read", read), ("make", make))))
P
for round in 0 1 2 3 4 5; do
    python3 make.py "$seed" $round || { wrong "no random CSVs"; break; }
    . ./words
    rm -rf tokens two one
    "$bin/preprocess" --quiet "${vocab[@]}" "${read[@]}" --out tokens/set "${files[@]}" >report 2>said || { wrong "round $round: preprocess: $(cat said)"; continue; }
    "$bin/shard" --quiet "${make[@]}" --out two/set tokens/set 2>said || { wrong "round $round: shard: $(cat said)"; continue; }
    for n in "${ranks[@]}"; do
        launch "$n" "$bin/preprocess" --quiet "${vocab[@]}" "${read[@]}" "${make[@]}" --out "one/$n/set" "${files[@]}" >report-direct 2>said ||
            wrong "round $round at $n ranks: $(cat said)"
        same two/set "one/$n/set" "round $round at $n ranks (${read[*]} ${make[*]} ${files[*]})"
        cmp -s <(tail -n +2 report) <(tail -n +2 report-direct) || wrong "round $round at $n ranks: the report: $(diff report report-direct)"
    done
done
grep -qE "^one/[0-9]+/set: [0-9,]+ rows? of [0-9]+ inputs? in [0-9]+ shards?$" report-direct || wrong "the report's head: $(head -n 1 report-direct)"
"$bin/shard" --verify two/set >said 2>&1 || wrong "--verify: $(cat said)"

# ---- stops ----

# Enough rows that there is time to stop amid them.
python3 - "$source/sample/train-first.csv" <<'P'
import csv, sys
rows = list(csv.reader(open(sys.argv[1], newline="", encoding="utf-8")))
with open("many.csv", "w", newline="", encoding="utf-8") as out:
    csv.writer(out, lineterminator="\n").writerows([rows[0]] + [[f"{n}-{r[0]}"] + r[1:] for n in range(16) for r in rows[1:]])
P
"$bin/preprocess" --quiet "${vocab[@]}" --out tokens/many many.csv >report 2>&1 || wrong "preprocess: $(cat report)"
"$bin/shard" --quiet --shards 60 --out two/many tokens/many || wrong "shard"
direct=("$bin/preprocess" "${vocab[@]}" --shards 60 --out one/many many.csv)
begin=$(date +%s%N)
"${direct[@]}" >report-direct 2>said || wrong "direct: $(cat said)"
milliseconds=$((($(date +%s%N) - begin) / 1000000))
same two/many one/many "direct"
cmp -s <(tail -n +2 report) <(tail -n +2 report-direct) || wrong "the report: $(diff report report-direct)"

# Done already: nothing is touched.
stamp() { find one/many -type f -printf '%p %T@ %i\n' | sort; }
before=$(stamp)
expect 0 "already done and whole" "${direct[@]}"
[ "$before" = "$(stamp)" ] || wrong "files that were whole are touched"

# Killed anywhere, on one rank and on several.
RANDOM=$((seed % 32768))
for kill in 1 2 3 4 5 6; do
    n=${ranks[$((kill % ${#ranks[@]}))]}
    launch "$n" "${direct[@]}" >said 2>&1 &
    job=$!
    sleep "$(printf '%d.%03d' $((RANDOM % (milliseconds + 1) / 1000)) $((RANDOM % (milliseconds + 1) % 1000)))"
    [ "$n" = 1 ] && victim=$job || victim=$(pgrep -P $job -x preprocess | tail -n 1)
    [ -z "$victim" ] || kill -9 "$victim" 2>/dev/null
    wait $job 2>/dev/null
    [ $((kill % 3)) = 0 ] || continue
    launch "$n" "${direct[@]}" >said 2>&1 || wrong "after a kill at $n ranks: $(tail -n 3 said)"
    same two/many one/many "after a kill at $n ranks"
    rm -rf one/many
done

# Whole shards of a run that was killed are used, as long as they are of this work.
whole() { find one/many -name 'shard-*.h5' 2>/dev/null | wc -l; }
rm -rf one/many
until_whole() { # COUNT JOB
    for _ in $(seq 3000); do [ "$(whole)" -ge "$1" ] || ! kill -0 "$2" 2>/dev/null && return; sleep 0.005; done
}
"${direct[@]}" >said 2>&1 &
job=$!
until_whole 5 $job
kill -9 $job
wait $job 2>/dev/null
rm -f one/many/manifest.json # it may have been quicker
left=$(whole)
[ "$left" -ge 5 ] || wrong "no shards were left: $(tail -n 3 said)"
printf 'no row file' >one/many/shard-00001-of-00060.h5
before=$(stat -c %i one/many/shard-00000-of-00060.h5)
expect 0 "left whole by an interrupted run" "${direct[@]}"
same two/many one/many "after whole shards"
[ "$before" = "$(stat -c %i one/many/shard-00000-of-00060.h5)" ] || wrong "a whole shard was made again"

# All shards, but no manifest.
rm one/many/manifest.json
expect 0 "60 shards left whole" "${direct[@]}"
same two/many one/many "without a manifest"

# Of two kinds of shards that are left one is of this work at most: shards of the same parts, whose rows are said to be others.
mkdir other && cp -r tokens/many other/many
falsify other/many/manifest.json '"data_identity": "'
"$bin/shard" --quiet --shards 60 --out other/shards/many other/many || wrong "shard"
for n in "${ranks[@]}"; do
    cp other/shards/many/shard-00001-of-00060.h5 one/many
    rm one/many/manifest.json
    expect 0 "shards left whole" launch "$n" "${direct[@]}"
    same two/many one/many "after a shard of other rows at $n ranks"
done

# A shard that is missing, one that is damaged.
rm one/many/shard-00007-of-00060.h5
printf 'X' | dd of=one/many/shard-00009-of-00060.h5 bs=1 seek=3000 conv=notrunc status=none
for n in "${ranks[@]}"; do
    expect 0 "2 of 60 shards are missing or damaged" launch "$n" "${direct[@]}"
    same two/many one/many "after damage at $n ranks"
    rm one/many/shard-00007-of-00060.h5
    printf 'X' | dd of=one/many/shard-00009-of-00060.h5 bs=1 seek=3000 conv=notrunc status=none
done

# Shards whose rows are said to be others: as another version's would be.
falsify one/many/manifest.json 'data='
expect 3 "its shards hold other tokens than are made of the same inputs now" "${direct[@]}"

# A signal while shards are written, and a time limit.
rm -rf one/many
"${direct[@]}" >said 2>&1 &
job=$!
until_whole 3 $job
kill -TERM $job
wait $job
code=$?
if [ $code = 75 ]; then
    grep -q "stopped by SIGTERM; the shards that are whole stay" said || wrong "the signal is not told: $(tail -n 3 said)"
    [ ! -e one/many/.on-the-way ] || wrong "rows on their way are left after a signal"
elif [ $code != 0 ]; then
    wrong "exit $code after a signal: $(tail -n 3 said)"
fi
"${direct[@]}" >said 2>&1 || wrong "after a signal: $(tail -n 3 said)"
same two/many one/many "after a signal"
# Amid the reading; on a busy machine the signal may come too late for that.
for attempt in 1 2 3 4 5 6 7 8; do
    rm -rf one/many
    "${direct[@]}" >said 2>&1 &
    job=$!
    for _ in $(seq 3000); do [ -e one/many/.on-the-way ] || ! kill -0 $job 2>/dev/null && break; sleep 0.002; done
    kill -TERM $job 2>/dev/null
    wait $job
    code=$?
    [ $code = 75 ] || [ $code = 0 ] || wrong "exit $code after a signal amid the reading: $(tail -n 3 said)"
    [ $code != 75 ] || [ "$(whole)" != 0 ] || break
done
[ $code = 75 ] || wrong "no signal came amid the reading"
[ ! -e one/many ] || wrong "a folder with nothing in it stays: $(ls -A one/many)"

# ---- faults ----

# Changed while it is read: behind the check the last rows become empty lines, which are no fault but no rows.
# On a busy machine that may come too late.
for attempt in 1 2 3 4 5 6 7 8; do
    rm -rf ready one/changing
    cp many.csv changing.csv
    python3 - <<'P' &
import os, time
size = os.path.getsize("changing.csv") - 300000
with open("changing.csv", "r+b") as f:
    f.seek(size)
    tail = f.read()
    open("ready", "w")
    while not os.path.exists("one/changing/.on-the-way"):
        time.sleep(0.001)
    f.seek(size)
    f.write(tail[:tail.index(b"\n") + 1].ljust(len(tail), b"\n"))
P
    changer=$!
    for _ in $(seq 3000); do [ ! -e ready ] || break; sleep 0.01; done
    "$bin/preprocess" "${vocab[@]}" --shards 3 --out one/changing changing.csv >said 2>&1
    code=$?
    kill $changer 2>/dev/null
    wait $changer 2>/dev/null
    [ $code = 0 ] || break
done
[ $code = 3 ] && grep -q "changing.csv: changed while it was read" said || wrong "a changed input: exit $code: $(tail -n 3 said)"
[ ! -e one/changing ] || wrong "a changed input leaves a folder"

# A faulty input leaves nothing, a folder of other work stays as it is.
printf 'id,comment_text\n1,a\n2,b,c\n' >faulty.csv
expect 3 "faulty.csv: record 2" "$bin/preprocess" "${vocab[@]}" --shards 3 --out one/faulty faulty.csv
[ ! -e one/faulty ] || wrong "a faulty input leaves a folder"
gzip -k faulty.csv
expect 3 "faulty.csv.gz .unpacked.: record 2" "$bin/preprocess" "${vocab[@]}" --shards 3 --out one/faulty faulty.csv.gz
[ ! -e one/faulty ] || wrong "a faulty packed input leaves a folder: $(ls -A one/faulty)"
expect 2 "the work of another stage" "$bin/preprocess" "${vocab[@]}" --shards 3 --out tokens/many many.csv
expect 2 "the work of another stage" "$bin/preprocess" "${vocab[@]}" --out two/many many.csv
expect 2 "other options \(--seed\)" "$bin/preprocess" "${vocab[@]}" --shards 60 --seed 1 --out two/many many.csv
expect 2 "the shards of other inputs" "$bin/preprocess" "${vocab[@]}" --shards 60 --out two/many many.csv many.csv
expect 2 "the shards of other inputs" "$bin/preprocess" "${vocab[@]}" --shards 60 --na keep --out two/many many.csv

# Options that are of shards alone.
for option in "--sample 5" "--seed 1" "--shuffle no"; do
    expect 2 "--${option:2:4}[a-z]* is of shards; give --shards" "$bin/preprocess" "${vocab[@]}" $option --out one/none many.csv
done
expect 2 "--shards" "$bin/preprocess" "${vocab[@]}" --shards 100000 --out one/none many.csv
[ ! -e one/none ] || wrong "a wrong option makes a folder"

# A row too long for its share of the memory is told with what to do; with more memory it goes.
python3 -c "print('id,comment_text\n1,' + 'word ' * 3000000)" >long.csv
expect 5 "the row with id .1. .*give more --memory" "$bin/preprocess" "${vocab[@]}" --shards 2 --memory 40M --out one/long long.csv
expect 0 "done" "$bin/preprocess" "${vocab[@]}" --shards 2 --memory 1G --out one/long long.csv

# A full disk.
if mkdir tiny && mount -t tmpfs -o size=2m none tiny 2>/dev/null; then
    expect 4 "no space|cannot be written|No space" "$bin/preprocess" "${vocab[@]}" --shards 5 --out tiny/set many.csv
    [ -z "$(ls -A tiny)" ] || wrong "a full disk keeps $(ls -AR tiny)"
    umount tiny
fi

[ $failures = 0 ] || { echo "$failures wrong" >&2; exit 1; }
