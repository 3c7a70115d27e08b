/* Made-up rows with a rule behind their labels, and a vocabulary and shape to go with them: what the tests of train run on.
 *
 *     TRY(train_data_write(folder, &(train_data){.rows = 200, .labels = 1, .files = 3, .seed = 5, .vocabulary = 80}));
 *     // folder/config.json, folder/vocab.txt, folder/rows (shards with manifest)
 */
#ifndef FRETSAW_TESTS_MPI_TRAIN_DATA_H
#define FRETSAW_TESTS_MPI_TRAIN_DATA_H

#include <stdint.h>

#include "common/status.h"

typedef struct train_data {
    int64_t rows;
    int64_t labels;
    int64_t files; /* shards */
    int64_t seed;
    int64_t vocabulary; /* lines of vocab.txt */
    int64_t longest;    /* tokens of a row */
    int64_t unlabelled; /* every so many rows one has no label; 0: none */
} train_data;

/* Into folder/NAME; config.json and vocab.txt into folder. */
status train_data_write(const char *folder, const char *name, const train_data *d);

#endif
