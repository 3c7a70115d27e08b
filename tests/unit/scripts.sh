#!/usr/bin/env bash
# What no script of the project may do: end a pipe before its writer has done. The writer then dies of SIGPIPE now and then, and with pipefail a
# condition that holds reads as one that does not.
#   tests/unit/scripts.sh SOURCE
set -euo pipefail
cd "$1"
wrong=0
early='\|&?[[:space:]]*(head([[:space:]]|$|\))|[ef]?grep[[:space:]]+([^|]*[[:space:]])?(-[a-zA-Z]*[qlm]|--quiet|--silent|--max-count|--files-with)|sed[[:space:]][^|]*[0-9/;{ ]q[;}'"'"' "]|awk[[:space:]][^|]*[;{ ]exit[;} ])'
judge() { grep -nE "$early" "$@" | grep -vE '^[^:]*:?[0-9]+:[[:space:]]*#|END \{ exit|\|\|[[:space:]]*[ef]?grep|tests/unit/scripts\.sh:'; }

# The rule itself: what it has to find and what it has to let pass.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bad=('x | grep -q y' 'x | grep -v -q y' 'x | grep -Eqx y' 'x | head -1' 'y=$(x | head)' 'x | grep -m 1 y' 'x | sed 1q ' "x | sed '/y/q'" "x | awk '{ print; exit }'" 'x |& grep --quiet y')
good=('x | sed -n 1p' 'x || grep -q y f' 'grep -q y <<<"$(x)"' 'head -n 1 f' '# x | head' "x | awk '{ n++ } END { exit n }'" 'x | grep -v y' 'x | tail -1')
for line in "${bad[@]}"; do
    printf '%s\n' "$line" >"$scratch/line"
    [ -n "$(judge "$scratch/line" || true)" ] || { echo "wrong: not found: $line"; wrong=1; }
done
for line in "${good[@]}"; do
    printf '%s\n' "$line" >"$scratch/line"
    [ -z "$(judge "$scratch/line" || true)" ] || { echo "wrong: found: $line"; wrong=1; }
done

mapfile -t scripts < <({ find bench jobs tests .ci -name '*.sh'; grep -rlIE '^#!.*(bash|/sh)' bench jobs tests .ci; } | sort -u)
[ ${#scripts[@]} -gt 50 ] || { echo "wrong: only ${#scripts[@]} scripts found"; wrong=1; }
for script in "${scripts[@]}"; do
    bash -n "$script" || wrong=1
    found=$(judge -H "$script" || true)
    [ -z "$found" ] || { echo "wrong: a pipe that is not read to its end (capture it, or sed -n 1p): $found"; wrong=1; }
done
exit $wrong
