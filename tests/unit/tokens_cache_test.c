/* The tokenizer's cache of words by itself: what it says of a word is right, whatever it has grown through and forgotten, and it forgets little while it
 * may still grow. */
#include "preprocess/tokenizer_cache.h"

#include <stdio.h>

#include "support/support.h"

/* Word i of a test: 1 to 32 bytes (`bytes` is where the caller wants them all alike) behind which garbage stands, and its ids. */
static size_t make_word(uint64_t seed, uint64_t i, size_t bytes, char text[CACHE_LARGE_KEY], uint32_t ids[CACHE_LARGE_IDS], size_t *count)
{
    uint64_t x = (seed + i) * UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 29) * UINT64_C(0xBF58476D1CE4E5B9);
    x ^= x >> 32;
    size_t n = bytes ? bytes : 1 + x % CACHE_LARGE_KEY;
    for (size_t k = 0; k < CACHE_LARGE_KEY; k++) /* within the first bytes i itself, so that long enough words all differ */
        text[k] = k >= n ? (char)support_below(256) : (char)('a' + (k < 7 ? i >> 4 * k & 15 : x >> k & 15));
    *count = x >> 20 & 7;
    for (size_t k = 0; k < *count; k++)
        ids[k] = (uint32_t)(x >> (8 * k % 24)) & (x >> 40 & 15 ? 0xFFFFF : 0x7FFFFFFF); /* now and then wider than 20 bits */
    return n;
}

/* How many of words 0 to n - 1 are found; each with the right ids. */
static uint64_t count_found(const tokenizer_cache *c, uint64_t seed, uint64_t n, size_t bytes)
{
    uint64_t found = 0;
    for (uint64_t i = 0; i < n; i++) {
        char text[CACHE_LARGE_KEY];
        uint32_t ids[CACHE_LARGE_IDS], got[CACHE_LARGE_IDS];
        size_t count, has, length = make_word(seed, i, bytes, text, ids, &count);
        cache_word w;
        cache_set_word(&w, text, length, false);
        if (!cache_find(c, &w, length, got, &has))
            continue;
        found++;
        if (has != count || memcmp(got, ids, count * sizeof *ids) != 0) /* no assertion for each: Check writes a note for those that hold */
            ck_abort_msg("word %llu of %zu bytes: other ids than were stored", (unsigned long long)i, length);
    }
    return found;
}

static void fill(tokenizer_cache *c, uint64_t seed, uint64_t n, size_t bytes)
{
    ck_ok(cache_create(c));
    for (uint64_t i = 0; i < n; i++) {
        char text[CACHE_LARGE_KEY];
        uint32_t ids[CACHE_LARGE_IDS], got[CACHE_LARGE_IDS];
        size_t count, has, length = make_word(seed, i, bytes, text, ids, &count);
        cache_word w;
        cache_set_word(&w, text, length, false);
        if (!cache_find(c, &w, length, got, &has) && cache_store(c, &w, length, ids, count) != STATUS_OK)
            ck_abort_msg("%s", status_message());
    }
}

START_TEST(few_are_forgotten)
{
    static const size_t lengths[] = {8, 12, 16, 17, 32};
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        enum { WORDS = 50000 };
        tokenizer_cache c;
        uint64_t seed = support_random();
        fill(&c, seed, WORDS, lengths[k]);
        uint64_t found = count_found(&c, seed, WORDS, lengths[k]);
        ck_assert_msg(found > WORDS / 100 * 93, "%zu bytes: %llu of %d words are still there", lengths[k], (unsigned long long)found, WORDS);
        cache_free(&c);
    }
}
END_TEST

/* More words of 8 bytes than the table may hold: some are forgotten, none is mistaken. */
START_TEST(full_tables_stay_right)
{
    static const struct { size_t bytes; uint64_t words; } of[] = {{8, 1200000}, {14, 700000}};
    for (size_t k = 0; k < 2; k++) {
        tokenizer_cache c;
        uint64_t seed = support_random();
        fill(&c, seed, of[k].words, of[k].bytes);
        uint64_t found = count_found(&c, seed, of[k].words, of[k].bytes);
        ck_assert(found > of[k].words / 4 && found < of[k].words);
        ck_assert_int_le(c.tiny.bits, 18);
        ck_assert_int_le(c.small.bits, 19);
        cache_free(&c);
    }
}
END_TEST

/* Words that differ in case alone are one where that is asked for, in ASCII only; NULs at the end are nothing. */
START_TEST(keys)
{
    tokenizer_cache c;
    uint32_t ids[CACHE_LARGE_IDS] = {7, 8}, got[CACHE_LARGE_IDS];
    size_t count;
    cache_word a, b;
    char upper[64] = "ABCZ@[`{\xC0\xDF""abcdefghijklmnopqrstuv", lower[64] = "abcz@[`{\xC0\xDF""abcdefghijklmnopqrstuv";
    ck_ok(cache_create(&c));
    for (size_t n = 1; n <= CACHE_LARGE_KEY; n++) {
        cache_set_word(&a, lower, n, true);
        ck_assert(!cache_find(&c, &a, n, got, &count));
        ck_ok(cache_store(&c, &a, n, ids, 2));
        cache_set_word(&b, upper, n, true);
        ck_assert(cache_find(&c, &b, n, got, &count) && count == 2 && got[0] == 7 && got[1] == 8);
        cache_set_word(&b, upper, n, false);
        ck_assert(!cache_find(&c, &b, n, got, &count));
    }
    cache_free(&c);
}
END_TEST

/* Words of NULs have no ids and look like empty entries: never kept, and never found with ids, however full their place is. */
START_TEST(words_of_nul)
{
    for (int k = 0; k <= CACHE_WAYS; k++) {
        tokenizer_cache c;
        uint32_t ids[CACHE_LARGE_IDS] = {7, 8, 9}, got[CACHE_LARGE_IDS];
        size_t count;
        char nul[CACHE_LARGE_KEY] = {0};
        ck_ok(cache_create(&c));
        /* k words where those of NULs belong, as many as there is room for in the place behind. */
        for (int there[2] = {0, 0}; there[0] < k || there[1] < CACHE_WAYS;) {
            cache_word w = {.key = {support_random() | 1}};
            w.hash = cache_tiny_hash(w.key[0]);
            size_t place = (size_t)(cache_tiny_at(&c, w.hash) - (cache_tiny *)c.tiny.at);
            if (place < 2 && there[place] < (place ? CACHE_WAYS : k)) {
                ck_ok(cache_store(&c, &w, CACHE_TINY_KEY, ids, 3));
                there[place]++;
            }
        }
        for (size_t n = 1; n <= CACHE_LARGE_KEY; n++) {
            cache_word w;
            cache_set_word(&w, nul, n, false);
            ck_ok(cache_store(&c, &w, n, ids, 2));
            ck_assert(!cache_find(&c, &w, n, got, &count) || count == 0);
        }
        cache_free(&c);
    }
}
END_TEST

int main(void)
{
    return support_run("cache of words", (const TTest *[]){keys, words_of_nul, few_are_forgotten, full_tables_stay_right, NULL});
}
