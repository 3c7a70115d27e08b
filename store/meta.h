/* What a row file says about itself: as attributes of the file's root, and packed into bytes to send from rank to rank.
 *
 *     TRY(meta_write(file, path, &meta));     TRY(meta_read(file, path, &meta));
 *     TRY(meta_pack(&meta, &bytes, &n));      TRY(meta_unpack(bytes, n, &meta));
 *     TRY(meta_merge(&all, &one, path));      // union of sources and languages; tokenizer and labels must agree
 *
 * Local.
 */
#ifndef FRETSAW_STORE_META_H
#define FRETSAW_STORE_META_H

#include "store/h5.h"
#include "store/rowfile.h"

/* Inside the lock of h5.h. meta_read refuses foreign files and other versions by name. */
status meta_write(hid_t file, const char *path, const rowfile_meta *m);
status meta_read(hid_t file, const char *path, rowfile_meta *m);

/* A fresh block of bytes that holds all of *m. */
status meta_pack(const rowfile_meta *m, char **bytes, size_t *count);
status meta_unpack(const char *bytes, size_t count, rowfile_meta *m);
/* Rank 0's description on every rank, in the place of what the others had. Collective; errors are agreed on. */
status meta_share(rowfile_meta *m);

/* `all` takes in the sources (in order of appearance) and languages (sorted) of `one`, which came from `path`. The first one gives tokenizer and
 * labels; a later one that differs is STATUS_INPUT with the line in question. An `all` zeroed by {0} has had none. Seed and identity_text stay. */
status meta_merge(rowfile_meta *all, const rowfile_meta *one, const char *path);
/* STATUS_INPUT with the first differing line, when the two identities are not the same. */
status meta_same_tokenizer(const char *wanted, const char *has, const char *path);
/* Index in `all` of each of one's sources and languages, in fresh arrays. */
status meta_map(const rowfile_meta *all, const rowfile_meta *one, uint16_t **source, uint16_t **lang);

#endif
