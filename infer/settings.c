#include "infer/settings.h"

#include "common/files.h"
#include "infer/number.h"
#include "preprocess/csv.h"

settings infer_settings;

const option_program infer_program = {
    .name = "infer",
    .purpose = "scores rows with trained runs and writes submission.csv; blends and checks submissions",
    .usage = "[SUBMISSION]",
    .examples =
        "  mpirun -np 8 infer --run runs/one --input shards/test --sample-submission sample_submission.csv --out submission.csv\n"
        "  infer --run runs/one,runs/two --weights last,best --csv test.csv --out submission.csv     (mean of four)\n"
        "  infer --run runs/one --input shards/valid --truth labels.csv --out valid.csv              (AUC, pooled and per language)\n"
        "  infer --blend a.csv,b.csv --blend-weights 0.7,0.3 --sample-submission sample_submission.csv --out blend.csv\n"
        "  infer --validate submission.csv --sample-submission sample_submission.csv\n"
        "  infer --verify runs/one --csv train.csv,test.csv --input shards/test --sample-submission sample_submission.csv submission.csv\n",
};

#define FIELD(name) .field = &infer_settings.name
#define IDENTITY .kind = OPTION_IDENTITY
#define EXECUTION .kind = OPTION_EXECUTION

/* clang-format off */
const option infer_options[] = {
    {.name = "run", .type = OPTION_LIST, IDENTITY, FIELD(runs), .group = "What scores", .unit = "FOLDER,...",
     .help = "runs that train wrote; of several the mean"},
    {.name = "weights", .type = OPTION_LIST, IDENTITY, FIELD(weights), .fallback = "last", .group = "What scores", .unit = "NAME,...",
     .help = "last, best, epoch-N or step-NNNNNN of each run; of several the mean"},

    {.name = "input", .type = OPTION_LIST, IDENTITY, FIELD(input), .group = "Rows", .unit = "FOLDER,...", .help = "shards or parts to score"},
    {.name = "csv", .type = OPTION_LIST, IDENTITY, FIELD(csv), .group = "Rows", .unit = "FILE,...",
     .help = "CSVs to score, tokenized as the run's training data were (a stage of its own, its parts kept beside the predictions)"},
    {.name = "id-column", .type = OPTION_LIST, IDENTITY, FIELD(id_column), .given = &infer_settings.id_given, .fallback = "id", .group = "Rows",
     .unit = "NAME,...", .help = "heading of the ids in --csv and --truth, the first that is there; :number in --csv: the rows' numbers. This and the next: else as the run's training CSVs were read"},
    {.name = "text-column", .type = OPTION_LIST, IDENTITY, FIELD(text_column), .fallback = "comment_text,content,text", .group = "Rows",
     .unit = "NAME,...", .help = "heading of the texts in --csv, the first that is there"},
    {.name = "lang-column", .type = OPTION_LIST, IDENTITY, FIELD(lang_column), .given = &infer_settings.lang_given, .fallback = "lang", .group = "Rows", .unit = "NAME,...",
     .help = "heading of the languages in --csv, if there is one"},
    {.name = "dialect", .type = OPTION_CHOICE, IDENTITY, FIELD(dialect), .choices = "strict|pandas", .fallback = "strict", .group = "Rows",
     .help = "of --csv: RFC 4180, or whatever pandas reads (preprocess --csv)"},
    {.name = "delimiter", .type = OPTION_CHOICE, IDENTITY, FIELD(delimiter), .choices = CSV_DELIMITER_NAMES, .fallback = "comma", .group = "Rows",
     .help = "what stands between the fields of --csv and --truth"},

    {.name = "sample-submission", .type = OPTION_TEXT, IDENTITY, FIELD(sample), .group = "Output", .unit = "FILE",
     .help = "gives the header, the ids and their order; without it the ids are in the input's order under the heading they had, the scores under the labels' names"},
    {.name = "out", .type = OPTION_TEXT, EXECUTION, FIELD(out), .group = "Output", .unit = "FILE", .help = "the submission to write"},
    {.name = "decimals", .type = OPTION_INT, IDENTITY, FIELD(decimals), .given = &infer_settings.decimals_given, .min = 0,
     .max = NUMBER_MOST_DECIMALS, .group = "Output", .unit = "N", .help = "digits after the point; without it the fewest that read back the same float32"},
    {.name = "predictions", .type = OPTION_TEXT, EXECUTION, FIELD(predictions), .group = "Output", .unit = "FILE",
     .help = "also write id and scores of all labels in the input's order (for --blend)"},
    {.name = "report", .type = OPTION_TEXT, EXECUTION, FIELD(report), .group = "Output", .unit = "FILE", .help = "also write the AUC as JSON"},
    {.name = "stub-below", .type = OPTION_INT, IDENTITY, FIELD(stub_below), .min = 0, .max = 1e12, .group = "Output", .unit = "N",
     .help = "copy the sample when the input has fewer rows than this (a quick commit); 0: never"},

    {.name = "truth", .type = OPTION_TEXT, IDENTITY, FIELD(truth), .group = "Measuring", .unit = "FILE",
     .help = "CSV with ids and labels: print the AUC (labels in the input are used without it)"},
    {.name = "truth-columns", .type = OPTION_LIST, IDENTITY, FIELD(truth_columns), .group = "Measuring", .unit = "NAME,...",
     .help = "its columns, one for each label of the run; else those of the labels' names"},
    {.name = "unlabelled", .type = OPTION_REAL, IDENTITY, FIELD(unlabelled), .given = &infer_settings.unlabelled_given, .group = "Measuring",
     .unit = "VALUE", .help = "number in --truth or --csv that stands for no label"},

    {.name = "blend", .type = OPTION_LIST, IDENTITY, FIELD(blend), .group = "Without a run", .unit = "FILE,...",
     .help = "mean of submissions or predictions by id, into --out"},
    {.name = "blend-weights", .type = OPTION_LIST, IDENTITY, FIELD(blend_weights), .group = "Without a run", .unit = "X,...",
     .help = "one a file; else all equal"},
    {.name = "validate", .type = OPTION_TEXT, IDENTITY, FIELD(validate), .group = "Without a run", .unit = "FILE",
     .help = "check a submission against the sample: header, every id once, order, finite numbers, count"},
    {.name = "verify", .type = OPTION_LIST, IDENTITY, FIELD(verify), .group = "Without a run", .unit = "RUN,... SUBMISSION",
     .help = "check the chain of hashes from CSVs (--csv) over data (--input), recipe and weights of all runs that scored it to the submission; exit 6 "
             "says which link breaks"},

    {.name = "type", .type = OPTION_CHOICE, IDENTITY, FIELD(type), .fallback = "float32", .choices = "float32|bfloat16|float16", .group = "What scores",
     .help = "of activations and of the weights that products read, on a device"},

    {.name = "device", .type = OPTION_CHOICE, EXECUTION, FIELD(device), .fallback = "auto", .choices = "auto|cpu|cuda", .group = "Execution",
     .help = "where to compute: on CUDA devices, one a rank, or on the CPU; auto: on devices where every rank has one"},
    {.name = "attention", .type = OPTION_CHOICE, EXECUTION, FIELD(attention), .fallback = "own", .choices = "own|cudnn|auto", .group = "Execution",
     .help = "attention without attention dropout (scoring, validation) on a device: by the own kernel, by cuDNN's (bfloat16 and float16, from compute "
             "capability 8.0 on), or auto: by cuDNN's where every rank has it. Belongs to the scores"},
    {.name = "share-device", .type = OPTION_FLAG, EXECUTION, FIELD(share_device), .fallback = "no", .group = "Execution",
     .help = "let several ranks compute on one device: slower, for trials"},
    {.name = "micro-tokens", .type = OPTION_INT, EXECUTION, FIELD(micro_tokens), .fallback = "0", .min = 0, .max = 1e8, .group = "Execution",
     .unit = "M", .help = "most tokens computed at once by a rank: bounds its memory, changes no bit on the CPU; 0: 2048 on the CPU, 32768 on a device"},
    {.name = "block-rows", .type = OPTION_INT, EXECUTION, FIELD(block_rows), .fallback = "256", .min = 1, .max = 1e9, .group = "Execution",
     .unit = "N", .help = "rows a file of finished predictions: what a stop may lose"},
    {.name = "work", .type = OPTION_TEXT, EXECUTION, FIELD(folder), .group = "Execution", .unit = "FOLDER",
     .help = "for finished predictions; else the folder predictions beside --out"},
    {.name = "threads", .type = OPTION_INT, EXECUTION, FIELD(threads), .fallback = "0", .min = 0, .max = 4096, .group = "Execution", .unit = "N",
     .help = "threads a rank; 0: the cores that it may use, shared with the other ranks that may"},
    {.name = "cpu", .type = OPTION_CHOICE, EXECUTION, FIELD(cpu), .fallback = "auto", .choices = "auto|plain|avx2|avx512", .group = "Execution",
     .help = "vector instructions; changes no bit"},
    {.name = "profile", .type = OPTION_FLAG, EXECUTION, FIELD(profile), .fallback = "no", .group = "Execution",
     .help = "at the end say where the time of scoring went: seconds, GFLOP/s and GB/s by phase"},
    {.name = "data-memory", .type = OPTION_SIZE, EXECUTION, FIELD(data_memory), .fallback = "2G", .group = "Execution", .unit = "SIZE",
     .help = "a node may hold this much of decompressed tokens; beyond it a cache reads them in pieces"},
    {.name = "time-limit", .type = OPTION_SECONDS, EXECUTION, FIELD(time_limit), .group = "Execution", .unit = "TIME",
     .help = "stop after this with what is finished kept, exit 75; 0: none"},
    {.name = "grace", .type = OPTION_SECONDS, EXECUTION, FIELD(grace), .fallback = "60", .group = "Execution", .unit = "TIME",
     .help = "stop this long before the end of a Slurm job"},
    {0},
};
/* clang-format on */

static status only_with(bool given, const char *name, const char *needs)
{
    return given ? fail(STATUS_USAGE, "--%s goes with %s only; leave it out", name, needs) : STATUS_OK;
}

static status not_an_input(const settings *s, const char *file)
{
    if (file && file_same(s->out, file))
        return fail(STATUS_USAGE, "--out %s is the input %s itself, which would be overwritten; give another name", s->out, file);
    return STATUS_OK;
}

/* Before hours are spent on scoring: every file that is to be written can be. */
static status check_out(const settings *s)
{
    TRY(file_check_output(s->out));
    if (s->predictions)
        TRY(file_check_output(s->predictions));
    if (s->report)
        TRY(file_check_output(s->report));
    if (s->folder)
        TRY(file_check_output_folder(s->folder));
    TRY(not_an_input(s, s->sample));
    TRY(not_an_input(s, s->truth));
    for (size_t i = 0; i < s->csv.count; i++)
        TRY(not_an_input(s, s->csv.item[i]));
    for (size_t i = 0; i < s->blend.count; i++)
        TRY(not_an_input(s, s->blend.item[i]));
    return STATUS_OK;
}

static status check_predict(const settings *s)
{
    if (s->runs.count == 0)
        return fail(STATUS_USAGE, "nothing to do: give --run FOLDER with --input FOLDER or --csv FILE, or --blend FILES, or --validate FILE");
    if ((s->input.count == 0) == (s->csv.count == 0))
        return fail(STATUS_USAGE, "give the rows to score as --input FOLDER (shards or parts) or as --csv FILE%s", s->csv.count ? ", not both" : "");
    if (!s->out)
        return fail(STATUS_USAGE, "--out FILE is missing: where the submission goes");
    if (s->stub_below > 0 && !s->sample)
        return fail(STATUS_USAGE, "--stub-below copies the sample: give --sample-submission FILE");
    if (s->truth_columns.count > 0 && !s->truth)
        return fail(STATUS_USAGE, "--truth-columns goes with --truth FILE");
    return check_out(s);
}

status settings_check(const settings *s, settings_mode *mode)
{
    int asked = (s->runs.count > 0) + (s->blend.count > 0) + (s->validate != NULL) + (s->verify.count > 0);
    if (asked > 1)
        return fail(STATUS_USAGE, "--run, --blend, --validate and --verify are four things: give one of them");
    *mode = s->verify.count ? MODE_VERIFY : s->validate ? MODE_VALIDATE : s->blend.count ? MODE_BLEND : MODE_PREDICT;
    if (*mode == MODE_PREDICT)
        return check_predict(s);
    if (*mode == MODE_VERIFY)
        return s->out ? fail(STATUS_USAGE, "--out goes with --run or --blend only; name the submission to verify as the last word") : STATUS_OK;
    TRY(only_with(s->input.count + s->csv.count > 0, s->csv.count ? "csv" : "input", "--run"));
    TRY(only_with(s->truth != NULL, "truth", "--run"));
    TRY(only_with(s->report != NULL, "report", "--run"));
    TRY(only_with(s->predictions != NULL, "predictions", "--run"));
    TRY(only_with(s->stub_below > 0, "stub-below", "--run"));
    if (*mode == MODE_BLEND) {
        if (!s->out)
            return fail(STATUS_USAGE, "--out FILE is missing: where the blend goes");
        if (s->blend_weights.count && s->blend_weights.count != s->blend.count)
            return fail(STATUS_USAGE, "--blend has %zu files and --blend-weights %zu numbers; give one a file", s->blend.count, s->blend_weights.count);
        return check_out(s);
    }
    TRY(only_with(s->out != NULL, "out", "--run or --blend"));
    TRY(only_with(s->blend_weights.count > 0, "blend-weights", "--blend"));
    if (!s->sample)
        return fail(STATUS_USAGE, "--validate needs --sample-submission FILE to check against");
    return STATUS_OK;
}
