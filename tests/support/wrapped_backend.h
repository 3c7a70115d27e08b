/* A back end around another, for two questions about a training.
 *
 *     backend *be = wrapped_open(&(wrapped_setting){.inner = cpu, .mode = WRAPPED_TRACE, .lane_of = f, .user = u, .lane_hash = hash});
 *     ... bert_create(be, ...), steps ...; be->ops->close(be);        // closes the inner one too
 *
 * Which calls does a lane make? WRAPPED_TRACE chains, lane by lane, a hash of every call's operation, shapes and inputs: a function of the lane alone, so
 * the same whichever rank runs it. What must not matter, and would a harness see it if it did? The other modes disturb:
 *     WRAPPED_QUIET     only what no result may depend on: where memory lies, what it held before it is written, how long a call takes
 *     WRAPPED_ADDRESS, WRAPPED_CALLS, WRAPPED_TIME   turn the last bit of a result, depending on its address, on how many calls this rank has made, on the
 *                       clock: the planted faults that the harness has to find. They trace too.
 */
#ifndef FRETSAW_TESTS_WRAPPED_BACKEND_H
#define FRETSAW_TESTS_WRAPPED_BACKEND_H

#include "model/backend.h"

typedef enum wrapped_mode { WRAPPED_TRACE, WRAPPED_QUIET, WRAPPED_ADDRESS, WRAPPED_CALLS, WRAPPED_TIME } wrapped_mode;

typedef struct wrapped_setting {
    backend *inner;
    wrapped_mode mode;
    int64_t (*lane_of)(void *user, const batch *b); /* of a micro-batch */
    void *user;
    uint64_t *lane_hash; /* of each lane; the caller's, zeroed */
} wrapped_setting;

/* Local. NULL when memory is out. */
backend *wrapped_open(const wrapped_setting *setting);

#endif
