/* What one step moves between ranks, counted beforehand: the word rows of the first global batch and the design's formulas.
 *
 *     traffic m; TRY(traffic_count(&t, &m));          // after trainer_open; collective
 *     printf("%lld bytes sent by this rank\n", (long long)m.sent);
 *
 * A rank sends each of its pieces (whole aligned subtrees of lanes) to the owners of the parameters: of the dense parameters as many floats as the
 * others own, once a piece; of the word table the rows that the piece's tokens name. Parameters come back through memory that the node shares; between
 * nodes each node sends its ranks' slices to the others. What ranks agree on (losses, state hashes) is some kilobytes.
 */
#ifndef FRETSAW_TRAIN_TRAFFIC_H
#define FRETSAW_TRAIN_TRAFFIC_H

#include "train/trainer.h"

typedef struct traffic {
    int64_t dense, words, agreed;     /* bytes this rank sends: dense floats; word rows with their ids; losses and hashes */
    int64_t parameters;               /* bytes this rank hands on as the first one of its node (0 on one node) */
    int64_t sent;                     /* their sum */
    int64_t rows[TREE_DEPTH];         /* word rows that each of the rank's sums comes to hold */
    int64_t tokens;                   /* of the rank's largest micro-batch */
    bool whole;                       /* each of the rank's lanes is one micro-batch */
} traffic;

/* Errors (agreed): STATUS_INPUT, STATUS_IO from reading tokens; STATUS_RESOURCE. */
status traffic_count(const trainer *t, traffic *m);

#endif
