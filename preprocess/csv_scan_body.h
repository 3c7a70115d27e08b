/* The two passes over blocks of 64 bytes, written once; csv_scan_sse2.c and csv_scan_avx2.c include it after defining
 *     static inline csv_masks masks_of(const uint8_t *p, char delimiter)      the four byte classes of p[0..63]
 *     static inline uint64_t prefix_xor(uint64_t x)           bit i = parity of bits 0..i
 * and SCAN_NAME, SCAN_TABLE. */
#include <string.h>

static void count_block(csv_count *c, csv_masks m, uint64_t next_lf, unsigned bytes)
{
    uint64_t inside = prefix_xor(m.quote) ^ c->inside;
    uint64_t starts_text = ~(m.lf | (m.cr & next_lf)); /* not an empty line */
    if (bytes < 64)
        starts_text &= (UINT64_C(1) << bytes) - 1;
    uint64_t ended[CSV_STATES] = {m.lf & ~inside, m.lf & inside};
    for (int s = 0; s < CSV_STATES; s++) {
        uint64_t starts = (ended[s] << 1 | c->fresh[s]) & starts_text;
        c->fresh[s] = ended[s] >> (bytes - 1) & 1;
        if (!starts)
            continue;
        if (c->piece.first[s] == CSV_NOWHERE)
            c->piece.first[s] = c->at + (unsigned)__builtin_ctzll(starts);
        c->piece.records[s] += __builtin_popcountll(starts);
    }
    c->inside = (uint64_t)((int64_t)inside >> 63);
    c->at += bytes;
}

static void count_bytes(csv_count *c, const uint8_t *p, size_t n, int next)
{
    size_t i = 0;
    for (; i + 65 <= n; i += 64) { /* a block and the byte behind it */
        csv_masks m = masks_of(p + i, ',');
        count_block(c, m, m.lf >> 1 | (uint64_t)(p[i + 64] == '\n') << 63, 64);
    }
    if (i < n) {
        uint8_t tail[64] = {0};
        memcpy(tail, p + i, n - i);
        csv_masks m = masks_of(tail, ',');
        count_block(c, m, m.lf >> 1 | (uint64_t)(next == '\n') << (n - i - 1), (unsigned)(n - i));
    }
    c->piece.flips = c->inside & 1;
}

/* Sets x->broken when something in the block may not stand where it stands; returns the bits before that place. */
static uint64_t find_break(csv_index *x, csv_masks m, uint64_t opens, uint64_t after_closed, uint64_t after_cr, uint64_t may_open, uint64_t valid,
                           size_t base)
{
    uint64_t cr = after_cr & ~m.lf & valid, quote = opens & ~may_open & valid;
    uint64_t text = after_closed & ~(m.quote | m.delimiter | m.lf | m.cr) & valid;
    uint64_t all = cr | quote | text;
    if (__builtin_expect(all == 0, 1))
        return ~UINT64_C(0);
    int bit = __builtin_ctzll(all);
    uint64_t here = UINT64_C(1) << bit;
    x->broken = cr & here ? CSV_BREAK_LONE_CR : quote & here ? CSV_BREAK_QUOTE : CSV_BREAK_TEXT;
    x->broken_at = base + (size_t)bit - (cr & here ? 1 : 0); /* the CR is the byte before the one that shows it to be alone */
    return here - 1;
}

static inline void append_bits(uint32_t *to, uint64_t bits, uint32_t base, unsigned count)
{
    for (unsigned done = 0; done < count; done += 8, to += 8)
        for (int k = 0; k < 8; k++) { /* past the last bit these write what nobody reads: cheaper than asking */
            to[k] = base + (uint32_t)__builtin_ctzll(bits | UINT64_C(1) << 63);
            bits &= bits - 1;
        }
}

static inline void index_block(csv_index *x, csv_masks m, uint32_t base, unsigned bytes, uint32_t *entries, uint32_t *ends)
{
    uint64_t valid = bytes < 64 ? (UINT64_C(1) << bytes) - 1 : ~UINT64_C(0);
    uint64_t inside = prefix_xor(m.quote) ^ x->inside; /* after each byte */
    uint64_t closes = m.quote & ~inside, cr = m.cr & ~inside, lines = m.lf & ~inside, places = (m.delimiter & ~inside) | lines;
    uint64_t opening = places | closes;
    uint64_t before = find_break(x, m, m.quote & inside, closes << 1 | x->closed, cr << 1 | x->cr, opening << 1 | x->may_open, valid, base);
    places &= before;
    lines &= before;
    unsigned last = bytes - 1;
    x->may_open = opening >> last & 1;
    x->closed = closes >> last & 1;
    x->cr = cr >> last & 1;
    x->inside = (uint64_t)((int64_t)inside >> 63);
    for (uint64_t l = lines; l; l &= l - 1)
        ends[x->ends++] = (uint32_t)(x->entries + (unsigned)__builtin_popcountll(places & ((l & -l) - 1)));
    unsigned count = (unsigned)__builtin_popcountll(places);
    append_bits(entries + x->entries, places, base, count);
    x->entries += count;
}

static size_t index_bytes(csv_index *x, const uint8_t *p, size_t n, bool last, uint32_t base, uint32_t *entries, uint32_t *ends)
{
    size_t i = 0;
    for (; i + 64 <= n && !x->broken; i += 64)
        index_block(x, masks_of(p + i, x->delimiter), base + (uint32_t)i, 64, entries, ends);
    if (last && i < n && !x->broken) {
        uint8_t tail[64] = {0};
        memcpy(tail, p + i, n - i);
        index_block(x, masks_of(tail, x->delimiter), base + (uint32_t)i, (unsigned)(n - i), entries, ends);
        i = n;
    }
    return i;
}

const csv_scan SCAN_TABLE = {.name = SCAN_NAME, .count = count_bytes, .index = index_bytes};
