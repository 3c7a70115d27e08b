/* Floats of the back end's memory between ranks: straight from it where MPI can read it, over a device's own links where it has some, else through
 * page-locked memory of the host.
 *
 *     exchange *x; TRY(exchange_create(be, 16, floats_out, floats_in, &x));       // the most that one round names
 *     exchange_receive(x, window, n, from, tag); exchange_send(x, gradient, n, to, tag); ...
 *     exchange_start(x);                        // the round is under way
 *     exchange_wait(x);                         // operations asked for from here on see what has come in; x is empty again
 *     exchange_free(x);
 *
 * Between two ranks, both name their messages in the same order, with equal tags. Several exchanges may be under way, started in the same order at
 * every rank. exchange_create is collective; everything else needs the partners' calls only. Nothing is allocated after create.
 */
#ifndef FRETSAW_TRAIN_EXCHANGE_H
#define FRETSAW_TRAIN_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/backend.h"

typedef struct exchange exchange;

/* Errors: STATUS_RESOURCE. */
status exchange_create(backend *be, int messages, int64_t floats_out, int64_t floats_in, exchange **out);
void exchange_free(exchange *x);
void exchange_send(exchange *x, const float *p, int64_t floats, int to, int tag);
void exchange_receive(exchange *x, float *p, int64_t floats, int from, int tag);
void exchange_start(exchange *x);
void exchange_wait(exchange *x);

/* Whether gradients go over links: then a round that was started goes on by itself, and the next exchange_wait, of any exchange, is for it too. */
bool exchange_is_linked(void);

/* Collective. Over links, every rank's own part of p, bytes [first[r], first[r + 1]), to all others; false: there are no links and nothing was done. */
bool exchange_spread(backend *be, float *p, const size_t *first);
/* Collective. The sum over all ranks in an order that is nobody's promise, in place: --reduce fast alone. */
void exchange_sum_any_order(backend *be, float *p, int64_t floats);

/* Collective. Links between the ranks' devices, where there are several ranks, devices and the library; said in the log. Before any exchange. */
status exchange_link(backend *be);

#endif
