#!/usr/bin/env bash
# What the pages say: every command in a box is run, in the pages' order, with the project's sample in place of the real data; every message of
# docs/troubleshooting.md is one that the programs have; every file and link that a page names is there.
#   docs.sh BIN SOURCE commands|words [TWIN]     TWIN: the device back end's twin, which stands for GPUs
set -euo pipefail
bin=$1 source=$2 part=$3 twin=${4:-}
. "$source/tests/support/doc_block.sh"
cd "$source"
pages=(README.md docs/*.md python/README.md) run_pages=(README.md docs/guide.md docs/notebook.md docs/records.md)
failures=0
wrong() { echo "wrong: $*" >&2; failures=$((failures + 1)); }

# ---- words ----

# Headings of the form ### `a piece … another piece` are pieces of messages, in this order of any one text of the programs or scripts.
messages() {
    local piece found checked=0
    cat "$bin"/{preprocess,shard,train,infer,report,doctor} jobs/*.sh jobs/*/*.sh >"$work/everything"
    while IFS= read -r heading; do
        while IFS= read -r piece; do
            piece=$(sed 's/^ *//; s/ *$//' <<<"$piece")
            grep -aqF -- "$piece" "$work/everything" || wrong "docs/troubleshooting.md: no program says: $piece"
            checked=$((checked + 1))
        done < <(sed 's/…/\n/g' <<<"$heading")
    done < <(sed -n 's/^### `\(.*\)`$/\1/p' docs/troubleshooting.md)
    [ $checked -gt 40 ] || wrong "few messages: $checked"
}

links() {
    local page target
    for page in "${pages[@]}"; do
        while IFS= read -r target; do
            target=${target%%#*}
            [ -z "$target" ] || [ -e "$(dirname "$page")/$target" ] || wrong "$page: no $target"
        done < <(grep -oE '\]\([^)]*\)' "$page" | sed 's/^](//; s/)$//' | grep -v '^https\?:')
        while IFS= read -r target; do
            [ -e "$target" ] || wrong "$page names $target, which is not there"
        done < <(grep -oE '`(bench|jobs|tests|recipes|sample)/[A-Za-z0-9_./-]+' "$page" | tr -d '`')
    done
}

# A box with a mark before it is another test's: some script must ask for it by this name.
marked() {
    local page mark
    for page in "${pages[@]}"; do
        while IFS= read -r mark; do
            grep -rqE "doc_block \"?[^\"]*$(basename "$page")\"? $mark\b|<!-- \(?([a-z]*\|)*$mark[|) ]" tests/pipeline/*.sh tests/pipeline/*.py || wrong "$page: nobody runs the box '$mark'"
        done < <(sed -n 's/^<!-- \([a-z]*\) -->$/\1/p' "$page")
    done
}

# A box without a mark stands on a page whose boxes are run; one without a language holds no command.
unmarked() {
    local page
    for page in "${pages[@]}"; do
        case " ${run_pages[*]} " in *" $page "*) ;; *) [ -z "$(boxes "$page")" ] || wrong "$page: nobody runs $(boxes "$page" | sed -n 1p)" ;; esac
        awk '/^```/ { inside = !inside; plain = inside && $0 == "```"; next }
             inside && plain && /^ *((cmake|ctest|mpirun|srun|sbatch|pip|fretsaw|preprocess|shard|train|infer|report|doctor) |(jobs|tests|bench)\/)/ { exit 1 }' "$page" ||
            wrong "$page: commands in a box without a language"
    done
}

options() { # every option that a page names is one of the programs
    local page option
    for name in preprocess shard train infer report doctor; do "$bin/$name" --help; done | grep -oE -- '--[a-z0-9-]+' | sort -u >"$work/options"
    for page in README.md docs/{guide,notebook,troubleshooting,records,kaggle}.md; do
        while IFS= read -r option; do
            grep -qx -- "$option" "$work/options" || grep -q -- "$option" jobs/slurm/submit.sh jobs/kaggle/bundle.sh tests/run.sh || case $option in
                # of other programs: git, cmake, cpack, apt-get, pip, mpirun, srun, sbatch, kaggle, tensorboard, docker
                --preset|--build|--install|--prefix|--config|--no-install-recommends|--logdir|--dir-mode|--mpi|--account|--mail-type|--nv|--bind|--target|--rounds|--list|--signal|--steps|--jobs|--bind-to|--wait) ;;
                *) wrong "$page: no program has $option" ;;
            esac
        done < <(grep -v '^|' "$page" | grep -oE -- '(^|[ `(])--[a-z][a-z0-9-]+' | grep -oE -- '--[a-z0-9-]+' | sort -u)
    done
}

# ---- commands ----

# All boxes of a page that have no mark, with the page's text between them left out.
boxes() { # PAGE
    awk '/^<!-- [a-z]+ -->$/ { marked = 1; next }
         /^```/ && !inside { inside = 1; skip = marked || ($0 != "```sh"); marked = 0; next }
         /^```/ { inside = 0; next }
         inside && !skip { print }' "$1"
}

make_folder() {
    python3 - "$source/sample" <<'P'
import csv, json, os, shutil, sys
sample = sys.argv[1]
def cut(name, to, rows):
    with open(f"{sample}/{name}", newline="", encoding="utf-8") as f, open(to, "w", newline="", encoding="utf-8") as out:
        csv.writer(out, lineterminator="\n").writerows(list(csv.reader(f))[: rows + 1])
cut("train-first.csv", "jigsaw-toxic-comment-train.csv", 900)
cut("train-second.csv", "jigsaw-unintended-bias-train.csv", 500)
cut("validation.csv", "validation.csv", 600)
cut("test.csv", "test.csv", 300)
cut("sample_submission.csv", "sample_submission.csv", 300)
cut("test_labels.csv", "test_labels.csv", 300)
def renamed(name, to, rows, names):
    with open(f"{sample}/{name}", newline="", encoding="utf-8") as f, open(to, "w", newline="", encoding="utf-8") as out:
        table = csv.writer(out, lineterminator="\n")
        table.writerow(names.values())
        table.writerows([row[column] for column in names] for row in list(csv.DictReader(f))[:rows])
renamed("train-first.csv", "posts.csv", 400, {"id": "post_no", "comment_text": "body", "toxic": "rude"})
renamed("test.csv", "later_posts.csv", 60, {"id": "post_no", "content": "body"})
with open("mine.csv", "w", encoding="utf-8") as out:
    out.write('key;body;rude;threat\na;"one; two";0;0.5\nb;three;1;\n')
os.makedirs("begin")
config = json.load(open(f"{sample}/model/config.json"))
config["max_position_embeddings"] = 192
json.dump(config, open("begin/config.json", "w"))
for name in ("vocab.txt", "tokenizer_config.json"):
    shutil.copy(f"{sample}/model/{name}", "begin")
P
    ln -s "$source/jobs" .
    [ -d "$bin/../../../recipes" ] || ln -s "$source/recipes" . # else the programs find them from any folder
    # A pretrained model, to those who read its files: what one step makes of random weights.
    "$bin/preprocess" --quiet --vocab begin --out begin/tokens validation.csv >/dev/null
    "$bin/train" --quiet --init random --config begin/config.json --lanes 2 --batch 8 --max-steps 1 --train begin/tokens --out begin/run
    cp -r "begin/run/$(head -n 1 begin/run/last)" mbert
    cp begin/tokenizer_config.json mbert/
    rm -r begin
}

# The demo with the programs that are there; the other command is what runs this test.
run_demo() {
    local commands demo
    commands=$(doc_block README.md first | sed 's/ *#.*//')
    [ "$commands" = $'jobs/local/demo.sh\ntests/run.sh' ] && [ -x tests/run.sh ] || wrong "README: other first commands"
    demo=${commands%%$'\n'*}
    BIN=$bin OUT=$work/demo RANKS=1 "$demo" >"$work/demo.log" 2>&1 || { tail -n 30 "$work/demo.log" >&2; wrong "the demo"; }
    [ -s "$work/demo/report.html" ] && [ "$(wc -l <"$work/demo/submission.csv")" = 801 ] || wrong "the demo left no submission or no page"
    echo "-- the demo ($SECONDS s)"
}

run_page() { # PAGE [FOLDER]: in a folder of its own, or one that an earlier page has left
    local page=$1 folder=$work/${2:-$(basename "$1" .md)} code=0
    if [ $# = 1 ]; then
        mkdir "$folder"
        (cd "$folder" && make_folder)
    fi
    cd "$folder"
    boxes "$source/$page" >commands
    [ -s commands ] || { echo "wrong: $page has no commands" >&2; exit 1; }
    . "$source/jobs/mpi.sh"
    # mbert/ and runs/ are written as the page has them; ranks share this machine's few cores.
    PATH=$bin:$PATH bash -euo pipefail -x commands >log 2>&1 || code=$?
    [ $code = 0 ] || { tail -n 30 log >&2; wrong "$page: exit $code"; }
    cd "$source"
    [ $page != README.md ] || [ "$(wc -l <"$folder/later_scores.csv")" = 61 ] || wrong "README: no scores of the second set"
    echo "-- $page: $(grep -vc '^$' "$folder/commands") lines of commands ($SECONDS s)"
}

run_gpu() { # in the guide's folder
    [ -n "$twin" ] || return 0
    (cd "$work/guide" && export FRETSAW_DEVICE_LIBRARY=$twin FRETSAW_TWIN_DEVICES=2 PATH=$bin:$PATH && eval "$(doc_block "$source/docs/gpu.md" gpu)") >"$work/gpu.log" 2>&1 ||
        { tail -n 20 "$work/gpu.log" >&2; wrong "docs/gpu.md"; }
    [ -s "$work/guide/gpu.csv" ] && grep -q '"device"' "$work/guide/runs/gpu/run.json" || wrong "docs/gpu.md: not computed on the twin"
    echo "-- docs/gpu.md ($SECONDS s)"
}

work=$(mktemp -d "${TMPDIR:-/tmp}/fretsaw-docs-XXXXXX")
trap 'rm -rf "$work"' EXIT
case $part in
    words)
        messages
        links
        marked
        unmarked
        options ;;
    commands)
        run_demo
        for page in "${run_pages[@]}"; do
            if [ $page = docs/records.md ]; then run_page $page guide; else run_page $page; fi # which looks at the guide's runs
        done
        run_gpu
        cmp "$work/README/submission.csv" "$work/guide/submission.csv" || wrong "README and the guide come to different submissions" ;;
esac
exit $((failures > 0))
