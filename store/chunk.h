/* One chunk between memory and file: byte shuffle, zstd level 3, and behind the frame a skippable zstd frame of 16 bytes that holds the
 * XXH3-64 of the frame. Any decoder of filter 32015 passes over it; ours refuses a chunk whose bytes do not agree with it.
 *
 *     chunk_codec c = {0};
 *     TRY(chunk_pack(&c, values, bytes, 4, &packed, &packed_bytes));
 *     const char *wrong = chunk_unpack(&c, packed, packed_bytes, values, bytes, 4);      // NULL: fine
 *     chunk_codec_clear(&c);
 *
 * Local; one codec a thread.
 */
#ifndef FRETSAW_STORE_CHUNK_H
#define FRETSAW_STORE_CHUNK_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

/* Contexts and scratch, made at first use. */
typedef struct chunk_codec {
    int quick; /* set by the caller: ids in a quarter of the time and a fifth more bytes, for files that are read once */
    void *compressor, *decompressor;
    struct ids_packer *ids;
    uint8_t *shuffled, *packed;
    size_t shuffled_capacity, packed_capacity;
} chunk_codec;

void chunk_codec_clear(chunk_codec *c);
/* `bytes` of elements of `width` (1, 2, 4, 8) bytes. *packed belongs to the codec until its next use. */
status chunk_pack(chunk_codec *c, const void *values, size_t bytes, size_t width, const uint8_t **packed, size_t *packed_bytes);
/* The same of vocabulary ids, n from 1 to IDS_FRAME_MOST: store/ids_frame.h. */
status chunk_pack_ids(chunk_codec *c, const uint32_t *ids, size_t n, const uint8_t **packed, size_t *packed_bytes);
/* What is wrong with the packed bytes (a text that lives forever), or NULL with `values` filled. */
const char *chunk_unpack(chunk_codec *c, const uint8_t *packed, size_t packed_bytes, void *values, size_t bytes, size_t width);
/* Room in c->packed for reading a packed chunk of at most this many bytes. */
status chunk_reserve_packed(chunk_codec *c, size_t packed_bytes);
/* The most a chunk of `bytes` can take packed. */
size_t chunk_bound(size_t bytes);

#endif
