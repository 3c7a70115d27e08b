/* One stripe of optimizer state in a file: a header with two hashes, then the first and second moments.
 *
 *     TRY(stripe_write(".step-000812.tmp/optimizer-00003.bin", &(stripe){3, first, count, step}, m, v, &file));
 *     TRY(large_file_end(&file, NULL));
 *     TRY(stripe_read(path, &expected, m, v));
 *
 * Local. Little-endian; the layout is in docs/formats.md.
 */
#ifndef FRETSAW_TRAIN_STRIPE_H
#define FRETSAW_TRAIN_STRIPE_H

#include <stdint.h>

#include "common/large_file.h"
#include "common/status.h"

typedef struct stripe {
    int64_t index; /* of the stripe */
    int64_t first; /* parameter index */
    int64_t count; /* parameters */
    int64_t step;  /* optimizer steps behind it */
} stripe;

/* The file is written and open for the caller's large_file_end; nothing is there after an error. */
status stripe_write(const char *path, const stripe *s, const float *m, const float *v, large_file *file);
/* STATUS_INPUT names what is damaged or not as expected. */
status stripe_read(const char *path, const stripe *expected, float *m, float *v);
/* "optimizer-00003.bin" */
void stripe_name(int64_t index, char name[32]);
uint64_t stripe_bytes(int64_t count);

#endif
