#!/usr/bin/env bash
# The front program, its doctor, and what is made of the tables of options: pages for man and completion for bash.
#   front.sh BUILD SOURCE
set -euo pipefail
build=$1 source=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/fretsaw-front-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
fretsaw=$build/bin/fretsaw
. "$source/jobs/mpi.sh"
wrong() { echo "wrong: $*" >&2; exit 1; }
exits() { # CODE COMMAND... : output in the file `said`
    local want=$1 code=0
    shift
    "$@" >said 2>&1 || code=$?
    [ $code = "$want" ] || { cat said >&2; wrong "exit $code, not $want: $*"; }
}
says() { grep -qE -- "$1" said || { cat said >&2; wrong "no line with $1"; }; }

exits 2 "$fretsaw"
exits 0 "$fretsaw" --version
says '^fretsaw [0-9]'
exits 2 "$fretsaw" trian
says "no command 'trian'.*train"
exits 2 "$fretsaw" ../bin/train
exits 4 "$fretsaw" share
says "lie in the source folder, $(realpath "$source")\$"
exits 0 "$fretsaw" help shard
"$build/bin/shard" --help | cmp - said
exits 2 "$fretsaw" shard --no-such-option
exits 0 mpirun -np 2 "$fretsaw" preprocess view --vocab "$source/sample/model" "One text"

# Found beside itself wherever it lies, also through a link; nothing else of the tree is needed to say what is missing.
mkdir -p moved/bin moved/lib/fretsaw/bin elsewhere
cp "$fretsaw" moved/bin/
cp "$build/bin/shard" moved/lib/fretsaw/bin/
ln -s "$work/moved/bin/fretsaw" elsewhere/fretsaw
exits 0 elsewhere/fretsaw shard --version
exits 2 elsewhere/fretsaw train --version
exits 4 elsewhere/fretsaw share
mkdir -p moved/share/fretsaw/recipes
[ "$(elsewhere/fretsaw share)" = "$(realpath moved/share/fretsaw)" ] || wrong "share"

# A recipe that is not in the working folder is one of those that came along.
printf '[shard]\nshards = none\n' >moved/share/fretsaw/recipes/own.conf
exits 2 elsewhere/fretsaw shard --recipe recipes/own.conf
says 'share/fretsaw/recipes/own.conf, line 2: --shards'
exits 2 "$build/bin/train" --recipe recipes/tiny.conf
says '--train DIR is missing'
mkdir recipes
printf '[train]\nbatch = none\n' >recipes/tiny.conf
exits 2 "$build/bin/train" --recipe recipes/tiny.conf
says '^train: recipes/tiny.conf, line 2: --batch'
exits 3 "$build/bin/train" --recipe recipes/none.conf
says 'recipes/none.conf'

# Every option of --help is on the page and among the words.
for name in preprocess shard train infer report doctor; do
    "$build/bin/$name" --help | grep -oE '^  --[a-z0-9-]+' | tr -d ' ' >options
    [ "$(wc -l <options)" -gt 4 ] || wrong "few options: $name"
    while read -r option; do
        grep -qF -- "\\fB${option//-/\\-}\\fR" "$build/man/fretsaw-$name.1" || wrong "$option is not on the page of $name"
        grep -qx -- "$option" <<<"$(cut -f1 "$build/man/$name.words")" || wrong "$option is not among the words of $name"
    done <options
    if command -v groff >/dev/null; then
        groff -man -Tascii -ww "$build/man/fretsaw-$name.1" 2>&1 >/dev/null | tee warnings
        [ ! -s warnings ] || wrong "the page of $name"
    fi
done

complete_words() { # WORD... : what bash would offer for the last
    bash -c '. "$0" && COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) && _fretsaw && echo "${COMPREPLY[@]}"' "$build/man/completion.bash" "$@"
}
[ "$(complete_words fretsaw tr)" = train ] || wrong "completion of a command"
[ "$(complete_words fretsaw train --cpu av)" = "avx2 avx512" ] || wrong "completion of a value"
[ "$(complete_words fretsaw train --lan)" = --lanes ] || wrong "completion of an option: $(complete_words fretsaw train --lan)"
touch my.conf
[ "$(complete_words fretsaw infer --run my.c)" = my.conf ] || wrong "completion of a file"

# The doctor: well here, and it sees what is made wrong.
exits 0 "$fretsaw" doctor
for line in 'ok +shared' 'ok +folder' 'ok +hdf5' 'ok +mpi .*2 ranks' 'ok +binding' 'processor' 'cores' 'memory' 'gpu' 'locks' 'All is well'; do says "$line"; done
exits 1 "$fretsaw" doctor --folder "$work/no-such-folder"
says '^FIX +folder'
mkdir tools
ln -s "$(command -v true)" tools/true
exits 1 env PATH="$work/tools" "$fretsaw" doctor
says '^FIX +launcher'
printf '#!/bin/sh\nexec taskset -c "$(taskset -cp $$ | sed "s/.*: *//;s/[-,].*//")" %s "$@"\n' "$(command -v mpirun)" >tools/mpirun
chmod 755 tools/mpirun
if [ "$(nproc)" -gt 1 ]; then
    exits 1 env PATH="$work/tools:$PATH" "$fretsaw" doctor
    says '^FIX +binding +mpirun binds 2 ranks to 1 of'
fi
printf '#!/bin/sh\n[ "$1" = --version ] && echo "mpirun (Open MPI) 4.1.4" && exit\necho "no slots"; exit 1\n' >tools/mpirun
exits 1 env PATH="$work/tools:$PATH" "$fretsaw" doctor
says '^FIX +mpi .*no slots'
exits 1 bash -c 'ulimit -n 100; exec "$0" doctor' "$fretsaw"
says '^FIX +limits'
exits 2 "$fretsaw" doctor --ranks 0
if [ "$(id -u)" = 0 ]; then
    exits 1 env -u OMPI_ALLOW_RUN_AS_ROOT -u OMPI_ALLOW_RUN_AS_ROOT_CONFIRM "$fretsaw" doctor
    says 'as root: export OMPI_ALLOW_RUN_AS_ROOT'
fi
[ -z "$(ls -A | grep fretsaw-doctor || true)" ] || wrong "the doctor left a file behind"
