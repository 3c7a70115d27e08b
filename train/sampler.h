/* The order of rows in training: which dataset row stands at a position of an epoch.
 *
 *     sampler s;
 *     TRY(sampler_open(data, drop_unlabelled, lanes, batch, seed, &s));
 *     for (int64_t slot = 0; slot < s.global_batch; slot++)
 *         row = sampler_row(&s, epoch, sampler_first(&s, step) + slot);
 *     sampler_close(&s);
 *
 * An epoch is a keyed permutation of the usable rows, so any position of any epoch is entered in constant time; or an order from a file. Steps count over the whole
 * run from 0; epochs from 0. Positions past steps_per_epoch * global_batch sit out that epoch. All local.
 */
#ifndef FRETSAW_TRAIN_SAMPLER_H
#define FRETSAW_TRAIN_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "store/dataset.h"

enum { SAMPLER_TEXT = 320 };

typedef struct sampler {
    int64_t rows;            /* usable rows */
    int64_t lanes;
    int64_t global_batch;    /* lanes * batch */
    int64_t steps_per_epoch; /* floor(rows / global_batch), at least 1 */
    uint64_t seed;
    int64_t *usable;    /* dataset rows that have labels, ascending; NULL: all of them */
    int64_t unlabelled; /* rows left out */
    bool same_each_epoch; /* the order of the first epoch in all */
    int64_t *given;       /* dataset row of each position, from a file; NULL: the permutation */
} sampler;

/* Looks at every label. Unlabelled rows (any of the C labels NaN) are STATUS_INPUT with their count unless `drop`; fewer usable rows than one
 * global batch are STATUS_USAGE. */
status sampler_open(const dataset *d, bool drop, int64_t lanes, int64_t batch, uint64_t seed, sampler *out);
void sampler_close(sampler *s);
/* The order of a file, one dataset row a line, in the place of the permutation: `rows` becomes its length. *sha256 is the file's. STATUS_INPUT names
 * a line that is no row of the data, or a row without labels; STATUS_USAGE: fewer lines than one global batch. */
status sampler_take_order(sampler *s, const dataset *d, const char *path, char sha256[65]);
/* The same order over rows 0 .. rows-1 without a dataset. */
status sampler_make(int64_t rows, int64_t lanes, int64_t batch, uint64_t seed, sampler *out);

/* Where a recipe made for many rows meets few: what to tell the user, with the batch that would do; else "". */
void sampler_describe_few(const sampler *s, char text[SAMPLER_TEXT]);

int64_t sampler_epoch(const sampler *s, int64_t step);
/* First position, within its epoch, of the global batch of `step`. */
int64_t sampler_first(const sampler *s, int64_t step);
int64_t sampler_row(const sampler *s, int64_t epoch, int64_t position);

#endif
