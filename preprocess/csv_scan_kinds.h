/* The passes that are built (csv_scan_body.h), one table an instruction set; csv_scan.c chooses. */
#ifndef FRETSAW_PREPROCESS_CSV_SCAN_KINDS_H
#define FRETSAW_PREPROCESS_CSV_SCAN_KINDS_H

#include "preprocess/csv_scan.h"

typedef struct csv_masks {
    uint64_t quote, delimiter, lf, cr; /* bit i: byte i is one */
} csv_masks;

extern const csv_scan csv_scan_sse2, csv_scan_avx2;

#endif
