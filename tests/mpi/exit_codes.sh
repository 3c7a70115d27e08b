#!/usr/bin/env bash
# Exit codes and messages of a failing rank, bare and under mpirun; every failure ends the whole job within 5 s.
set -uo pipefail
program=$1
failures=0
expect() { # CODE TEXT COMMAND...
    local want=$1 text=$2 begin=$SECONDS out code
    shift 2
    out=$(timeout -k 5 20 "$@" 2>&1)
    code=$?
    if [ $code != "$want" ] || [ $((SECONDS - begin)) -gt 5 ] || [ "$(grep -c -- "$text" <<<"$out")" != 1 ]; then
        printf 'wrong: exit %d (wanted %d) after %d s, "%s" not exactly once: %s\n%s\n' $code "$want" $((SECONDS - begin)) "$text" "$*" "$out"
        failures=$((failures + 1))
    fi
}
expect 3 "made to fail" "$program" --bad-rank 0
expect 2 "no option '--wrong'" "$program" --wrong
if command -v mpirun >/dev/null && [ "${2:-}" = mpi ]; then
    for code in 3 4 5 6; do
        expect $code "exit_program: rank 1 on .*: made to fail" mpirun -np 3 "$program" --bad-rank 1 --code $code
    done
    expect 3 "made to fail" mpirun -np 3 "$program" --bad-rank -2
    expect 6 "rank 2 on .*: made to fail" mpirun -np 3 "$program" --bad-rank 2 --code 6 --agree
    expect 2 "no option '--wrong'" mpirun -np 3 "$program" --wrong
fi
# Three tasks that each believe to be alone are refused.
OMPI_COMM_WORLD_SIZE= SLURM_PROCID=0 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=3 expect 2 "started 3 tasks" env -u OMPI_COMM_WORLD_SIZE "$program"
exit $((failures > 0))
