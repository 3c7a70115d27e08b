/* preprocess: CSVs to token parts, and `preprocess view`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/files.h"
#include "common/log.h"
#include "common/program.h"
#include "common/stop.h"
#include "preprocess/clean.h"
#include "preprocess/stage.h"
#include "preprocess/view.h"
#include "shard/settings.h"

static struct {
    const char *vocab, *out, *unlabelled;
    option_list id, text, lang, labels, fill, clean;
    bool lang_given, labels_given, fill_given;
    int lower, match, na, csv;
    int64_t split, memory, report_length, time_limit, shards, sample, seed;
    int shuffle;
    bool sample_given, seed_given, shuffle_given;
} o;

enum { NA_PANDAS, NA_KEEP, NA_PANDAS1 };
static int delimiter; /* one of csv_delimiters */

static const option table[] = {
    {.name = "vocab", .type = OPTION_TEXT, .field = &o.vocab, .group = "Input", .unit = "FOLDER|FILE",
     .help = "vocabulary: a model's folder with vocab.txt or tokenizer.json, or one of these files (required)"},
    {.name = "lower", .type = OPTION_CHOICE, .kind = OPTION_IDENTITY, .field = &o.lower, .fallback = "auto", .choices = "auto|yes|no", .group = "Input",
     .help = "lower-case and strip accents; auto: as tokenizer_config.json beside the vocabulary says"},
    {.name = "match", .type = OPTION_CHOICE, .kind = OPTION_IDENTITY, .field = &o.match, .fallback = "python", .choices = "python|rust",
     .group = "Input", .help = "whose ids: transformers' Python BertTokenizer (4.x), or the Rust tokenizers of its fast classes and of transformers 5"},
    {.name = "id-column", .type = OPTION_LIST, .kind = OPTION_IDENTITY, .field = &o.id, .fallback = "id", .group = "Input",
     .help = "name of the id column; of several the first that a file has; :number stands last, or alone, and numbers the rows from 0, over all files"},
    {.name = "text-column", .type = OPTION_LIST, .kind = OPTION_IDENTITY, .field = &o.text, .fallback = "comment_text,content,text", .group = "Input",
     .help = "name of the text column, likewise"},
    {.name = "lang-column", .type = OPTION_LIST, .kind = OPTION_IDENTITY, .field = &o.lang, .fallback = "lang", .given = &o.lang_given, .group = "Input",
     .help = "name of the language column, likewise; files may lack it unless you name it"},
    {.name = "labels", .type = OPTION_LIST, .kind = OPTION_IDENTITY, .field = &o.labels, .fallback = "toxic|target", .given = &o.labels_given,
     .group = "Input", .help = "label columns; a label with several names in the files has | between them, the first is its own. A file has all of them, "
                               "or none and is unlabelled"},
    {.name = "csv", .type = OPTION_CHOICE, .kind = OPTION_IDENTITY, .field = &o.csv, .fallback = "strict", .choices = "strict|pandas", .group = "Input",
     .help = "strict: RFC 4180, anything else is an error with its place; pandas: whatever pandas.read_csv takes, read as it reads it"},
    {.name = "delimiter", .type = OPTION_CHOICE, .kind = OPTION_IDENTITY, .field = &delimiter, .fallback = "comma", .choices = CSV_DELIMITER_NAMES,
     .group = "Input", .help = "what stands between the fields of the files; quotes are as in a CSV"},
    {.name = "unlabelled", .type = OPTION_TEXT, .kind = OPTION_IDENTITY, .field = &o.unlabelled, .unit = "NUMBER", .group = "Input",
     .help = "a number that stands for no label, such as -1, besides the empty field and missing-value words"},
    {.name = "na", .type = OPTION_CHOICE, .kind = OPTION_IDENTITY, .field = &o.na, .fallback = "pandas", .choices = "pandas|keep|pandas1", .group = "Input",
     .help = "texts such as NA, null and the empty one: missing, as pandas has it, or kept as they are; pandas1: as pandas before 2.0, where None is a text"},
    {.name = "fill", .type = OPTION_LIST, .kind = OPTION_IDENTITY, .field = &o.fill, .fallback = "none", .given = &o.fill_given, .group = "Input",
     .help = "text in place of a missing one; one for all files, or one for each"},
    {.name = "clean", .type = OPTION_LIST, .kind = OPTION_IDENTITY, .field = &o.clean, .fallback = "none", .group = "Input", .unit = "A,B,...",
     .help = "change the texts first, by any of: entities (HTML's, such as &amp;), urls, mentions (@name), ips (numeric addresses) taken out, repeats "
             "(of three or more of one character two stay)"},
    {.name = "out", .type = OPTION_TEXT, .field = &o.out, .group = "Output", .unit = "FOLDER", .help = "where the parts, or with --shards the shards, and manifest.json go (required)"},
    {.name = "split", .type = OPTION_SIZE, .kind = OPTION_IDENTITY, .field = &o.split, .fallback = "64M", .min = 1, .max = 0x1p50, .group = "Output",
     .help = "bytes of CSV behind each part"},
    {.name = "report-length", .type = OPTION_INT, .field = &o.report_length, .fallback = "192", .min = 3, .max = 1e9, .group = "Output", .unit = "N",
     .help = "maximum length, [CLS] and [SEP] included, that the report counts longer rows for"},
    /* Of these the shards' own identity tells, which shard's table makes. */
    {.name = "shards", .type = OPTION_INT, .field = &o.shards, .fallback = "0", .max = 99999, .group = "Straight to shards", .unit = "N",
     .help = "write this many shards, the same bytes as shard makes of the parts, and no parts; 0: parts. Who must stop and go on amid the reading, or wants "
             "shard's filters, makes parts"},
    {.name = "sample", .type = OPTION_INT, .field = &o.sample, .fallback = "0", .max = 4e18, .given = &o.sample_given, .group = "Straight to shards",
     .unit = "N", .help = "with --shards: only the first N rows of the final order; 0 takes all"},
    {.name = "seed", .type = OPTION_INT, .field = &o.seed, .fallback = "42", .max = 9e18, .given = &o.seed_given, .group = "Straight to shards", .unit = "N",
     .help = "with --shards: of the global shuffle"},
    {.name = "shuffle", .type = OPTION_CHOICE, .field = &o.shuffle, .choices = "yes|no", .fallback = "yes", .given = &o.shuffle_given,
     .group = "Straight to shards", .help = "with --shards: no keeps the order of the inputs"},
    {.name = "memory", .type = OPTION_SIZE, .field = &o.memory, .fallback = "1G", .min = 64 * 1024, .max = 0x1p50, .group = "Execution",
     .help = "memory a rank for reading, with --shards for all; a field may fill half of it"},
    {.name = "time-limit", .type = OPTION_SECONDS, .field = &o.time_limit, .fallback = "0", .group = "Execution",
     .help = "stop with exit code 75 after this time, whole parts or shards kept; 0: none"},
    {0},
};

static const option_program about = {
    .name = "preprocess",
    .purpose = "Turns comment CSVs into parts of tokens, or straight into shards.",
    .usage = "CSV...",
    .examples = "  preprocess --vocab mbert/ --out tokens/train train.csv more.csv\n"
                "  preprocess --vocab mbert/ --out tokens/train train.csv.gz more.csv.zst     (known by their content; one rank unpacks each)\n"
                "  mpirun -np 8 preprocess --vocab mbert/ --out tokens/train train.csv\n"
                "  preprocess --vocab mbert/ --out shards/train --shards 64 --sample 200000 train.csv     (what shard would make of tokens/train)\n"
                "  preprocess view --vocab mbert/ \"A text to look at.\"      (preprocess view --help)\n",
};

static struct {
    const char *vocab;
    int lower, match, truncate;
    int64_t max_length;
    bool pad, pair;
    option_list clean;
} v;

static const option view_table[] = {
    {.name = "vocab", .type = OPTION_TEXT, .field = &v.vocab, .group = "View", .unit = "FOLDER|FILE",
     .help = "vocabulary: a model's folder with vocab.txt or tokenizer.json, or one of these files (required)"},
    {.name = "lower", .type = OPTION_CHOICE, .field = &v.lower, .fallback = "auto", .choices = "auto|yes|no", .group = "View",
     .help = "lower-case and strip accents; auto: as tokenizer_config.json beside the vocabulary says"},
    {.name = "match", .type = OPTION_CHOICE, .field = &v.match, .fallback = "python", .choices = "python|rust", .group = "View",
     .help = "whose ids: transformers' Python BertTokenizer (4.x), or the Rust tokenizers of its fast classes and of transformers 5"},
    {.name = "clean", .type = OPTION_LIST, .field = &v.clean, .fallback = "none", .group = "View", .unit = "A,B,...",
     .help = "change the text first, by any of: entities, urls, mentions, ips, repeats (preprocess --help); the cleaned text is shown"},
    {.name = "max-length", .type = OPTION_INT, .field = &v.max_length, .fallback = "0", .min = 0, .max = 1e9, .group = "View", .unit = "N",
     .help = "cut to this length, [CLS] and [SEP] included; 0: uncut"},
    {.name = "pad", .type = OPTION_FLAG, .field = &v.pad, .group = "View", .help = "fill up to --max-length with [PAD]"},
    {.name = "truncate", .type = OPTION_CHOICE, .field = &v.truncate, .fallback = "head", .choices = "head|tail|head-tail", .group = "View",
     .help = "which tokens of a text too long stay"},
    {.name = "pair", .type = OPTION_FLAG, .field = &v.pair, .group = "View", .help = "of standard input the first line is one text, the rest the other"},
    {0},
};

static const option_program view_about = {
    .name = "preprocess view",
    .purpose = "Shows what the network gets for a text or a pair of texts.",
    .usage = "[TEXT [TEXT]]",
    .examples = "  preprocess view --vocab mbert/ \"You are kind.\"\n  preprocess view --vocab mbert/ --pair < two-texts.txt\n",
};

static status run_view(const option_list *words)
{
    option_list texts;
    bool stop = false, quiet = false;
    stop_release();
    TRY(options_parse(&view_about, view_table, (int)words->count, words->item, &texts, &stop, &quiet));
    if (stop)
        return STATUS_OK;
    if (!v.vocab)
        return fail(STATUS_USAGE, "--vocab is missing; name the vocabulary's folder or file");
    if (texts.count > 2)
        return fail(STATUS_USAGE, "%zu texts; give one, a pair, or none to read standard input", texts.count);
    if (v.pair && texts.count)
        return fail(STATUS_USAGE, "--pair is for standard input; with texts on the command line leave it out");
    view_options view = {.vocab = v.vocab, .settings = {.lower_case = (tokenizer_choice)v.lower, .match = (tokenizer_match)v.match},
                         .max_length = v.max_length, .pad = v.pad, .pair = v.pair,
                         .truncate = (view_truncate)v.truncate};
    TRY(clean_read_list(&v.clean, &view.settings.clean));
    for (size_t i = 0; i < texts.count; i++)
        view.text[i] = texts.item[i];
    return comm_rank() == 0 ? view_run(&view, stdout) : STATUS_OK;
}

/* Shards are what shard's own options say, so those are asked. */
static status set_shards(stage_options *stage, char **identity)
{
    static shard_options shards;
    char number[3][24], *words[] = {(char[]){"shard"}, (char[]){"--shards"}, number[0], (char[]){"--sample"}, number[1], (char[]){"--seed"}, number[2],
                                    (char[]){"--shuffle"}, o.shuffle == SHUFFLE_YES ? (char[]){"yes"} : (char[]){"no"}, NULL};
    if (o.shards == 0) {
        const char *given = o.sample_given ? "sample" : o.seed_given ? "seed" : o.shuffle_given ? "shuffle" : NULL;
        return given ? fail(STATUS_USAGE, "--%s is of shards; give --shards N, or leave it to shard", given) : STATUS_OK;
    }
    snprintf(number[0], sizeof number[0], "%lld", (long long)o.shards);
    snprintf(number[1], sizeof number[1], "%lld", (long long)o.sample);
    snprintf(number[2], sizeof number[2], "%lld", (long long)o.seed);
    TRY(settings_parse_shard(words, sizeof words / sizeof *words - 1));
    TRY(options_text(&shard_program, shard_table, true, identity));
    shards = shard_settings.make;
    shards.out = o.out;
    shards.memory = o.memory;
    stage->shards = &shards;
    stage->shards_identity = *identity;
    return STATUS_OK;
}

/* The options as the stage wants them; the identities are the caller's to free. */
static status set_stage(const option_list *words, stage_options *stage, char **identity, char **shards_identity)
{
    *stage = (stage_options){
        .inputs = words->item, .input_count = (int64_t)words->count, .vocab = o.vocab, .out = o.out, .split_bytes = o.split, .fill = o.fill,
        .tokenizer = {.lower_case = (tokenizer_choice)o.lower, .match = (tokenizer_match)o.match}, .report_length = o.report_length,
        .rules = {.na_keep = o.na == NA_KEEP, .na_old = o.na == NA_PANDAS1, .memory = o.memory,
                  .columns = {.id = o.id, .text = o.text, .lang = o.lang, .labels = o.labels, .lang_given = o.lang_given, .labels_given = o.labels_given}},
    };
    stage->delimiter = csv_delimiters[delimiter];
    stage->dialect = o.csv ? CSV_PANDAS : CSV_STRICT;
    stage->rules.columns.first_counts = o.csv;
    if (!o.vocab || !o.out)
        return fail(STATUS_USAGE, "--%s is missing; name the %s", o.vocab ? "out" : "vocab", o.vocab ? "folder for what is made" : "vocabulary's folder or file");
    TRY(file_check_output_folder(o.out));
    if (o.na == NA_KEEP && o.fill_given)
        return fail(STATUS_USAGE, "--fill has no use with --na keep, which takes no text as missing; leave one of them out");
    if (o.unlabelled && o.unlabelled[0]) {
        TRY(option_read_real("unlabelled", o.unlabelled, &stage->rules.label.unlabelled));
        stage->rules.label.has_unlabelled = true;
    }
    TRY(clean_read_list(&o.clean, &stage->tokenizer.clean));
    TRY(options_text(&about, table, true, identity));
    stage->identity = *identity;
    return set_shards(stage, shards_identity);
}

static status run(const option_list *words)
{
    stage_options stage;
    char *identity = NULL, *shards_identity = NULL;
    if (words->count && strcmp(words->item[0], "view") == 0)
        return comm_agree(run_view(words));
    status st = comm_agree(set_stage(words, &stage, &identity, &shards_identity));
    if (st == STATUS_OK) {
        stop_open(o.time_limit, 60);
        st = stage_run(&stage, stdout);
    }
    if (st == STATUS_STOPPED && !o.shards) /* shards tell themselves */
        log_warn("stopped (%s); whole parts are kept: run the same command again", stop_wanted() ? stop_reason() : "another rank was asked to");
    free(identity);
    free(shards_identity);
    return st;
}

int main(int argc, char **argv)
{
    static const char *const commands[] = {"view", NULL};
    return program_main(&(program){.options = &about, .table = table, .run = run, .commands = commands}, argc, argv);
}
