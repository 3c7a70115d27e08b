# What a chain of jobs runs on and with. Copy this file, change it, and give the copy to submit.sh.
BIN=build/release/bin                    # folder of the four programs
WORK=out/slurm                           # everything is written below it; must be seen by all nodes

# Inputs
VOCAB=mbert                              # Hugging Face model folder: config.json, vocab.txt, weights
TRAIN_CSV="jigsaw-toxic-comment-train.csv jigsaw-unintended-bias-train.csv"
VALID_CSV=validation.csv                 # empty: train without validation
TEST_CSV=test.csv
SAMPLE_SUBMISSION=sample_submission.csv

# Options of the stages, beyond those above
PREPROCESS_OPTIONS=""
SHARD_OPTIONS="--shards 64 --sample 200000 --seed 42"
TRAIN_OPTIONS="--recipe recipes/jigsaw-mbert.conf --model mbert"
INFER_OPTIONS=""

# Slurm
PARTITION=""                             # empty: the cluster's default
NODES=1
TASKS_PER_NODE=8                         # ranks; at most as many in all as the recipe has lanes
CPUS_PER_TASK=1                          # threads of a rank in train and infer
MEMORY_PER_NODE=""                       # as 32G; empty: the cluster's default
# Time limits, of some minutes at least: a stage stops a minute or two before its limit, and its job goes back into the queue
PREPROCESS_TIME=01:00:00
SHARD_TIME=01:00:00
TRAIN_TIME=24:00:00
INFER_TIME=02:00:00
LAUNCHER=srun                            # srun (through PMIx) or mpirun
MODULES=""                               # as "openmpi/4.1 hdf5/1.10"
