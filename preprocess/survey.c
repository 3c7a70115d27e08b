#include "preprocess/survey.h"

#include <stdbool.h>
#include <stdlib.h>

#include "common/comm.h"

enum { BLOCK = ROWFILE_CHUNK };

status survey_create(int64_t langs, int64_t labels, int64_t max_length, uint32_t unk, survey *v)
{
    int64_t **const arrays[] = {&v->lengths, &v->lang_rows, &v->lang_ids, &v->lang_cut, &v->labelled,  &v->positive, &v->ids,
                                &v->unknown, &v->cut,       &v->kept_parts, &v->missing, &v->replaced, &v->rows_replaced, &v->cleaned};
    const int64_t sizes[] = {SURVEY_LENGTHS + 1, langs, langs, langs, labels, labels, 1, 1, 1, 1, 1, 1, 1, 1};
    *v = (survey){.max_length = max_length, .unk = unk, .labels = labels};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        v->count += (size_t)sizes[i];
    TRY(memory_new(&v->sums, v->count * sizeof *v->sums, "the report"));
    int64_t *next = v->sums;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        *arrays[i] = next;
        next += sizes[i];
    }
    return STATUS_OK;
}

void survey_free(survey *v)
{
    free(v->sums);
    *v = (survey){0};
}

void survey_add(survey *v, uint16_t lang, const float *label, int64_t tokens, int64_t unknown)
{
    int64_t length = tokens + SURVEY_SPECIALS;
    bool cut = length > v->max_length;
    v->lengths[length < SURVEY_LENGTHS ? length : SURVEY_LENGTHS]++;
    v->longest = length > v->longest ? length : v->longest;
    *v->ids += tokens;
    *v->unknown += unknown;
    *v->cut += cut;
    v->lang_rows[lang]++;
    v->lang_ids[lang] += length;
    v->lang_cut[lang] += cut;
    for (int64_t l = 0; l < v->labels; l++) {
        v->labelled[l] += label[l] == label[l];
        v->positive[l] += label[l] >= 0.5f;
    }
}

typedef struct part_block {
    int64_t offsets[BLOCK + 1];
    uint16_t langs[BLOCK];
    uint32_t tokens[BLOCK];
    float *labels;
} part_block;

static status add_rows(survey *v, rowfile *f, part_block *b)
{
    int64_t rows = rowfile_rows(f), tokens = rowfile_tokens(f);
    for (int64_t first = 0; first < rows; first += BLOCK) {
        int64_t n = rows - first < BLOCK ? rows - first : BLOCK;
        TRY(rowfile_read_offsets(f, first, n + 1, b->offsets));
        TRY(rowfile_read_langs(f, first, n, b->langs));
        TRY(rowfile_read_labels(f, first, n, b->labels));
        for (int64_t i = 0; i < n; i++)
            survey_add(v, b->langs[i], b->labels + i * v->labels, b->offsets[i + 1] - b->offsets[i], 0);
    }
    for (int64_t first = 0; first < tokens; first += BLOCK) {
        int64_t n = tokens - first < BLOCK ? tokens - first : BLOCK;
        TRY(rowfile_read_tokens(f, first, n, b->tokens));
        for (int64_t i = 0; i < n; i++)
            *v->unknown += b->tokens[i] == v->unk;
    }
    return STATUS_OK;
}

status survey_add_part(survey *v, rowfile *f)
{
    part_block *b;
    TRY(memory_new(&b, sizeof *b, "the report"));
    status st = memory_new(&b->labels, BLOCK * (size_t)(v->labels + 1) * sizeof *b->labels, "the report");
    if (st == STATUS_OK)
        st = add_rows(v, f, b);
    free(b->labels);
    free(b);
    return st;
}

void survey_unite(survey *v)
{
    comm_sum_int64(v->sums, v->count);
    comm_max_int64(&v->longest, 1);
}
