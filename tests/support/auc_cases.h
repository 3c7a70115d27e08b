/* The reference's AUC cases, for the local test and the one over ranks.
 *
 *     auc_cases *all = auc_cases_load(path);
 *     auc_cases_compare(&all->list[0], &count);      // fails the running test on any difference
 *     auc_cases_free(all);
 */
#ifndef FRETSAW_TESTS_AUC_CASES_H
#define FRETSAW_TESTS_AUC_CASES_H

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "common/auc.h"
#include "support/support.h"

typedef struct auc_case {
    const char *name;
    float *score, *label;
    int64_t n;
    int64_t twice_wins, pairs;
    double auc; /* NaN: undefined */
} auc_case;

typedef struct auc_cases {
    json_t *document; /* owns the names */
    auc_case *list;
    int count;
} auc_cases;

static inline auc_cases *auc_cases_load(const char *path)
{
    auc_cases *all = calloc(1, sizeof *all);
    ck_assert_ptr_nonnull(all);
    all->document = json_load_file(path, JSON_DECODE_INT_AS_REAL, NULL);
    ck_assert_msg(json_is_array(all->document), "%s: not a JSON list", path);
    all->count = (int)json_array_size(all->document);
    all->list = calloc((size_t)all->count, sizeof *all->list);
    ck_assert_ptr_nonnull(all->list);
    for (int i = 0; i < all->count; i++) {
        json_t *one = json_array_get(all->document, (size_t)i), *scores = json_object_get(one, "scores");
        json_t *labels = json_object_get(one, "labels"), *auc = json_object_get(one, "auc");
        auc_case *c = &all->list[i];
        c->name = json_string_value(json_object_get(one, "name"));
        c->n = (int64_t)json_array_size(scores);
        c->score = malloc((size_t)c->n * sizeof *c->score + 1);
        c->label = malloc((size_t)c->n * sizeof *c->label + 1);
        ck_assert(c->score && c->label);
        for (int64_t j = 0; j < c->n; j++) {
            double label = json_number_value(json_array_get(labels, (size_t)j));
            c->score[j] = (float)json_number_value(json_array_get(scores, (size_t)j));
            c->label[j] = (float)label;
            ck_assert((c->label[j] >= 0.5f) == (label >= 0.5)); /* rounding a label to float moves none across the border */
        }
        c->twice_wins = (int64_t)json_number_value(json_object_get(one, "wins_and_half_ties_twice"));
        c->pairs = (int64_t)json_number_value(json_object_get(one, "pairs"));
        c->auc = json_is_null(auc) ? NAN : json_number_value(auc);
    }
    return all;
}

static inline void auc_cases_compare(const auc_case *c, const auc_count *got)
{
    ck_assert_msg(got->twice_wins == (unsigned __int128)c->twice_wins && got->pairs == (unsigned __int128)c->pairs,
                  "%s: %lld of %lld pairs, not %lld of %lld", c->name, (long long)got->twice_wins, (long long)got->pairs, (long long)c->twice_wins,
                  (long long)c->pairs);
    ck_assert_msg(isnan(c->auc) == (got->pairs == 0), "%s: undefined exactly where one class is missing", c->name);
    if (got->pairs)
        ck_assert_msg(fabs(auc_value(got) - c->auc) <= 1e-12, "%s: %.17g, not %.17g", c->name, auc_value(got), c->auc);
}

static inline void auc_cases_free(auc_cases *all)
{
    for (int i = 0; i < all->count; i++) {
        free(all->list[i].score);
        free(all->list[i].label);
    }
    free(all->list);
    json_decref(all->document);
    free(all);
}

#endif
