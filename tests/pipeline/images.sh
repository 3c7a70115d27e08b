#!/usr/bin/env bash
# The steps of the Dockerfile and of the Apptainer recipe, carried out in plain Debian roots without either tool: every line that copies, runs or
# sets, and at the end what the image starts, as its user.
# With `docs` it carries out the commands of docs/install.md that build packages.
#   images.sh SOURCE docker|apptainer|docs
set -euo pipefail
source=$1 kind=$2
. "$source/tests/support/debian_root.sh"
. "$source/tests/support/doc_block.sh"
debian_enclose "$0" "$@"
wrong() { echo "wrong: $*" >&2; exit 1; }
cd "$scratch"
declare -A root_of=()
root= user=root folder=/ settings=() entry= words=

new_stage() { # NAME
    [ -z "${1:-}" ] || [ -z "${root_of[$1]:-}" ] || wrong "two stages of one name: $1"
    root=$scratch/stage-${#root_of[@]}
    root_of[${1:-final}]=$root
    user=root folder=/ settings=()
    debian_root "$root"
}
copy_source() { # TO
    mkdir -p "$root/$1"
    tar -C "$source" --exclude=./.git --exclude='./build*' --exclude=./out -c . | tar -x -C "$root/$1"
}
run() { # COMMANDS
    in_root "$root" env "${settings[@]}" sh -ec "cd $folder; $1" >>run.log 2>&1 </dev/null || { tail -n 30 run.log >&2; wrong "$1"; }
}
start() { # WORDS...: as a container would, as its user
    [ "$user" = root ] || { set -- setpriv --reuid "$user" --regid "$user" --clear-groups "$@"; }
    in_root "$root" env HOME="$folder" "${settings[@]}" sh -c 'cd "$0" && exec "$@"' "$folder" "$@"
}

follow_dockerfile() {
    local line word rest to
    while IFS= read -r line; do
        word=${line%% *} rest=${line#* }
        case $word in
            FROM) [[ $rest =~ ^debian:12(" AS "([a-z]+))?$ ]] || wrong "FROM $rest"; new_stage "${BASH_REMATCH[2]:-}" ;;
            COPY)
                to=$root${rest##* } rest=${rest% *}
                if [ "$rest" = . ]; then
                    copy_source "${to#"$root"}"
                else
                    [[ $rest =~ ^--from=([a-z]+)" "(.*)$ ]] || wrong "COPY $rest"
                    cp "${root_of[${BASH_REMATCH[1]}]}"${BASH_REMATCH[2]} "$to"
                fi ;;
            RUN) run "$rest" ;;
            ENV) read -ra settings <<<"$rest" ;;
            USER) user=$rest ;;
            WORKDIR) folder=$rest ;;
            ENTRYPOINT) entry=$(tr -d '[]",' <<<"$rest") ;;
            CMD) words=$(tr -d '[]",' <<<"$rest") ;;
            *) wrong "a line that this test cannot follow: $line" ;;
        esac
    done < <(sed -e '/^#/d' -e '/^$/d' "$1" | sed -e ':a' -e '/\\$/{N;s/\\\n */ /;ba' -e '}')
}

follow_recipe() {
    local line section= script= from= to
    finish() {
        [ "$section" != post ] || run "$script"
        script=
    }
    while IFS= read -r line; do
        case $line in
            Bootstrap:*|From:*) finish; section= ;;
            Stage:*) new_stage "${line#Stage: }" ;;
            "%files from "*) finish; section=files from=${root_of[${line#%files from }]} ;;
            %files) finish; section=files from= ;;
            %*) finish; section=${line#%} ;;
            *)
                line=${line#    }
                case $section in
                    files)
                        to=${line#* }
                        if [ -n "$from" ]; then cp "$from${line% *}" "$root$to"; else copy_source "$to"; fi ;;
                    post) script+=$line$'\n' ;;
                    environment) settings+=("${line#export }") ;;
                    runscript) entry=${line#exec } entry=${entry% \"\$@\"} words=doctor ;;
                    test) checks=$line ;;
                    *) wrong "a line that this test cannot follow: $line" ;;
                esac ;;
        esac
    done < <(sed -e '/^#/d' -e '/^$/d' "$1")
    finish
    run "$checks"
}

case $kind in
    docker) follow_dockerfile "$source/jobs/package/Dockerfile" ;;
    apptainer) follow_recipe "$source/jobs/package/apptainer.def" ;;
    docs)
        new_stage
        copy_source /source
        folder=/source
        run "$(doc_block "$source/docs/install.md" build)"
        ls "$root"/source/out/packages/fretsaw_*.deb "$root"/source/out/packages/fretsaw-*-linux-x86_64.tar.gz "$root/root/fretsaw/share/man/man1/fretsaw.1" ||
            wrong "docs/install.md made no packages"
        exit 0 ;;
esac
[ "$entry" = fretsaw ] || wrong "the image starts $entry"
[ ${#root_of[@]} = 2 ] && ! in_root "$root" sh -c 'command -v cc || ls /source /build' >/dev/null 2>&1 || wrong "the image keeps what built it"
if [ "$kind" = apptainer ]; then # its user is whoever starts it
    user=someone folder=/home/someone
fi
start $entry $words || wrong "$entry $words"
[[ $(start mpirun -np 2 fretsaw preprocess --quiet --vocab /usr/share/fretsaw/sample/model --out tokens /usr/share/fretsaw/sample/test.csv) == *"800 rows"* ]] ||
    wrong "preprocess in the image"
