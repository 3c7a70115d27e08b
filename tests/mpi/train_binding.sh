#!/usr/bin/env bash
# Ranks bound to one core, or to fewer than there are: a warning with the flag that mends it, and threads by what each rank may use.
. "$(dirname "$0")/train_lib.sh"
[ -n "$mpi" ] && [ "$(nproc)" -ge 2 ] && command -v taskset >/dev/null || { echo "skipped: needs MPI, two cores and taskset"; exit 77; }
data train 40 1 1 5 120 30 0
one=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//') # a processor that we may use
all=$(nproc)
bound() { # MPIRUN-OPTION... -- COMMAND...: one step, what it says in $scratch/log
    local launch=("$mpi")
    while [ "$1" != -- ]; do launch+=("$1"); shift; done
    shift
    rm -rf "$scratch/run"
    env -u OMPI_MCA_hwloc_base_binding_policy timeout 90 "${launch[@]}" "$@" "$bin/train" --init random --config "$scratch" --train "$scratch/train" \
        --out "$scratch/run" --lanes 4 --batch 2 --max-length 16 --micro-tokens 32 --epochs 1 --max-steps 1 >"$scratch/log" 2>&1
}
expect 0 "ranks 0 and 1 on .* are bound to the same core and take turns, while its 2 ranks use 1 of $all cores: add --bind-to none" \
    bound -np 2 --bind-to none -- taskset -c "$one"
grep -q "2 ranks on 1 node, 1 thread each" "$scratch/log" || wrong "threads of two ranks on one core: $(said)"
[ "$(grep -c 'warning: .*bound' "$scratch/log")" = 1 ] || wrong "told more than once"
expect 0 "bound to 1 of its $all cores: add --bind-to none" bound -np 1 --bind-to core --
grep -q "1 thread each" "$scratch/log" || wrong "threads of a rank on one core: $(said)"
expect 0 "2 ranks on 1 node, $((all / 2)) threads\\? each" bound -np 2 --bind-to none --
grep -q "warning: .*bound" "$scratch/log" && wrong "unbound ranks are warned of: $(said)"
expect 0 "1 rank on 1 node, $all threads each" bound -np 1 --bind-to none --
grep -q "warning: .*bound" "$scratch/log" && wrong "an unbound rank is warned of: $(said)"
finish
