#include "train/options.h"

#include <inttypes.h>
#include <string.h>

#include "common/binding.h"
#include "common/comm.h"

train_options train_given;

const option_program train_about = {
    .name = "train",
    .purpose = "fine-tunes BERT on shards: the same bytes for any number of ranks and threads and any sequence of kills and resumes",
    .usage = "[RUN]",
    .examples = "  mpirun -np 8 train --recipe recipes/jigsaw-mbert.conf --model mbert/ --train shards/train --valid shards/valid --out runs/one\n"
                "  train --plan --recipe recipes/jigsaw-mbert.conf --model mbert/ --train shards/train --out runs/one\n"
                "  train --diff runs/one runs/two            (exit 6: they part, and where)\n"
                "  mpirun -np 8 train --replay 812 runs/one  (exit 6: step 812 comes out otherwise)\n"
                "The same command again continues a run that was stopped, at any number of ranks.\n",
};

#define IDENTITY .kind = OPTION_IDENTITY
#define EXECUTION .kind = OPTION_EXECUTION
#define FIELD(name) .field = &train_given.name

const option train_table[] = {
    {.name = "model", .type = OPTION_TEXT, EXECUTION, FIELD(model), .group = "Inputs", .unit = "DIR",
     .help = "Hugging Face folder: config.json, vocab.txt or tokenizer.json, model.safetensors or pytorch_model.bin"},
    {.name = "init", .type = OPTION_CHOICE, IDENTITY, FIELD(init), .fallback = "pretrained", .choices = "pretrained|random",
     .group = "Inputs",
     .help = "start from the model's weights, or from random ones of the shape in --config (or --model)"},
    {.name = "config", .type = OPTION_TEXT, EXECUTION, FIELD(config), .group = "Inputs", .unit = "FILE",
     .help = "config.json, or the folder that has it, for --init random"},
    {.name = "vocab", .type = OPTION_TEXT, EXECUTION, FIELD(vocab), .group = "Inputs", .unit = "FILE",
     .help = "vocabulary (vocab.txt, tokenizer.json or a folder with one), where it does not lie beside the model or the config"},
    {.name = "init-from", .type = OPTION_TEXT, EXECUTION, FIELD(init_from), .group = "Inputs", .unit = "RUN",
     .help = "start from another run's last weights, head included, with a fresh optimizer"},
    {.name = "train", .type = OPTION_LIST, EXECUTION, FIELD(train), .group = "Inputs", .unit = "DIR,...",
     .help = "shards or parts to train on; several are one after another, then permuted as a whole"},
    {.name = "valid", .type = OPTION_LIST, EXECUTION, FIELD(valid), .group = "Inputs", .unit = "DIR,...",
     .help = "shards or parts to validate on after each epoch"},
    {.name = "drop-unlabelled", .type = OPTION_FLAG, IDENTITY, FIELD(drop_unlabelled), .fallback = "no", .group = "Inputs",
     .help = "leave training rows without labels out instead of refusing them"},

    {.name = "out", .type = OPTION_TEXT, EXECUTION, FIELD(out), .group = "Output", .unit = "RUN",
     .help = "folder of the run; an unfinished run there is continued"},
    {.name = "checkpoint-every", .type = OPTION_INT, EXECUTION, FIELD(checkpoint_every), .fallback = "0", .min = 0,
     .max = 1e15, .group = "Output",
     .unit = "N", .help = "save every N steps besides each epoch's end; 0: not by steps"},
    {.name = "checkpoint-minutes", .type = OPTION_INT, EXECUTION, FIELD(checkpoint_minutes), .fallback = "30", .min = 0,
     .max = 1e6, .group = "Output",
     .unit = "N", .help = "save when N minutes have passed since the last save; 0: not by time"},
    {.name = "keep", .type = OPTION_INT, EXECUTION, FIELD(keep), .fallback = "2", .min = 1, .max = 1e6, .group = "Output",
     .unit = "K",
     .help = "how many checkpoints with optimizer state stay"},

    {.name = "lanes", .type = OPTION_INT, IDENTITY, FIELD(lanes), .fallback = "8", .min = 1, .max = 4096, .group = "Recipe",
     .unit = "N",
     .help = "fixed logical workers; ranks share them out, so at most this many ranks"},
    {.name = "batch", .type = OPTION_INT, IDENTITY, FIELD(batch), .fallback = "64", .min = 1, .max = 1e6, .group = "Recipe",
     .unit = "ROWS", .help = "rows a lane and step"},
    {.name = "epochs", .type = OPTION_INT, IDENTITY, FIELD(epochs), .fallback = "2", .min = 1, .max = 60000,
     .group = "Recipe", .unit = "N",
     .help = "passes over the training rows"},
    {.name = "max-steps", .type = OPTION_INT, IDENTITY, FIELD(max_steps), .fallback = "0", .min = 0, .max = 1e15,
     .group = "Recipe", .unit = "N",
     .help = "end after N steps, also within an epoch; the schedule ends there too; 0: whole epochs"},
    {.name = "max-length", .type = OPTION_INT, IDENTITY, FIELD(max_length), .fallback = "192", .min = 3, .max = 512,
     .group = "Recipe", .unit = "TOKENS",
     .help = "most tokens of a row, [CLS] and [SEP] included"},
    {.name = "truncate", .type = OPTION_CHOICE, IDENTITY, FIELD(truncate), .fallback = "head",
     .choices = "head|tail|head-tail", .group = "Recipe",
     .help = "which tokens of a longer row stay"},
    {.name = "pooling", .type = OPTION_CHOICE, IDENTITY, FIELD(pooling), .fallback = "real", .choices = "real|padded",
     .group = "Recipe",
     .help = "mean and max over a row's own tokens, or over max-length places with the padding"},
    {.name = "deal", .type = OPTION_CHOICE, IDENTITY, FIELD(deal), .fallback = "balanced", .choices = "balanced|strided",
     .group = "Recipe",
     .help = "rows to lanes by length, or slot modulo lanes"},
    {.name = "reshuffle", .type = OPTION_CHOICE, IDENTITY, FIELD(reshuffle), .fallback = "yes", .choices = "yes|no", .group = "Recipe",
     .help = "another order in each epoch, or the first epoch's in all"},
    {.name = "order", .type = OPTION_TEXT, EXECUTION, FIELD(order), .group = "Recipe", .unit = "FILE",
     .help = "order of an epoch from a file, one row number (from 0, over all of --train) a line; rows may come twice or never; goes with "
             "--reshuffle no"},
    {.name = "reduce", .type = OPTION_CHOICE, IDENTITY, FIELD(reduce), .fallback = "exact", .choices = "exact|fast", .group = "Recipe",
     .help = "how gradients of ranks are added: by the fixed tree over lanes, or by MPI's own sum, whose bits depend on the number of ranks"},
    {.name = "type", .type = OPTION_CHOICE, IDENTITY, FIELD(type), .fallback = "float32", .choices = "float32|bfloat16|float16", .group = "Recipe",
     .help = "of activations and of the weights that products read, on a device; sums, gradients and the weights that are trained are float32"},
    {.name = "seed", .type = OPTION_INT, IDENTITY, FIELD(seed), .fallback = "42", .min = 0, .max = 9007199254740992.0,
     .group = "Recipe", .unit = "N",
     .help = "of the order, of dropout and of initial weights"},
    {.name = "dropout", .type = OPTION_REAL, IDENTITY, FIELD(dropout), .fallback = "0.1", .min = 0, .max = 0.99,
     .group = "Recipe", .unit = "P",
     .help = "of hidden states inside BERT"},
    {.name = "attention-dropout", .type = OPTION_REAL, IDENTITY, FIELD(attention_dropout), .fallback = "0.1", .min = 0,
     .max = 0.99, .group = "Recipe",
     .unit = "P", .help = "of attention probabilities"},
    {.name = "head-dropout", .type = OPTION_REAL, IDENTITY, FIELD(head_dropout), .fallback = "0.3", .min = 0, .max = 0.99,
     .group = "Recipe", .unit = "P",
     .help = "before the output layer"},

    {.name = "lr", .type = OPTION_REAL, IDENTITY, FIELD(lr), .fallback = "4e-06", .min = 0, .max = 10, .group = "Optimizer",
     .unit = "RATE",
     .help = "learning rate, before --scale-lr"},
    {.name = "scale-lr", .type = OPTION_TEXT, IDENTITY, FIELD(scale_lr), .fallback = "1", .group = "Optimizer", .unit = "N|lanes",
     .help = "factor on --lr: a number, or the number of lanes (never of ranks)"},
    {.name = "beta1", .type = OPTION_REAL, IDENTITY, FIELD(beta1), .fallback = "0.9", .min = 0, .max = 0.9999999,
     .group = "Optimizer", .help = "decay of the first moment"},
    {.name = "beta2", .type = OPTION_REAL, IDENTITY, FIELD(beta2), .fallback = "0.999", .min = 0, .max = 0.9999999,
     .group = "Optimizer",
     .help = "decay of the second moment"},
    {.name = "epsilon", .type = OPTION_REAL, IDENTITY, FIELD(epsilon), .fallback = "1e-06", .min = 1e-30, .max = 1,
     .group = "Optimizer",
     .help = "added to sqrt(v) before the bias correction"},
    {.name = "weight-decay", .type = OPTION_REAL, IDENTITY, FIELD(weight_decay), .fallback = "0.001", .min = 0, .max = 10,
     .group = "Optimizer",
     .help = "everywhere but in biases and layer norms"},
    {.name = "schedule", .type = OPTION_CHOICE, IDENTITY, FIELD(schedule), .fallback = "linear", .choices = "linear|constant",
     .group = "Optimizer",
     .help = "linear: to zero over --schedule-steps"},
    {.name = "schedule-steps", .type = OPTION_CHOICE, IDENTITY, FIELD(schedule_steps), .fallback = "run", .choices = "run|rows",
     .group = "Optimizer",
     .help = "length of the schedule: the steps that really run, or the notebook's int(rows / batch / lanes * epochs)"},
    {.name = "warmup", .type = OPTION_INT, IDENTITY, FIELD(warmup), .fallback = "0", .min = 0, .max = 1e15,
     .group = "Optimizer", .unit = "STEPS",
     .help = "steps of linear rise from zero"},

    {.name = "device", .type = OPTION_CHOICE, EXECUTION, FIELD(device), .fallback = "auto", .choices = "auto|cpu|cuda", .group = "Execution",
     .help = "where to compute: on CUDA devices, one a rank, or on the CPU; auto: on devices where every rank has one. A run stays where it was begun"},
    {.name = "attention", .type = OPTION_CHOICE, EXECUTION, FIELD(attention), .fallback = "own", .choices = "own|cudnn|auto", .group = "Execution",
     .help = "attention without attention dropout (scoring, validation) on a device: by the own kernel, by cuDNN's (bfloat16 and float16, from compute "
             "capability 8.0 on), or auto: by cuDNN's where every rank has it. Belongs to the run"},
    {.name = "share-device", .type = OPTION_FLAG, EXECUTION, FIELD(share_device), .fallback = "no", .group = "Execution",
     .help = "let several ranks compute on one device: slower, for trials"},
    {.name = "micro-tokens", .type = OPTION_INT, EXECUTION, FIELD(micro_tokens), .fallback = "0", .min = 0, .max = 1 << 24,
     .group = "Execution",
     .unit = "M", .help = "most tokens computed at once: bounds the memory; changes no bit on the CPU, and belongs to the run on a device; 0: 1536 on the CPU, 16384 on a device"},
    {.name = "threads", .type = OPTION_INT, EXECUTION, FIELD(threads), .fallback = "0", .min = 0, .max = 4096,
     .group = "Execution", .unit = "N",
     .help = "threads a rank; 0: the cores that it may use, shared with the other ranks that may"},
    {.name = "cpu", .type = OPTION_CHOICE, EXECUTION, FIELD(cpu), .fallback = "auto", .choices = "auto|plain|avx2|avx512",
     .group = "Execution",
     .help = "instruction set of the kernels; all give the same bits"},
    {.name = "data-memory", .type = OPTION_SIZE, EXECUTION, FIELD(data_memory), .fallback = "4G", .group = "Execution",
     .unit = "SIZE",
     .help = "tokens of a set kept decompressed once a node up to this size, else read through a cache"},
    {.name = "time-limit", .type = OPTION_SECONDS, EXECUTION, FIELD(time_limit), .fallback = "0", .group = "Execution",
     .unit = "TIME",
     .help = "stop with everything saved after this time (exit code 75); 0: none. Slurm's end time is obeyed without it"},
    {.name = "grace", .type = OPTION_SECONDS, EXECUTION, FIELD(grace), .fallback = "120s", .group = "Execution", .unit = "TIME",
     .help = "stop this long before Slurm's end time"},
    {.name = "profile", .type = OPTION_FLAG, EXECUTION, FIELD(profile), .fallback = "no", .group = "Execution",
     .help = "at the end say where the steps' time went: seconds, GFLOP/s and GB/s by phase (the first step left out where there are more)"},
    {.name = "plan", .type = OPTION_FLAG, EXECUTION, FIELD(plan), .fallback = "no", .group = "Execution",
     .help = "say what the run needs (memory, disk, work, hours here and on known graphics cards), then end"},

    {.name = "diff", .type = OPTION_TEXT, EXECUTION, FIELD(diff), .group = "Checks", .unit = "RUN RUN",
     .help = "say at which step, tensor and element two runs part; trains nothing"},
    {.name = "replay", .type = OPTION_INT, EXECUTION, FIELD(replay), .fallback = "0", .min = 0, .max = 1e15, .group = "Checks",
     .unit = "STEP RUN",
     .help = "compute a step of RUN once more from the checkpoint before it and compare loss and state hash with its metrics.jsonl; options "
             "that are not given are those of the run's last start, with its paths"},
    {0},
};

static status check_order(void)
{
    const train_options *o = &train_given;
    if (o->order && o->reshuffle != RESHUFFLE_NO)
        return fail(STATUS_USAGE, "--order gives the order of every epoch: add --reshuffle no");
    return STATUS_OK;
}

static status check_scale(void)
{
    double scale = (double)train_given.lanes;
    if (strcmp(train_given.scale_lr, "lanes") != 0) {
        if (option_read_real("scale-lr", train_given.scale_lr, &scale) != STATUS_OK || !(scale > 0 && scale < 1e6))
            return fail(STATUS_USAGE, "--scale-lr %s: a number above 0 or the word lanes is needed", train_given.scale_lr);
    }
    train_given.peak_rate = train_given.lr * scale;
    return STATUS_OK;
}

static status check_inputs(void)
{
    const train_options *o = &train_given;
    if (o->train.count == 0)
        return fail(STATUS_USAGE, "--train DIR is missing: the folder that shard (or preprocess) wrote");
    if (!o->out)
        return fail(STATUS_USAGE, "--out RUN is missing: the folder for checkpoints and records");
    if (o->init == INIT_RANDOM && o->init_from)
        return fail(STATUS_USAGE, "--init random and --init-from exclude each other");
    if (o->init_from && (o->model || o->config))
        return fail(STATUS_USAGE, "--init-from brings its own model: leave --model and --config out");
    if (o->init == INIT_RANDOM && !o->config && !o->model)
        return fail(STATUS_USAGE, "--init random needs --config FILE (a config.json), or --model DIR for its shape");
    if (o->init == INIT_PRETRAINED && o->config)
        return fail(STATUS_USAGE, "--config goes with --init random; --model has its own config.json");
    if (o->init == INIT_PRETRAINED && !o->model && !o->init_from)
        return fail(STATUS_USAGE, "--model DIR is missing (or --init random with --config FILE, or --init-from RUN)");
    return STATUS_OK;
}

status train_options_check(const option_list *words)
{
    train_options *o = &train_given;
    if (words->count > 0)
        return fail(STATUS_USAGE, "'%s': train takes options only; RUN goes with --diff and --replay", words->item[0]);
    TRY(check_inputs());
    TRY(check_scale());
    TRY(check_order());
    if (comm_size() > o->lanes)
        return fail(STATUS_USAGE,
                    "%d ranks for %" PRId64 " lanes: a rank needs at least one; start at most %" PRId64 " ranks",
                    comm_size(), o->lanes, o->lanes);
    if (o->micro_tokens > 0 && o->micro_tokens < o->max_length)
        return fail(STATUS_USAGE,
                    "--micro-tokens %" PRId64 " is below --max-length %" PRId64 ": the longest row must fit",
                    o->micro_tokens, o->max_length);
    return binding_threads(o->threads, &o->threads);
}
