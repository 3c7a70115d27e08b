/* The row file, version 2: the one HDF5 format that holds tokens of rows (docs/formats.md). One reader, one writer, one verifier.
 *
 *     rowfile_writer *w;
 *     TRY(rowfile_create("tokens/part-00-00000.h5", &meta, &w));
 *     TRY(rowfile_append(w, &row)); ...
 *     TRY(rowfile_close(w, &summary));                    // renamed into place; rowfile_abandon on the way out of an error
 *
 *     rowfile *f;
 *     TRY(rowfile_open(path, &f));
 *     TRY(rowfile_read_tokens(f, first, count, ids));     // chunks are cached; one caller at a time
 *     rowfile_free(f);
 *
 * Row ids are stored without [CLS]/[SEP] and uncut. All local; one writer a file. The HDF5 library is entered under one lock.
 */
#ifndef FRETSAW_STORE_ROWFILE_H
#define FRETSAW_STORE_ROWFILE_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

enum { ROWFILE_VERSION = 2, ROWFILE_CHUNK = 65536 };

/* An input that rows came from. */
typedef struct rowfile_source {
    char *name;      /* base name of the CSV */
    char sha256[65]; /* of its bytes */
} rowfile_source;

/* What a row file says about itself: the attributes. Deep-copied by rowfile_create; owned by the rowfile when read. */
typedef struct rowfile_meta {
    char *tokenizer;          /* identity: sorted key=value lines (preprocess/tokenizer.h) */
    uint64_t seed;            /* of the shuffle; 0 in parts */
    int64_t sources;
    rowfile_source *source;   /* in command-line order */
    int64_t langs;
    char **lang;              /* sorted by bytes; a row without a language has "" */
    int64_t labels;           /* C, may be 0 */
    char **label;             /* names */
    char *identity_text;      /* the recipe lines that shaped the rows (identity options of the stage), for provenance; may be NULL */
} rowfile_meta;
/* Deep copy; free of a struct's contents. */
status rowfile_meta_copy(const rowfile_meta *from, rowfile_meta *to);
void rowfile_meta_free(rowfile_meta *m);

/* One row. Pointers belong to the caller; append copies. */
typedef struct rowfile_row {
    const char *id;          /* CSV id, bytes of valid UTF-8 */
    size_t id_bytes;
    int64_t number;          /* within its input, from 0 */
    uint16_t source, lang;   /* index into meta */
    const float *label;      /* C; NaN = unlabelled */
    const uint32_t *token;   /* n ids */
    int64_t tokens;
    uint64_t text_hash;
    uint64_t hash;           /* of the row: filled by readers; not stored, since it follows from the rest */
} rowfile_row;

/* XXH3-64 over the canonical bytes of RULES (id, lang text, labels, ids). `labels` = C, `lang` the text. */
uint64_t rowfile_row_hash(const rowfile_row *r, const char *lang, int64_t labels);
/* NaN as the one pattern that files and hashes hold (0x7fc00000); any other label as it is. */
float rowfile_canonical_label(float label);

typedef struct rowfile_summary {
    int64_t rows, tokens;
    uint64_t bytes;        /* of the file */
    char sha256[65];       /* of the file */
} rowfile_summary;

/* ---- writing ---- */
typedef struct rowfile_writer rowfile_writer;
status rowfile_create(const char *path, const rowfile_meta *meta, rowfile_writer **out);
/* To call before the first append, for a file that is read once or twice: ids packed in a quarter of the time, with a fifth more bytes. */
void rowfile_pack_quickly(rowfile_writer *w);
status rowfile_append(rowfile_writer *w, const rowfile_row *r);
/* To call before the first append: the row hashes, 8 bytes each, are left in PATH.tmp-hashes, whence data_identity_of_written() takes them, so that
 * nobody has to read the rows again. It is there once rowfile_close has succeeded, and never otherwise. */
status rowfile_leave_hashes(rowfile_writer *w);
/* Removes what is left so beside a row file, where the stage ends before its manifest. */
void rowfile_forget_hashes(const char *path);
/* Frees w in every case. */
status rowfile_close(rowfile_writer *w, rowfile_summary *summary);
void rowfile_abandon(rowfile_writer *w); /* removes the temporary file; NULL is fine */

/* ---- reading ---- */
typedef struct rowfile rowfile;
/* Checks format version, sets, sizes and attributes: STATUS_INPUT with the file's name for a foreign, older, newer, cut or damaged one. */
status rowfile_open(const char *path, rowfile **out);
void rowfile_free(rowfile *f);
const rowfile_meta *rowfile_get_meta(const rowfile *f);
int64_t rowfile_rows(const rowfile *f);
int64_t rowfile_tokens(const rowfile *f);
/* Ranges, decompressed into the caller's arrays. A damaged chunk is STATUS_INPUT naming file and set. */
status rowfile_read_tokens(rowfile *f, int64_t first, int64_t count, uint32_t *ids);
status rowfile_read_offsets(rowfile *f, int64_t first_row, int64_t count_plus_one, int64_t *offsets);
status rowfile_read_labels(rowfile *f, int64_t first_row, int64_t count, float *labels); /* count x C */
status rowfile_read_numbers(rowfile *f, int64_t first_row, int64_t count, int64_t *numbers);
status rowfile_read_sources(rowfile *f, int64_t first_row, int64_t count, uint16_t *sources);
status rowfile_read_langs(rowfile *f, int64_t first_row, int64_t count, uint16_t *langs);
/* Of the rows: made from all that they hold, so as slow as reading that. */
status rowfile_read_hashes(rowfile *f, int64_t first_row, int64_t count, uint64_t *hashes);
status rowfile_read_text_hashes(rowfile *f, int64_t first_row, int64_t count, uint64_t *hashes);
/* Ids of rows: offsets (count + 1, from 0 for the first) and a fresh byte array that the caller frees. */
status rowfile_read_ids(rowfile *f, int64_t first_row, int64_t count, char **bytes, int64_t *offsets);
/* One row, pointers into the reader's own buffers, valid until the next call on f. */
status rowfile_read_row(rowfile *f, int64_t index, rowfile_row *r);
/* The same with r->hash 0: a row's hash takes about as long as the rest. */
status rowfile_read_row_unhashed(rowfile *f, int64_t index, rowfile_row *r);
/* Reads everything, and checks every checksum, order and range. STATUS_CHECK naming file, row, set. */
status rowfile_verify(const char *path, rowfile_summary *summary);

#endif
