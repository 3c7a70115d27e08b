#include <stdlib.h>

#include "common/files.h"
#include "common/program.h"
#include "common/stop.h"
#include "shard/inspect.h"
#include "shard/shard.h"

enum { EXPORT_NONE, EXPORT_CSV };

static shard_options o;
static bool wants_info, wants_verify;
static int format;

static const option table[] = {
    {.name = "out", .type = OPTION_TEXT, .field = &o.out, .group = "Output", .unit = "FOLDER",
     .help = "where the shards and their manifest.json go; with --export the CSV file (default there: standard output)"},
    {.name = "shards", .type = OPTION_INT, .kind = OPTION_IDENTITY, .field = &o.shards, .fallback = "64", .min = 1, .max = 99999,
     .group = "Output", .unit = "N", .help = "number of shard files"},
    {.name = "lang", .type = OPTION_LIST, .kind = OPTION_IDENTITY, .field = &o.lang, .group = "Rows", .unit = "A,B,...",
     .help = "only rows of these languages (default: all)"},
    {.name = "source", .type = OPTION_LIST, .kind = OPTION_IDENTITY, .field = &o.source, .group = "Rows", .unit = "A,B,...",
     .help = "only rows of these CSVs, by name or by number from 0 in their order (default: all)"},
    {.name = "labelled", .type = OPTION_CHOICE, .kind = OPTION_IDENTITY, .field = &o.labelled, .choices = "any|yes|no", .fallback = "any",
     .group = "Rows", .help = "only rows that have every label, or only those that lack one"},
    {.name = "duplicates", .type = OPTION_CHOICE, .kind = OPTION_IDENTITY, .field = &o.duplicates, .choices = "keep|drop|drop-conflicts",
     .fallback = "keep", .group = "Rows", .help = "of rows with one text keep all, or the first in the order of the inputs; drop-conflicts also drops "
                                                  "all rows of a text that has different labels"},
    {.name = "exclude", .type = OPTION_LIST, .field = &o.exclude, .group = "Rows", .unit = "FOLDER,...",
     .help = "drop rows whose text is in these folders of parts or shards, such as the validation set's"},
    {.name = "fold", .type = OPTION_TEXT, .kind = OPTION_IDENTITY, .field = &o.fold, .group = "Rows", .unit = "K/N",
     .help = "only fold K of N, to validate on; rows of one text are in one fold"},
    {.name = "without-fold", .type = OPTION_TEXT, .kind = OPTION_IDENTITY, .field = &o.without_fold, .group = "Rows", .unit = "K/N",
     .help = "all but fold K of N, to train on"},
    {.name = "sample", .type = OPTION_INT, .kind = OPTION_IDENTITY, .field = &o.sample, .fallback = "0", .max = 4e18, .group = "Rows", .unit = "N",
     .help = "only the first N rows of the final order; 0 takes all"},
    {.name = "seed", .type = OPTION_INT, .kind = OPTION_IDENTITY, .field = &o.seed, .fallback = "42", .max = 9e18, .group = "Order", .unit = "N",
     .help = "of the global shuffle"},
    {.name = "shuffle", .type = OPTION_CHOICE, .kind = OPTION_IDENTITY, .field = &o.shuffle, .choices = "yes|no", .fallback = "yes",
     .group = "Order", .help = "no keeps the order of the inputs"},
    {.name = "memory", .type = OPTION_SIZE, .field = &o.memory, .fallback = "300M", .min = 64 << 20, .max = 1e15, .group = "Execution",
     .help = "memory of a rank, whatever the size of the data; the folder of --out holds the rest meanwhile"},
    {.name = "info", .type = OPTION_FLAG, .field = &wants_info, .group = "Instead of making shards",
     .help = "say what a folder or file holds: rows, tokens, languages, labels, lengths, tokenizer, identity; of several also how many texts each "
             "two have in common"},
    {.name = "verify", .type = OPTION_FLAG, .field = &wants_verify, .group = "Instead of making shards",
     .help = "check every checksum; exit 6 names the damaged file and row"},
    {.name = "export", .type = OPTION_CHOICE, .field = &format, .choices = "none|csv", .fallback = "none", .group = "Instead of making shards",
     .help = "csv writes id, language, labels and ids as text"},
    {0},
};

static const option_program about = {
    .name = "shard",
    .purpose = "Tokens of many CSVs to shuffled shards: concatenate, filter, sample, shuffle globally, write",
    .usage = "TOKENS_FOLDER...",
    .examples = "Examples:\n"
                "  shard --out shards/train --shards 64 --sample 200000 --seed 42 tokens/train\n"
                "  shard --info shards/train\n"
                "  shard --info tokens/train tokens/valid      (and which texts are in both)\n"
                "  shard --verify shards/train",
};

static status make(const option_list *words)
{
    char *identity;
    if (!o.out)
        return fail(STATUS_USAGE, "--out FOLDER is missing: where shall the shards go?");
    for (size_t i = 0; i < words->count; i++)
        if (file_same(o.out, words->item[i]))
            return fail(STATUS_USAGE, "--out %s is the input %s itself, which would be overwritten; give another folder", o.out, words->item[i]);
    TRY(file_check_output_folder(o.out));
    TRY(options_text(&about, table, true, &identity));
    status st = shard_make(&o, identity, words->item, (int64_t)words->count);
    free(identity);
    return st;
}

static status run(const option_list *words)
{
    int others = wants_info + wants_verify + (format != EXPORT_NONE);
    if (words->count == 0)
        return fail(STATUS_USAGE, "no folder was given: name those that preprocess wrote");
    if (others > 1 || (others == 1 && words->count > 1 && !wants_info))
        return fail(STATUS_USAGE, "--info, --verify and --export go alone; --verify and --export take one folder");
    if (others)
        stop_release();
    if (wants_info)
        return words->count > 1 ? inspect_common(words->item, (int64_t)words->count, o.memory) : inspect_info(words->item[0]);
    if (wants_verify)
        return inspect_verify(words->item[0]);
    if (format == EXPORT_CSV)
        return o.out && file_check_output(o.out) != STATUS_OK ? STATUS_IO : export_csv(words->item[0], o.out);
    return make(words);
}

int main(int argc, char **argv)
{
    return program_main(&(program){.options = &about, .table = table, .run = run}, argc, argv);
}
