/* The runs that score together, and the mean of their scores.
 *
 *     ensemble e;
 *     TRY(ensemble_open(&folders, &weights, &e));                       // each run with each choice of weights, in this order
 *     TRY(ensemble_check_data(&e, "shards/test", dataset_tokenizer(d)));
 *     TRY(ensemble_score(&e, d, &settings, score));                     // collective
 *     ensemble_close(&e);
 *
 * Mean: the float32 probabilities added without rounding, divided once by their count, rounded to float32: the members' order changes no bit.
 */
#ifndef FRETSAW_INFER_ENSEMBLE_H
#define FRETSAW_INFER_ENSEMBLE_H

#include "common/options.h"
#include "infer/predict.h"

typedef struct ensemble {
    run *member;
    int64_t count;
} ensemble;

/* Local; reads the runs' descriptions alone. All members must have the same labels and the same tokenizer: STATUS_INPUT. */
status ensemble_open(const option_list *folders, const option_list *weights, ensemble *out);
/* The same of `count` runs with one choice of weights each. */
status ensemble_open_each(const char *const *folder, const char *const *weights, int64_t count, ensemble *out);
void ensemble_close(ensemble *e);
/* STATUS_INPUT where the data's tokens are not the runs'. */
status ensemble_check_data(const ensemble *e, const char *name, const char *tokenizer);
/* Collective. score: predict_room() floats, the same at every rank afterwards. STATUS_STOPPED as predict_rows. */
status ensemble_score(const ensemble *e, dataset *d, const predict_settings *s, float *score);

#endif
