/* A run's network ready to score: its weights once a node, a back end with its threads, room for one micro-batch.
 *
 *     network *net;
 *     network_settings how; TRY(network_place(&infer_settings, &how));                                // collective
 *     TRY(network_open(&run, &how, &net));                                                            // collective
 *     if (!network_fits(net, row_tokens)) { network_score(net, scores); }
 *     network_add(net, ids, n);
 *     network_close(net);                                                                             // collective
 *
 * A row's scores do not depend on the rows beside it, by a bit: rows are packed, and padding (--pooling padded) is the row's own.
 */
#ifndef FRETSAW_INFER_NETWORK_H
#define FRETSAW_INFER_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/threads.h"
#include "infer/settings.h"
#include "model/placement.h"
#include "model/profile.h"
#include "model/run.h"
#include "model/tensors.h"

typedef struct network network;

typedef struct network_settings {
    int64_t micro_tokens; /* M: at least the run's maximum length (STATUS_USAGE) */
    int64_t micro_rows;   /* most rows of a micro-batch */
    int64_t threads;      /* of this rank; 0: its share of the node's cores */
    cpu_isa isa;
    placement where;                       /* CPU or device */
    char device_identity[DEVICE_NAME]; /* what bits depend on there; "" on the CPU */
} network_settings;

/* Collective. From the options: where to compute, and how much at once. Errors as place_choose. */
status network_place(const settings *s, network_settings *out);
/* Collective. STATUS_INPUT where the weights do not fit the run's configuration, lack the head, or are not those whose state hash the run has kept.
 */
status network_open(const run *r, const network_settings *s, network **out);
void network_close(network *net); /* collective; NULL is fine */
/* Local from here on. Whether a row of n tokens, [CLS] and [SEP] among them, still has room beside those added. */
bool network_fits(const network *net, int64_t n);
void network_add(network *net, const int32_t *ids, int64_t n);
int64_t network_rows(const network *net); /* added since the last score */
int64_t network_vocabulary(const network *net); /* entries: an id must be below */
/* Probabilities of the rows added, in their order, rows x C; then the network is empty again. */
status network_score(network *net, float *score);
/* The state hash of weights: XXH3-64 over each tensor's sum of mix64(parameter index, bits), as training keeps it; `pool` (or NULL) shares the work. */
status network_state_hash(const tensor_table *table, const float *parameters, threads *pool, uint64_t *hash);
/* Counts what network_profile tells from here on: the micro-batches scored and their time by phase. */
void network_watch(network *net);
void network_profile(const network *net, profile *p);
/* "avx2, 4 threads", for the log. */
const char *network_what(const network *net);

#endif
