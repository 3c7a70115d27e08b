#include "store/ids_frame.h"

#include <stdio.h>
#include <zstd.h>

#include "support/support.h"

enum { ROOM = 4 * IDS_FRAME_MOST + 4096 };

typedef struct fixture {
    ids_packer *p;
    uint32_t *ids;
    uint8_t *planes, *packed, *back;
} fixture;

static fixture make(void)
{
    fixture f = {.ids = malloc(4 * IDS_FRAME_MOST), .planes = malloc(4 * IDS_FRAME_MOST), .packed = malloc(ROOM), .back = malloc(4 * IDS_FRAME_MOST)};
    ck_assert(f.ids && f.planes && f.packed && f.back);
    ck_ok(ids_packer_create(&f.p));
    return f;
}

static void unmake(fixture *f)
{
    ids_packer_free(f->p);
    free(f->ids);
    free(f->planes);
    free(f->packed);
    free(f->back);
}

/* Packs ids[0..n-1], in memory of exactly that size so that a sanitizer sees what is read beside it, and has zstd itself unpack them. */
static size_t round_trip(fixture *f, size_t n, bool quick, const char *what)
{
    uint32_t *ids = malloc(4 * n);
    uint8_t *planes = malloc(4 * n);
    size_t bytes;
    ck_assert(ids && planes);
    memcpy(ids, f->ids, 4 * n);
    for (size_t j = 0; j < 4; j++)
        for (size_t i = 0; i < n; i++)
            planes[j * n + i] = (uint8_t)(ids[i] >> 8 * j);
    ck_ok(ids_frame_pack(f->p, ids, planes, n, quick, f->packed, ROOM, &bytes));
    ck_assert_msg(ZSTD_getFrameContentSize(f->packed, bytes) == 4 * n && ZSTD_findFrameCompressedSize(f->packed, bytes) == bytes,
                  "%s, %zu ids%s: not one frame of that content", what, n, quick ? ", quick" : "");
    size_t back = ZSTD_decompress(f->back, 4 * n, f->packed, bytes);
    ck_assert_msg(back == 4 * n && memcmp(f->back, planes, back) == 0, "%s, %zu ids%s: %s", what, n, quick ? ", quick" : "",
                  ZSTD_isError(back) ? ZSTD_getErrorName(back) : "other bytes come back");
    free(ids);
    free(planes);
    return bytes;
}

typedef void fill(uint32_t *ids, size_t n);

static void any_numbers(uint32_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ids[i] = (uint32_t)support_random();
}

static void all_equal(uint32_t *ids, size_t n)
{
    uint32_t one = support_below(2) ? 0 : (uint32_t)support_random();
    for (size_t i = 0; i < n; i++)
        ids[i] = one;
}

/* As texts are: most ids small, pieces of what came before again and again, of any length. */
static void like_texts(uint32_t *ids, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t length = support_below(30) + 1, from = i ? support_below(i) : 0;
        bool again = i > 0 && support_below(3) == 0;
        for (size_t k = 0; k < length && i < n; k++, i++)
            ids[i] = again ? ids[from + k] : (uint32_t)support_below(support_below(4) ? 2000 : 105879);
    }
}

/* Runs of every length around the least one, in every plane. */
static void runs(uint32_t *ids, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t length = support_below(80) + 1;
        uint32_t one = (uint32_t)support_random() & (0xFFu << 8 * support_below(4));
        for (; length > 0 && i < n; length--, i++)
            ids[i] = one;
    }
}

static void few_values(uint32_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ids[i] = (uint32_t)support_below(3) << 16;
}

START_TEST(everything_comes_back)
{
    static const struct { fill *f; const char *what; } kinds[] = {
        {any_numbers, "any numbers"}, {all_equal, "all equal"}, {like_texts, "like texts"}, {runs, "runs"}, {few_values, "few values"},
    };
    fixture f = make();
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        for (size_t n = 1; n <= 200; n++)
            for (int quick = 0; quick < 2; quick++) {
                kinds[kind].f(f.ids, n);
                round_trip(&f, n, quick, kinds[kind].what);
            }
        for (int i = 0; i < 40; i++) {
            size_t n = i < 3 ? IDS_FRAME_MOST - (size_t)i : support_below(IDS_FRAME_MOST) + 1;
            kinds[kind].f(f.ids, n);
            round_trip(&f, n, i & 1, kinds[kind].what);
            round_trip(&f, n, !(i & 1), kinds[kind].what);
        }
    }
    unmake(&f);
}
END_TEST

START_TEST(repeats_and_runs_are_found)
{
    fixture f = make();
    size_t n = IDS_FRAME_MOST, phrase = 1500;
    for (size_t i = 0; i < n; i++)
        f.ids[i] = i < phrase ? (uint32_t)support_below(60000) : f.ids[i - phrase];
    size_t bytes = round_trip(&f, n, false, "a phrase again and again");
    ck_assert_msg(bytes < 2 * phrase + 1000, "a phrase of %zu ids again and again takes %zu bytes", phrase, bytes);
    for (size_t i = 0; i < n; i++)
        f.ids[i] = (uint32_t)support_below(65536);
    bytes = round_trip(&f, n, false, "no repeats");
    ck_assert_msg(bytes < 2 * n + 200, "planes of zeros take %zu bytes", bytes - 2 * n);
    bytes = round_trip(&f, n, true, "no repeats");
    ck_assert_msg(bytes < 2 * n + 200, "planes of zeros take %zu bytes, quick", bytes - 2 * n);
    unmake(&f);
}
END_TEST

START_TEST(too_little_room)
{
    fixture f = make();
    size_t bytes, n = 1000;
    any_numbers(f.ids, n);
    for (int quick = 0; quick < 2; quick++)
        ck_fails(ids_frame_pack(f.p, f.ids, (const uint8_t *)f.ids, n, quick, f.packed, 2000, &bytes), STATUS_RESOURCE, "");
    unmake(&f);
}
END_TEST

int main(void)
{
    return support_run("ids_frame", (const TTest *[]){everything_comes_back, repeats_and_runs_are_found, too_little_room, NULL});
}
