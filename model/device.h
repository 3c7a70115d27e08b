/* What a device's back end has beyond the table of operations: memory that both sides reach, copies behind the caller's back, links to other ranks'
 * devices, loss scaling. A back end on the CPU has none of it (backend.device is NULL): its memory is the host's, and MPI reads it.
 *
 *     if (be->device) {
 *         be->device->start_download(be, pinned, gradient, bytes);      // after all that was asked for so far
 *         be->device->wait_copies(be);                                  // pinned has it
 *     }
 *
 * Local, but for what is said to be collective. Nothing here waits unless it says so. Errors are kept for ops->check.
 */
#ifndef FRETSAW_MODEL_DEVICE_H
#define FRETSAW_MODEL_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/backend.h"

enum { DEVICE_LINK_ID = 128, DEVICE_NAME = 256 };

typedef struct device {
    /* "NVIDIA H200, 139.8 GiB, sm_90": one line for the log. */
    const char *(*describe)(const backend *be);
    /* All that bits depend on besides the recipe: model, libraries and their versions, type. Equal text, equal bits. */
    const char *(*identity)(const backend *be);
    /* Bytes that the back end has taken on the device since it was opened, the libraries' own included where they tell. */
    size_t (*used)(const backend *be);

    /* ---- the host's side of a copy: page-locked memory ---- */
    status (*pin)(backend *be, size_t bytes, const char *what, void **out);
    void (*unpin)(backend *be, void *p);
    void (*start_download)(backend *be, void *pinned, const void *from, size_t bytes);
    void (*start_upload)(backend *be, void *to, const void *pinned, size_t bytes); /* what is asked for afterwards sees it */
    void (*wait_copies)(backend *be);                                             /* waits: all started copies are done */
    void (*copy)(backend *be, void *to, const void *from, size_t bytes);           /* within the device; the two do not overlap */

    /* ---- straight from device to device ---- */
    bool (*can_link)(const backend *be);                               /* the library for it is there */
    status (*make_link_id)(backend *be, unsigned char id[DEVICE_LINK_ID]); /* by rank 0, for all */
    status (*open_link)(backend *be, const unsigned char id[DEVICE_LINK_ID], int rank, int ranks); /* collective; waits */
    /* Local, waits for nobody: gives up what is under way, as after a step that was given up. To be called before memory that messages name is
     * released; without links nothing happens. */
    void (*close_link)(backend *be);
    void (*link_begin)(backend *be); /* a group: messages between two ranks meet in the order in which each names them */
    void (*link_send)(backend *be, const float *p, int64_t n, int to);
    void (*link_receive)(backend *be, float *p, int64_t n, int from);
    void (*link_end)(backend *be);                    /* starts the group once all that was asked for before link_begin is done */
    void (*link_wait)(backend *be);                   /* what is asked for afterwards sees all groups started so far; the host does not wait */
    void (*link_sum)(backend *be, float *p, int64_t n); /* collective: the library's own sum over all ranks, in place */

    /* ---- loss scaling ----
     * Gradients are `scale` times what they stand for: adamw divides by it, loss_forward has it in its factor already. */
    void (*set_scale)(backend *be, float scale);
    /* Adds 1 to *found (host, there after wait) when one of n floats is infinite or no number. */
    void (*look_for_overflow)(backend *be, const float *p, int64_t n, int64_t *found);
} device;

#endif
