#include "common/auc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/comm.h"

typedef unsigned __int128 wide;

/* All rows of one score. Keys order as the floats do. */
typedef struct group {
    uint32_t key;
    int64_t positives, negatives;
} group;

static uint32_t order_key(float score)
{
    uint32_t bits;
    memcpy(&bits, &score, sizeof bits);
    if (bits == 0x80000000u)
        bits = 0; /* -0 ties with +0; done on the bits, so that no flush-to-zero mode can make denormals tie too */
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

/* Least significant digit first, three digits of 11 bits over the 33 bits of key and class. */
static void sort_rows(uint64_t *row, uint64_t *spare, int64_t n)
{
    enum { DIGIT = 11, BUCKETS = 1 << DIGIT };
    for (int shift = 0; shift < 33; shift += DIGIT) {
        int64_t place[BUCKETS] = {0}, sum = 0;
        for (int64_t i = 0; i < n; i++)
            place[row[i] >> shift & (BUCKETS - 1)]++;
        for (int b = 0; b < BUCKETS; b++) {
            int64_t count = place[b];
            place[b] = sum;
            sum += count;
        }
        for (int64_t i = 0; i < n; i++)
            spare[place[row[i] >> shift & (BUCKETS - 1)]++] = row[i];
        uint64_t *swap = row;
        row = spare;
        spare = swap;
    }
}

/* Groups of this rank's labelled rows, ascending and distinct; the caller frees. Counts go to c. */
static status group_rows(const float *score, const float *label, int64_t n, group **out, int64_t *groups, auc_count *c)
{
    status st = STATUS_OK;
    uint64_t *row = NULL, *spare = NULL;
    group *g = NULL;
    TRY_DONE(memory_new(&row, (size_t)n * sizeof *row, "the scores to sort"));
    TRY_DONE(memory_new(&spare, (size_t)n * sizeof *spare, "the scores to sort"));
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) {
        if (isnan(score[i])) {
            st = fail(STATUS_CHECK, "the score of row %lld is not a number (NaN): no area under the curve; look at the weights", (long long)i);
            goto done;
        }
        if (isnan(label[i])) {
            c->unlabelled++;
            continue;
        }
        bool positive = label[i] >= 0.5f;
        row[kept++] = (uint64_t)order_key(score[i]) << 1 | positive;
        c->positives += positive;
        c->negatives += !positive;
    }
    sort_rows(row, spare, kept);
    int64_t distinct = 0;
    for (int64_t i = 0; i < kept; i++) /* three passes: the sorted rows lie in spare */
        distinct += i == 0 || spare[i] >> 1 != spare[i - 1] >> 1;
    TRY_DONE(memory_new(&g, (size_t)distinct * sizeof *g, "the groups of equal scores"));
    int64_t at = -1;
    for (int64_t i = 0; i < kept; i++) {
        if (i == 0 || spare[i] >> 1 != spare[i - 1] >> 1)
            g[++at].key = (uint32_t)(spare[i] >> 1);
        if (spare[i] & 1)
            g[at].positives++;
        else
            g[at].negatives++;
    }
    *out = g;
    *groups = distinct;
    g = NULL;
done:
    free(row);
    free(spare);
    free(g);
    return st;
}

/* Groups ascending; `below` negatives score lower than all of them. */
static wide count_wins(const group *g, int64_t groups, int64_t below)
{
    wide wins = 0;
    for (int64_t i = 0; i < groups; i++) {
        wins += (wide)g[i].positives * ((wide)below * 2 + (wide)g[i].negatives);
        below += g[i].negatives;
    }
    return wins;
}

status auc_compute_local(const float *score, const float *label, int64_t n, auc_count *out)
{
    group *g = NULL;
    int64_t groups = 0;
    *out = (auc_count){0};
    TRY(group_rows(score, label, n, &g, &groups, out));
    out->twice_wins = count_wins(g, groups, 0);
    out->pairs = (wide)out->positives * (wide)out->negatives;
    free(g);
    return STATUS_OK;
}

static int compare_keys(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static int compare_groups(const void *a, const void *b)
{
    return compare_keys(&((const group *)a)->key, &((const group *)b)->key);
}

/* Collective. Splits the keys into `size` ranges by regular sampling: a local group is one entry however many rows tie in it, so no rank
 * gets more than about twice its share. send_to[r] = this rank's groups for range r. */
static status share_out(const group *g, int64_t groups, int64_t *send_to)
{
    int size = comm_size();
    status st = STATUS_OK;
    uint32_t *mine = NULL, *all = NULL;
    TRY_DONE(memory_new(&mine, (size_t)size * sizeof *mine, "sampled scores"));
    TRY_DONE(memory_new(&all, (size_t)size * (size_t)size * sizeof *all, "sampled scores"));
done:
    st = comm_agree(st);
    if (st == STATUS_OK) {
        for (int i = 0; i < size; i++) /* a rank without rows votes for the top and so for nothing */
            mine[i] = groups ? g[(int64_t)((wide)i * (wide)groups / (wide)size)].key : UINT32_MAX;
        comm_all_gather(mine, (size_t)size * sizeof *mine, all);
        qsort(all, (size_t)size * (size_t)size, sizeof *all, compare_keys);
        int64_t at = 0;
        for (int r = 0; r < size; r++) {
            int64_t begin = at;
            while (at < groups && (r == size - 1 || g[at].key < all[(size_t)(r + 1) * (size_t)size]))
                at++;
            send_to[r] = at - begin;
        }
    }
    free(mine);
    free(all);
    return st;
}

/* Collective. Sends each group to the rank of its range. The caller frees *out. */
static status exchange_groups(const group *g, int64_t groups, group **out, int64_t *received)
{
    int size = comm_size(), rank = comm_rank();
    status st = STATUS_OK;
    int64_t *counts = NULL;
    size_t *bytes = NULL;
    *out = NULL;
    *received = 0;
    TRY_DONE(memory_new(&counts, (size_t)(size + 1) * (size_t)size * sizeof *counts, "the exchange of scores"));
    TRY_DONE(memory_new(&bytes, 2 * (size_t)size * sizeof *bytes, "the exchange of scores"));
done:
    st = comm_agree(st);
    if (st == STATUS_OK)
        st = share_out(g, groups, counts);
    if (st == STATUS_OK) {
        int64_t *table = counts + size; /* table[from * size + to] */
        comm_all_gather(counts, (size_t)size * sizeof *counts, table);
        for (int r = 0; r < size; r++) {
            bytes[r] = (size_t)counts[r] * sizeof *g;
            bytes[size + r] = (size_t)table[(size_t)r * (size_t)size + (size_t)rank] * sizeof *g;
            *received += table[(size_t)r * (size_t)size + (size_t)rank];
        }
        st = comm_agree(memory_new(out, (size_t)*received * sizeof *g, "the groups of equal scores"));
    }
    if (st == STATUS_OK)
        comm_exchange(g, bytes, *out, bytes + size);
    free(counts);
    free(bytes);
    return st;
}

/* One entry a key again, ascending. */
static int64_t merge_groups(group *g, int64_t groups)
{
    int64_t kept = 0;
    qsort(g, (size_t)groups, sizeof *g, compare_groups);
    for (int64_t i = 0; i < groups; i++) {
        if (kept && g[kept - 1].key == g[i].key) {
            g[kept - 1].positives += g[i].positives;
            g[kept - 1].negatives += g[i].negatives;
        } else {
            g[kept++] = g[i];
        }
    }
    return kept;
}

/* Collective. The sum over ranks of wins, each rank's counted above the negatives of the ranges below its own. */
static status sum_wins(const group *g, int64_t groups, wide *total)
{
    int size = comm_size(), rank = comm_rank();
    int64_t *negatives = NULL;
    uint64_t *parts = NULL;
    status st = memory_new(&negatives, (size_t)size * sizeof *negatives, "counts");
    if (st == STATUS_OK)
        st = memory_new(&parts, 2 * (size_t)size * sizeof *parts, "counts");
    st = comm_agree(st);
    if (st == STATUS_OK) {
        int64_t mine = 0, below = 0;
        for (int64_t i = 0; i < groups; i++)
            mine += g[i].negatives;
        comm_all_gather(&mine, sizeof mine, negatives);
        for (int r = 0; r < rank; r++)
            below += negatives[r];
        wide wins = count_wins(g, groups, below);
        uint64_t halves[2] = {(uint64_t)wins, (uint64_t)(wins >> 64)};
        comm_all_gather(halves, sizeof halves, parts);
        *total = 0;
        for (int r = 0; r < size; r++)
            *total += (wide)parts[2 * r + 1] << 64 | parts[2 * r];
    }
    free(negatives);
    free(parts);
    return st;
}

status auc_compute(const float *score, const float *label, int64_t n, auc_count *out)
{
    group *g = NULL, *held = NULL;
    int64_t groups = 0, received = 0;
    *out = (auc_count){0};
    status st = comm_agree(group_rows(score, label, n, &g, &groups, out));
    if (st == STATUS_OK)
        st = exchange_groups(g, groups, &held, &received);
    free(g);
    if (st == STATUS_OK) {
        int64_t counts[3] = {out->positives, out->negatives, out->unlabelled};
        comm_sum_int64(counts, 3);
        *out = (auc_count){.positives = counts[0], .negatives = counts[1], .unlabelled = counts[2]};
        out->pairs = (wide)counts[0] * (wide)counts[1];
        st = sum_wins(held, merge_groups(held, received), &out->twice_wins);
    }
    free(held);
    return st;
}

/* Long division by bits: the integers may have more bits than a double, so dividing two rounded doubles would round three times. */
double auc_value(const auc_count *c)
{
    wide above = c->twice_wins, below = c->pairs * 2;
    int exponent = 0;
    uint64_t quotient = 1;
    if (above == 0 || above >= below)
        return above == 0 ? 0.0 : 1.0;
    for (; above < below; exponent--)
        above <<= 1;
    above -= below;
    for (int bit = 0; bit < 53; bit++) {
        above <<= 1;
        quotient <<= 1;
        if (above >= below) {
            above -= below;
            quotient |= 1;
        }
    }
    bool up = (quotient & 1) && (above != 0 || (quotient & 2));
    return ldexp((double)((quotient >> 1) + up), exponent - 52);
}

double auc_error(const auc_count *c)
{
    double area = auc_value(c), p = (double)c->positives, n = (double)c->negatives, square = area * area;
    double two_positives = area / (2 - area), two_negatives = 2 * square / (1 + area); /* both above a negative; both below a positive */
    double variance = (area * (1 - area) + (p - 1) * (two_positives - square) + (n - 1) * (two_negatives - square)) / (p * n);
    return variance > 0 ? sqrt(variance) : 0;
}

const char *auc_error_text(const auc_count *c, char text[48])
{
    double error = auc_error(c);
    text[0] = 0;
    if (error > 0)
        snprintf(text, 48, " (standard error %.2g)", error);
    return text;
}
