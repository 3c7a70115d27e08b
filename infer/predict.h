/* Scores of all rows of a data set by one run, over all ranks, resumable by blocks of rows.
 *
 *     TRY(predict_rows(data, &run, &settings, score));      // collective; STATUS_STOPPED: the finished blocks are kept
 *
 * Blocks that are already on disk (blocks.h) are taken from there; the others are dealt to ranks by their cost. Which rank scores a row changes no
 * bit.
 */
#ifndef FRETSAW_INFER_PREDICT_H
#define FRETSAW_INFER_PREDICT_H

#include "infer/network.h"
#include "store/dataset.h"

typedef struct predict_settings {
    const char *folder; /* for the blocks */
    int64_t block_rows;
    bool profile; /* a table of the time by phase, on stdout of rank 0 */
    network_settings network;
} predict_settings;

/* Collective. score: rows x C floats with room for predict_room(), the same at every rank afterwards. */
status predict_rows(dataset *d, const run *r, const predict_settings *s, float *score);
/* Floats that the array of scores needs: rows x C and up to one more. */
int64_t predict_room(const dataset *d, const run *r);
/* STATUS_INPUT, naming the first line that differs, when the data was made by another tokenizer than the run's. */
status predict_check_tokenizer(const char *data_name, const char *data_tokenizer, const run *r);

#endif
