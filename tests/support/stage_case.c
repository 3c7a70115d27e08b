#include "support/stage_case.h"

#include "support/support.h"

option_list stage_list(const char *const *item, size_t n)
{
    return (option_list){.item = (char **)item, .count = n};
}

void stage_case(stage_options *o, char *const *paths, int64_t count, const char *out)
{
    static const char *const id[] = {"id"}, *const text[] = {"comment_text", "content", "text"}, *const lang[] = {"lang"}, *const labels[] = {"toxic|target"},
                             *const fill[] = {"none"};
    *o = (stage_options){
        .inputs = paths, .input_count = count, .out = out, .split_bytes = INT64_C(64) << 20, .vocab = support_source("sample/model"), .report_length = 192,
        .identity = "[preprocess]\n", .fill = stage_list(fill, 1),
        .rules = {.memory = INT64_C(1) << 30,
                  .columns = {.id = stage_list(id, 1), .text = stage_list(text, 3), .lang = stage_list(lang, 1), .labels = stage_list(labels, 1)}}};
}
