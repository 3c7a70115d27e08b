/* The sets of a row file, version 2, in the order in which they are made: one table for writer, reader and verifier. */
#ifndef FRETSAW_STORE_SETS_H
#define FRETSAW_STORE_SETS_H

#include "store/column.h"

#define ROWFILE_HASHES ".tmp-hashes" /* behind the name of a row file: rowfile_leave_hashes() */

typedef enum set_number {
    SET_TOKENS, SET_OFFSETS, SET_ID_BYTES, SET_ID_OFFSETS, SET_NUMBER, SET_SOURCE, SET_LANG, SET_TEXT_HASH, SET_LABEL, SETS
} set_number;

typedef struct set_layout {
    const char *name;
    column_type type;
} set_layout;

/* SET_LABEL is rows x C and absent when C is 0. */
static const set_layout set_table[SETS] = {
    [SET_TOKENS] = {"tokens/ids", COLUMN_U32},          [SET_OFFSETS] = {"tokens/offsets", COLUMN_I64},
    [SET_ID_BYTES] = {"rows/id_bytes", COLUMN_U8},      [SET_ID_OFFSETS] = {"rows/id_offsets", COLUMN_I64},
    [SET_NUMBER] = {"rows/number", COLUMN_I64},         [SET_SOURCE] = {"rows/source", COLUMN_U16},
    [SET_LANG] = {"rows/lang", COLUMN_U16},             [SET_TEXT_HASH] = {"rows/text_hash", COLUMN_U64},
    [SET_LABEL] = {"rows/label", COLUMN_F32},
};

#endif
