#include <stdlib.h>

#include "common/files.h"
#include "common/program.h"
#include "common/stop.h"
#include "shard/inspect.h"
#include "shard/settings.h"

static status make(const option_list *words)
{
    const shard_options *o = &shard_settings.make;
    char *identity;
    if (!o->out)
        return fail(STATUS_USAGE, "--out FOLDER is missing: where shall the shards go?");
    for (size_t i = 0; i < words->count; i++)
        if (file_same(o->out, words->item[i]))
            return fail(STATUS_USAGE, "--out %s is the input %s itself, which would be overwritten; give another folder", o->out, words->item[i]);
    TRY(file_check_output_folder(o->out));
    TRY(options_text(&shard_program, shard_table, true, &identity));
    status st = shard_make(o, identity, words->item, (int64_t)words->count);
    free(identity);
    return st;
}

static status run(const option_list *words)
{
    const shard_set *set = &shard_settings;
    const shard_options *o = &set->make;
    int others = set->info + set->verify + (set->format != EXPORT_NONE);
    if (words->count == 0)
        return fail(STATUS_USAGE, "no folder was given: name those that preprocess wrote");
    if (others > 1 || (others == 1 && words->count > 1 && !set->info))
        return fail(STATUS_USAGE, "--info, --verify and --export go alone; --verify and --export take one folder");
    if (others)
        stop_release();
    if (set->info)
        return words->count > 1 ? inspect_common(words->item, (int64_t)words->count, o->memory) : inspect_info(words->item[0]);
    if (set->verify)
        return inspect_verify(words->item[0]);
    if (set->format == EXPORT_CSV)
        return o->out && file_check_output(o->out) != STATUS_OK ? STATUS_IO : export_csv(words->item[0], o->out);
    return make(words);
}

int main(int argc, char **argv)
{
    return program_main(&(program){.options = &shard_program, .table = shard_table, .run = run}, argc, argv);
}
