#!/usr/bin/env bash
# Very many made-up rows through preprocess and shard, within 300 MB a rank; the rows at the end of the last shard carry the ids that a CSV of them
# alone gives. Says how long each stage took, by the clock and of all processors, and how much disk it needed. bench/many_rows.sh runs it.
#   many_rows.sh BIN SOURCE [mpi]      FRETSAW_MANY_ROWS: how many (20,000,000; about 110 bytes of disk a row, and the tokens uncompressed meanwhile); TMPDIR: where
set -euo pipefail
bin=$1 source=$2 rows=${FRETSAW_MANY_ROWS:-20000000} last=1000
work=$(mktemp -d "${TMPDIR:-/tmp}/fretsaw-many-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
launch=()
if [ "${3:-}" = mpi ]; then launch=(mpirun -np 2); fi

make_rows() { # FIRST END: as a CSV without its header; every row is a function of its number
    awk -v first="$1" -v end="$2" 'BEGIN {
        n = split("you are not kind at all der Hund läuft schnell это очень хорошо 你好世界 यह अच्छा है !!! never always rotten friend 2021 @user", word, " ")
        for (i = first; i < end; i++) {
            text = ""
            for (k = 0; k < 3 + i % 11; k++)
                text = text (k ? " " : "") word[1 + (i * 7919 + k * k * 31 + int(i / 977)) % n]
            if (i % 5 == 0)
                text = "\"" text ",\n\"\"" i "\"\"\""
            printf "id%d,%s,%s,%d\n", i, text, i % 3 ? "en" : "de", i % 2
        }
    }'
}

stage() { # NAME WORDS...
    local name=$1 TIMEFORMAT='%R %U %S' wall user system
    shift
    read -r wall user system < <({ time "${launch[@]}" "$bin/$name" --quiet --memory 300M "$@" >"$name.said" 2>&3; } 3>&2 2>&1)
    echo "-- $name: $rows rows in $wall s ($user s of processors in the program, $system s in the system); $(du -sm "$work" | cut -f 1) MB of disk in all"
}

head='id,comment_text,lang,toxic'
{ echo "$head"; make_rows 0 "$rows"; } >all.csv
{ echo "$head"; make_rows $((rows - last)) "$rows"; } >end.csv
stage preprocess --vocab "$source/sample/model" --out tokens all.csv
stage shard --shuffle no --shards 16 --out shards tokens
"$bin/preprocess" --quiet --vocab "$source/sample/model" --out end end.csv >end.said
"$bin/shard" --export csv --out end.out end
"$bin/shard" --export csv --out last.out shards/shard-00015-of-00016.h5
tail -n +2 end.out >wanted
tail -n "$(wc -l <wanted)" last.out >got
[ "$(wc -l <wanted)" -eq "$last" ]
cmp wanted got
echo "the last $last rows carry the right ids"
