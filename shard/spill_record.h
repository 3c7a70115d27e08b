/* How one row lies in a run: a head, then labels, tokens and id, filled up to 8 bytes. */
#ifndef FRETSAW_SHARD_SPILL_RECORD_H
#define FRETSAW_SHARD_SPILL_RECORD_H

#include "store/rowfile.h"

typedef struct spill_head {
    int64_t bytes; /* of the whole record */
    int64_t position, number;
    uint64_t text_hash;
    int64_t tokens, id_bytes;
    uint16_t source, lang;
    uint32_t unused;
} spill_head;

static inline int64_t spill_record_bytes(const rowfile_row *r, int64_t labels)
{
    return ((int64_t)sizeof(spill_head) + 4 * (labels + r->tokens) + (int64_t)r->id_bytes + 7) / 8 * 8;
}

#endif
