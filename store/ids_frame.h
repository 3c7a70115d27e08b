/* Vocabulary ids as one zstd frame of their byte planes. General matchers look at bytes, and in a plane of bytes most of what they find is chance;
 * here repeats are looked for among whole ids, once for the two low planes, and runs of one byte in the two high ones, which zstd then packs as it
 * does its own sequences. Any zstd decoder reads the frame.
 *
 *     ids_packer *p;
 *     TRY(ids_packer_create(&p));
 *     TRY(ids_frame_pack(p, ids, planes, n, false, out, room, &bytes));
 *     ids_packer_free(p);
 *
 * Local; one packer a thread.
 */
#ifndef FRETSAW_STORE_IDS_FRAME_H
#define FRETSAW_STORE_IDS_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

enum { IDS_FRAME_MOST = 65536 }; /* ids in a frame, each of its planes being one block of zstd */

typedef struct ids_packer ids_packer;

/* Errors: STATUS_RESOURCE. */
status ids_packer_create(ids_packer **out);
void ids_packer_free(ids_packer *p);
/* ids[0..n-1], n from 1 to IDS_FRAME_MOST, and planes[j * n + i], which is byte j of id i; `room` bytes at `out` as ZSTD_compressBound(4 * n) counts
 * them, and 64 more. With `quick` the low planes are left as they are: a fifth more bytes, in a quarter of the time. Errors: STATUS_RESOURCE. */
status ids_frame_pack(ids_packer *p, const uint32_t *ids, const uint8_t *planes, size_t n, bool quick, uint8_t *out, size_t room, size_t *bytes);

#endif
