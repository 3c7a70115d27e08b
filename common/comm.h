/* The ranks of a job. One door to MPI (comm_mpi.c), and a solo twin of one rank (comm_solo.c) for builds without it.
 *
 *     comm_open(&argc, &argv);
 *     int r = comm_rank(), n = comm_size();
 *     comm_sum_int64(counts, 4);
 *     comm_close();
 *
 * Every function says collective (all ranks of the job call it, in the same order) or local. Errors inside MPI end the whole job with a
 * message: there is nothing a caller could do. Counts are elements or bytes of any size (messages over 2 GiB are cut inside).
 */
#ifndef FRETSAW_COMMON_COMM_H
#define FRETSAW_COMMON_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

/* Collective. Refuses (STATUS_USAGE) a launcher that it cannot talk to: several tasks started, each of which believes to be alone. */
status comm_open(int *argc, char ***argv);
void comm_close(void); /* collective */
int comm_rank(void);   /* local, like all below that say nothing else */
int comm_size(void);
const char *comm_host(void);
/* Ends all ranks at once with this exit code. Does not return. Local. */
void comm_abort(int code) __attribute__((noreturn));

/* ---- collective over all ranks ---- */
void comm_barrier(void);
void comm_broadcast(void *p, size_t bytes, int root);
/* From each rank `bytes`, gathered in rank order at every rank: all holds size * bytes. */
void comm_all_gather(const void *mine, size_t bytes, void *all);
/* Rank r contributes bytes_of[r] (known to all); they come together in rank order at `root` (all is ignored elsewhere). */
void comm_gather_parts(const void *mine, const size_t *bytes_of, void *all, int root);
/* The same, at every rank. */
void comm_all_gather_parts(const void *mine, const size_t *bytes_of, void *all);
/* In place, exact integer operations. */
void comm_sum_int64(int64_t *values, size_t count);
void comm_sum_uint64(uint64_t *values, size_t count); /* mod 2^64 */
void comm_max_int64(int64_t *values, size_t count);
void comm_min_int64(int64_t *values, size_t count);
bool comm_any(bool mine);
/* bytes_to[r] bytes at `to` + offsets in order go to rank r; receives likewise in rank order. Blocks are contiguous in rank order on both sides. */
void comm_exchange(const void *send, const size_t *bytes_to, void *receive, const size_t *bytes_from);
/* Agrees on an outcome: when any rank has an error, every rank gets the error of the lowest such rank, its message with "rank R on HOST: "
 * in front. The way to pass a local failure through code that goes on collectively. */
status comm_agree(status mine);
/* Local. The message that the last comm_agree gave to all ranks alike, or NULL: such an error is told once and needs no abort. */
const char *comm_agreed_message(void);
/* Plain sum of floats in MPI's own order: only --reduce fast. In place. */
void comm_sum_float_any_order(float *values, size_t count);

/* ---- point to point, for planned exchanges; tags 0..32767 ---- */
typedef struct comm_request comm_request; /* several messages in flight */
status comm_requests_create(int capacity, comm_request **out); /* local */
void comm_requests_free(comm_request *q);
void comm_start_send(comm_request *q, const void *p, size_t bytes, int to, int tag);
void comm_start_receive(comm_request *q, void *p, size_t bytes, int from, int tag);
void comm_wait_all(comm_request *q); /* all started on q are done; q is empty again */

/* ---- a flag that any rank may raise while others compute: local calls, nothing waits ---- */
void comm_flag_raise(void); /* once raised it stays raised for the rest of the job; raising again does nothing */
bool comm_flag_seen(void);  /* this rank or, as far as messages have come in, another one has raised it; cheap */
/* A barrier in two halves, so that a rank that waits can look at flags and signals meanwhile: every rank calls comm_arrive once, then comm_arrived
 * until it is true (all ranks have arrived). Collective as a pair. */
void comm_arrive(void);
bool comm_arrived(void);

/* ---- a count of what all ranks have done, for a progress line: local calls but the first, nothing waits ---- */
void comm_tally_begin(void); /* from zero; every rank calls it, in the same place of its work */
void comm_tally_add(int64_t n); /* 0: what is counted so far is on its way when this returns */
int64_t comm_tally_total(void); /* at rank 0: as far as messages have come in; elsewhere this rank's own */

/* ---- memory shared by the ranks of one node ---- */
int comm_node_rank(void);   /* 0 .. node_size-1 */
int comm_node_size(void);
int comm_node(void);        /* number of this node, 0 .. nodes-1, in order of their lowest rank */
int comm_nodes(void);
/* Collective. Zeroed, page-aligned memory seen by all ranks of the node; where the window cannot be had, a copy a rank and
 * *shared false (said once in the log). */
status comm_shared_create(size_t bytes, const char *what, void **p, bool *shared);
void comm_shared_free(void *p); /* collective */
void comm_node_barrier(void);   /* collective over the node: also makes the others' stores visible */
/* Collective over all ranks, on memory of comm_shared_create that holds the same layout everywhere: bytes [first[r], first[r+1]) were written by rank r
 * on its own node; afterwards every node (every rank where memory is not shared) has all of them. first has size+1 entries. */
void comm_shared_spread(void *p, const size_t *first);
/* Collective: rank 0's bytes [0, bytes) reach every node. */
void comm_shared_broadcast(void *p, size_t bytes);

/* Bytes this rank has sent to others since comm_open. */
uint64_t comm_bytes_sent(void);

#endif
