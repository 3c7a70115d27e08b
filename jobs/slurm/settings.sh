# What a chain of jobs runs on and with. Copy this file, change it, and give the copy to submit.sh.
BIN=build/release/bin                    # folder of the programs; of an installed fretsaw: its lib/fretsaw/bin
WORK=out/slurm                           # everything is written below it; must be seen by all nodes

# Inputs
VOCAB=mbert                              # Hugging Face model folder: config.json, vocab.txt, weights
TRAIN_CSV="jigsaw-toxic-comment-train.csv jigsaw-unintended-bias-train.csv"
VALID_CSV=validation.csv                 # empty: train without validation
TEST_CSV=test.csv
SAMPLE_SUBMISSION=sample_submission.csv

LABELS=""                                # label columns of the training and validation CSVs, as "rude,threat"; empty: toxic or target

# Options of the stages, beyond those above
PREPROCESS_OPTIONS=""
SHARD_OPTIONS="--shards 64 --sample 200000 --seed 42"
TRAIN_OPTIONS="--recipe recipes/jigsaw-mbert.conf --model mbert"
INFER_OPTIONS=""

# Several trainings instead of one, each a member of a job array; the submission is the mean of them all. With both: every seed on every fold.
SEEDS=""                                 # as "1 2 3": a training with each of these seeds
FOLDS=""                                 # as 5: a training without each fifth of the training rows, validated on that fifth instead of VALID_CSV
MEMBERS_AT_ONCE=""                       # at most so many at a time; empty: as many as Slurm will start

# Resources. With PREPROCESS_, SHARD_, TRAIN_ or INFER_ before its name, a setting of this part holds for that stage alone: for GPUs,
# TRAIN_PARTITION=gpu TRAIN_TASKS_PER_NODE=4 TRAIN_GPUS_PER_TASK=1, and the same with INFER_.
PARTITION=""                             # empty: the cluster's default
NODES=1
TASKS_PER_NODE=8                         # ranks; in train at most as many in all as the recipe has lanes
CPUS_PER_TASK=1                          # threads of a rank in train and infer
MEMORY_PER_NODE=""                       # as 32G; empty: the cluster's default
GPUS_PER_TASK=""                         # as 1, or with a type as a100:1; empty: none
SBATCH_OPTIONS=""                        # anything else for sbatch, as "--account=mine --mail-type=END"
# Time limits, of some minutes at least: a stage stops a minute or two before its limit, and its job goes back into the queue
PREPROCESS_TIME=01:00:00
SHARD_TIME=01:00:00
TRAIN_TIME=24:00:00
INFER_TIME=02:00:00

# How programs are found and started
LAUNCHER=srun                            # srun (through PMIx) or mpirun
MODULES=""                               # as "openmpi/4.1 hdf5/1.10"
CONTAINER=""                             # an Apptainer image with fretsaw (jobs/package/apptainer.def), which BIN then does not matter for
CONTAINER_OPTIONS=""                     # as "--nv --bind /scratch"
