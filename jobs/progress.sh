# Sourced: a long command whose words go to a file, and a line now and then that tells where it stands.
#     with_progress LOG WHAT COMMAND...     # "WHAT (40 s): last line of LOG"; ends with the command's exit code
# On a terminal the line is written over, else there is one every 10 s (PROGRESS_SECONDS).
tell_progress() { # LOG WHAT PROCESS
    local begin=$SECONDS last=$SECONDS every=${PROGRESS_SECONDS:-10} line
    [ ! -t 1 ] || every=1
    while kill -0 "$3" 2>/dev/null; do
        sleep 1 >/dev/null 2>&1
        [ $((SECONDS - last)) -ge "$every" ] || continue
        last=$SECONDS line=$(tail -c 2000 "$1" | tr '\r' '\n' | grep -v '^ *$' | tail -n 1 | cut -c 1-70) || true
        if [ -t 1 ]; then printf '\r\033[K%s (%d s): %s' "$2" $((SECONDS - begin)) "$line"; else printf '%s (%d s): %s\n' "$2" $((SECONDS - begin)) "$line"; fi
    done
}
with_progress() {
    local log=$1 what=$2 code=0 teller
    shift 2
    : >"$log"
    tell_progress "$log" "$what" $$ &
    teller=$!
    "$@" >>"$log" 2>&1 || code=$?
    kill "$teller" 2>/dev/null
    wait "$teller" 2>/dev/null || true
    [ ! -t 1 ] || printf '\r\033[K'
    return $code
}
