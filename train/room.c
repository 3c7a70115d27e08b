#include "train/room.h"

#include <inttypes.h>

#include "common/comm.h"
#include "common/log.h"
#include "common/space.h"

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* What may come to lie there at once, besides the `there` checkpoints of now: a checkpoint more than stay while one replaces another, and the
 * weights of the epochs; those of the newest are the checkpoint's own. */
static uint64_t bytes_at_most(const trainer *t, int64_t there)
{
    int64_t each = t->order.steps_per_epoch, left = t->total - t->state.step, epochs = (t->total + each - 1) / each - t->state.step / each;
    bool often = t->o->checkpoint_every > 0 || t->o->checkpoint_minutes > 0;
    int64_t more = least(t->o->keep + 1 - there, often ? left : epochs);
    return (uint64_t)(more > 0 ? more : 0) * checkpoint_bytes(t->table, true) + (uint64_t)(epochs - 1) * checkpoint_bytes(t->table, false);
}

static status check(const trainer *t)
{
    int64_t there;
    char need[32], most[32], has[32];
    space room = space_at(t->o->out);
    if (!room.known || t->state.step >= t->total)
        return STATUS_OK;
    TRY(checkpoint_count(t->o->out, &there));
    uint64_t one = checkpoint_bytes(t->table, true), all = bytes_at_most(t, there);
    space_text(one, need);
    space_text(all, most);
    space_text(room.bytes, has);
    if (room.bytes < one && !room.packs)
        return fail(STATUS_IO, "%s: no space for a checkpoint, which needs %" PRIu64 " bytes (%s): %" PRIu64 " (%s) are free there; free some, or %s; "
                    "train --plan says what a run needs in all",
                    t->o->out, one, need, room.bytes, has,
                    t->state.step > 0 ? "copy the run to a disk with room and give the copy as --out" : "give an --out on a disk with room");
    if (room.bytes < all)
        log_warn("%s: %s are free there; a checkpoint needs %s, and the run may need %s at once (--keep %" PRId64 ", one more while "
                 "it is written, and the weights of epochs): free some, or give a smaller --keep, lest it ends for want of room",
                 t->o->out, has, need, most, t->o->keep);
    return STATUS_OK;
}

status room_check(const trainer *t)
{
    return comm_agree(comm_rank() == 0 ? check(t) : STATUS_OK);
}

status room_check_start(const trainer *t)
{
    int64_t there = 0;
    status st = comm_rank() == 0 ? checkpoint_count(t->o->out, &there) : STATUS_OK;
    if (st == STATUS_OK && comm_rank() == 0 && there == 0)
        st = check(t);
    return comm_agree(st);
}
