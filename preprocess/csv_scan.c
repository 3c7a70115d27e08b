#include "preprocess/csv_scan.h"

#include <string.h>

#include "preprocess/csv_scan_kinds.h"

csv_count csv_count_begin(uint64_t at, int previous)
{
    /* Entered inside quotes, an LF before is one inside them too: it ended no line. */
    return (csv_count){.piece = {.first = {CSV_NOWHERE, CSV_NOWHERE}}, .at = at, .fresh = {previous == '\n', 0}};
}

csv_piece csv_piece_join(const csv_piece *a, const csv_piece *b)
{
    csv_piece whole = {.flips = a->flips ^ b->flips};
    for (int s = 0; s < CSV_STATES; s++) {
        int t = a->flips ? 1 - s : s; /* the state that b is entered in */
        whole.records[s] = a->records[s] + b->records[t];
        whole.first[s] = a->first[s] != CSV_NOWHERE ? a->first[s] : b->first[t];
    }
    return whole;
}

csv_index csv_index_begin(void)
{
    return (csv_index){.delimiter = ',', .may_open = 1};
}

static bool has_avx2(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("popcnt");
}

const csv_scan *csv_scan_named(const char *name)
{
    if (strcmp(name, "avx2") == 0)
        return has_avx2() ? &csv_scan_avx2 : NULL;
    return strcmp(name, "sse2") == 0 ? &csv_scan_sse2 : NULL;
}

const csv_scan *csv_scan_best(void)
{
    return has_avx2() ? &csv_scan_avx2 : &csv_scan_sse2;
}
