#include "shard/settings.h"

shard_set shard_settings;

const option shard_table[] = {
    {.name = "out", .type = OPTION_TEXT, .field = &shard_settings.make.out, .group = "Output", .unit = "FOLDER",
     .help = "where the shards and their manifest.json go; with --export the CSV file (default there: standard output)"},
    {.name = "shards", .type = OPTION_INT, .kind = OPTION_IDENTITY, .field = &shard_settings.make.shards, .fallback = "64", .min = 1, .max = 99999,
     .group = "Output", .unit = "N", .help = "number of shard files"},
    {.name = "lang", .type = OPTION_LIST, .kind = OPTION_IDENTITY, .field = &shard_settings.make.lang, .group = "Rows", .unit = "A,B,...",
     .help = "only rows of these languages (default: all)"},
    {.name = "source", .type = OPTION_LIST, .kind = OPTION_IDENTITY, .field = &shard_settings.make.source, .group = "Rows", .unit = "A,B,...",
     .help = "only rows of these CSVs, by name or by number from 0 in their order (default: all)"},
    {.name = "labelled", .type = OPTION_CHOICE, .kind = OPTION_IDENTITY, .field = &shard_settings.make.labelled, .choices = "any|yes|no", .fallback = "any",
     .group = "Rows", .help = "only rows that have every label, or only those that lack one"},
    {.name = "duplicates", .type = OPTION_CHOICE, .kind = OPTION_IDENTITY, .field = &shard_settings.make.duplicates, .choices = "keep|drop|drop-conflicts",
     .fallback = "keep", .group = "Rows", .help = "of rows with one text keep all, or the first in the order of the inputs; drop-conflicts also drops "
                                                  "all rows of a text that has different labels"},
    {.name = "exclude", .type = OPTION_LIST, .field = &shard_settings.make.exclude, .group = "Rows", .unit = "FOLDER,...",
     .help = "drop rows whose text is in these folders of parts or shards, such as the validation set's"},
    {.name = "fold", .type = OPTION_TEXT, .kind = OPTION_IDENTITY, .field = &shard_settings.make.fold, .group = "Rows", .unit = "K/N",
     .help = "only fold K of N, to validate on; rows of one text are in one fold"},
    {.name = "without-fold", .type = OPTION_TEXT, .kind = OPTION_IDENTITY, .field = &shard_settings.make.without_fold, .group = "Rows", .unit = "K/N",
     .help = "all but fold K of N, to train on"},
    {.name = "sample", .type = OPTION_INT, .kind = OPTION_IDENTITY, .field = &shard_settings.make.sample, .fallback = "0", .max = 4e18, .group = "Rows", .unit = "N",
     .help = "only the first N rows of the final order; 0 takes all"},
    {.name = "seed", .type = OPTION_INT, .kind = OPTION_IDENTITY, .field = &shard_settings.make.seed, .fallback = "42", .max = 9e18, .group = "Order", .unit = "N",
     .help = "of the global shuffle"},
    {.name = "shuffle", .type = OPTION_CHOICE, .kind = OPTION_IDENTITY, .field = &shard_settings.make.shuffle, .choices = "yes|no", .fallback = "yes",
     .group = "Order", .help = "no keeps the order of the inputs"},
    {.name = "memory", .type = OPTION_SIZE, .field = &shard_settings.make.memory, .fallback = "300M", .min = 64 << 20, .max = 1e15, .group = "Execution",
     .help = "memory of a rank, whatever the size of the data; the folder of --out holds the rest meanwhile"},
    {.name = "info", .type = OPTION_FLAG, .field = &shard_settings.info, .group = "Instead of making shards",
     .help = "say what a folder or file holds: rows, tokens, languages, labels, lengths, tokenizer, identity; of several also how many texts each "
             "two have in common"},
    {.name = "verify", .type = OPTION_FLAG, .field = &shard_settings.verify, .group = "Instead of making shards",
     .help = "check every checksum; exit 6 names the damaged file and row"},
    {.name = "export", .type = OPTION_CHOICE, .field = &shard_settings.format, .choices = "none|csv", .fallback = "none", .group = "Instead of making shards",
     .help = "csv writes id, language, labels and ids as text"},
    {0},
};

const option_program shard_program = {
    .name = "shard",
    .purpose = "Tokens of many CSVs to shuffled shards: concatenate, filter, sample, shuffle globally, write",
    .usage = "TOKENS_FOLDER...",
    .examples = "Examples:\n"
                "  shard --out shards/train --shards 64 --sample 200000 --seed 42 tokens/train\n"
                "  shard --info shards/train\n"
                "  shard --info tokens/train tokens/valid      (and which texts are in both)\n"
                "  shard --verify shards/train",
};

status settings_parse_shard(char **words, int count)
{
    option_list rest;
    bool stop, quiet;
    return options_parse(&shard_program, shard_table, count, words, &rest, &stop, &quiet);
}
