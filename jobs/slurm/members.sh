# Sourced after the settings: the stages of the chain, and the trainings that it averages.
STAGES=(preprocess shard train infer)

# The value of a resource for a stage: TRAIN_NODES before NODES.
setting() { # STAGE NAME
    local own=${1^^}_$2
    [ "$1" != blend ] || own=INFER_$2
    echo "${!own:-${!2:-}}"
}

# A line for each training: its name, fold and seed ("-": none). One without a name where there is only one.
members() {
    local fold seed name
    [ -n "$SEEDS$FOLDS" ] || { echo "- - -"; return; }
    for fold in $([ -z "$FOLDS" ] && echo - || seq "$FOLDS"); do
        for seed in ${SEEDS:--}; do
            name=
            [ "$fold" = - ] || name=fold-$fold
            [ "$seed" = - ] || name=${name:+$name-}seed-$seed
            echo "$name $fold $seed"
        done
    done
}

run_of() { [ "$1" = - ] && echo "$WORK/run" || echo "$WORK/runs/$1"; } # NAME

SEEDS=${SEEDS:-} FOLDS=${FOLDS:-}
[ -z "$SEEDS$FOLDS" ] || STAGES+=(blend)
