/* gzip and zstd: what is unpacked, in any parts; every cut, what follows, damage; and the reader of tables over it. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <zlib.h>
#include <zstd.h>

#include "common/files.h"
#include "common/hash.h"
#include "infer/table.h"
#include "preprocess/packed.h"
#include "support/csv_trace.h"
#include "support/packed_case.h"
#include "support/support.h"

enum { MOST = 3 << 20 };
static char path[512], target[512];

static void make_paths(void)
{
    const char *folder = support_scratch();
    snprintf(path, sizeof path, "%s/a.csv", folder); /* its name says nothing */
    snprintf(target, sizeof target, "%s/plain", folder);
}

/* Writes p to `path` and unpacks it; the bytes written and where. */
static status unpack(const uint8_t *p, size_t n, int64_t memory, char **text, size_t *bytes)
{
    packed_kind kind;
    uint64_t written = 0;
    trace_write_file(path, p, n);
    ck_ok(packed_look(path, &kind));
    FILE *f = fopen(target, "wb");
    ck_assert_ptr_nonnull(f);
    const packed_target to = {.fd = fileno(f), .path = target, .memory = memory};
    status st = kind == PACKED_NOT ? STATUS_OK : packed_unpack(path, kind, &to, &written);
    ck_assert_int_eq(fclose(f), 0);
    ck_ok(file_read_all(target, 0, text, bytes));
    ck_assert_uint_eq(*bytes, written);
    return st;
}

static void expect(const uint8_t *packed, size_t n, const uint8_t *plain, size_t plain_n)
{
    char *text;
    size_t bytes;
    ck_ok(unpack(packed, n, 64 << 20, &text, &bytes));
    ck_assert_uint_eq(bytes, plain_n);
    ck_assert_int_eq(memcmp(text, plain, bytes), 0);
    free(text);
}

static void expect_fault(const uint8_t *packed, size_t n, size_t byte, const char *what)
{
    char *text, where[100];
    size_t bytes;
    snprintf(where, sizeof where, "a.csv: byte %zu: ", byte);
    ck_fails(unpack(packed, n, 64 << 20, &text, &bytes), STATUS_INPUT, where);
    ck_assert_msg(strstr(status_message(), what) != NULL, "%s lacks %s", status_message(), what);
    free(text);
}

static size_t random_text(uint8_t *p, size_t most)
{
    size_t n = support_below(most + 1);
    uint64_t spread = 1 + support_below(255);
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)support_below(spread);
    return n;
}

START_TEST(any_parts_unpack)
{
    uint8_t *plain = malloc(MOST), *packed = malloc(2 * MOST);
    make_paths();
    for (int i = 0; i < 60; i++) {
        size_t n = random_text(plain, i % 10 ? 3000 : MOST);
        packed_kind kind = i % 2 ? PACKED_GZIP : PACKED_ZSTD;
        expect(packed, packed_case(kind, plain, n, 1 + (int)support_below(6), packed, NULL), plain, n);
    }
    trace_write_file(path, "id,text\n1,a\n", 12);
    packed_kind kind;
    ck_ok(packed_look(path, &kind));
    ck_assert_int_eq(kind, PACKED_NOT);
    free(plain);
    free(packed);
}
END_TEST

/* A cut between two parts leaves a whole file of what lies before it; any other is found, at its byte. */
START_TEST(every_cut_is_found)
{
    uint8_t plain[600], packed[3000];
    size_t ends[8], n = 0;
    make_paths();
    for (int i = 0; i < 4; i++) {
        while (n < 100)
            n = random_text(plain, sizeof plain);
        packed_kind kind = i % 2 ? PACKED_GZIP : PACKED_ZSTD;
        size_t all = packed_case(kind, plain, n, 3, packed, ends);
        for (size_t cut = 4; cut < all; cut++) {
            char *text, where[60];
            size_t bytes;
            status st = unpack(packed, cut, 64 << 20, &text, &bytes);
            bool between = cut == ends[0] || cut == ends[1];
            ck_assert_int_eq(st == STATUS_OK, between);
            size_t begin = cut > ends[1] ? ends[1] : cut > ends[0] ? ends[0] : 0, magic = kind == PACKED_GZIP ? 2 : 4;
            snprintf(where, sizeof where, "byte %zu: ", begin && cut - begin < magic ? begin : cut);
            ck_assert_msg(between || strstr(status_message(), where), "cut %zu of %zu: %s", cut, all, status_message());
            ck_assert_int_eq(memcmp(text, plain, bytes), 0);
            free(text);
        }
        n = 0;
    }
}
END_TEST

START_TEST(what_follows_is_found)
{
    static const char *const rest[] = {"x", "\n", "garbage behind it all", "\0\0\0\0\0\0\0\0\0\0"};
    static const size_t rest_n[] = {1, 1, 21, 10};
    uint8_t plain[5000], packed[9000];
    make_paths();
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 4; i++) {
            size_t n = random_text(plain, sizeof plain), all = packed_case(k ? PACKED_GZIP : PACKED_ZSTD, plain, n, 2, packed, NULL);
            memcpy(packed + all, rest[i], rest_n[i]);
            expect_fault(packed, all + rest_n[i], all, "what follows");
        }
}
END_TEST

/* A changed bit is found, or changes nothing that is unpacked (names and times in a gzip header). */
START_TEST(damage_is_found)
{
    uint8_t plain[2000], packed[4000];
    make_paths();
    int found = 0;
    for (int i = 0; i < 3000; i++) {
        char *text;
        size_t bytes, n = 500 + random_text(plain, 1500) % 1500, all = packed_case(i % 2 ? PACKED_GZIP : PACKED_ZSTD, plain, n, 1, packed, NULL);
        size_t at = 4 + support_below(all - 4);
        packed[at] ^= (uint8_t)(1 << support_below(8));
        status st = unpack(packed, all, 64 << 20, &text, &bytes);
        ck_assert_msg(st == STATUS_INPUT || (st == STATUS_OK && bytes == n && memcmp(text, plain, n) == 0), "byte %zu of %zu: %d", at, all, (int)st);
        found += st == STATUS_INPUT;
        free(text);
    }
    ck_assert_int_gt(found, 2800);
}
END_TEST

/* A frame's window is memory: more than half of what there is, is refused. */
START_TEST(windows_are_bounded)
{
    size_t n = 3 << 20, bytes;
    uint8_t *plain = calloc(1, n), *packed = malloc(n + 1000);
    char *text;
    make_paths();
    ZSTD_CCtx *c = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, 21);
    ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag, 0);
    ZSTD_inBuffer in = {plain, n, 0};
    ZSTD_outBuffer out = {packed, n + 1000, 0};
    ck_assert_uint_eq(ZSTD_compressStream2(c, &out, &in, ZSTD_e_end), 0);
    ck_ok(unpack(packed, out.pos, 4 << 20, &text, &bytes));
    ck_assert_uint_eq(bytes, n);
    free(text);
    ck_fails(unpack(packed, out.pos, 2 << 20, &text, &bytes), STATUS_INPUT, "larger window than half of --memory");
    free(text);
    ZSTD_freeCCtx(c);
    free(plain);
    free(packed);
}
END_TEST

START_TEST(tables_are_read_packed)
{
    static const char csv[] = "id,toxic\n7,0.5\n\"a b\",1\n", faulty[] = "id,toxic\n7,0.5\n8,1\"\n";
    uint8_t packed[500];
    char sha256[HASH_HEX];
    make_paths();
    for (int k = 0; k < 2; k++) {
        table t;
        trace_write_file(path, packed, packed_case(k ? PACKED_GZIP : PACKED_ZSTD, (const uint8_t *)csv, sizeof csv - 1, 2, packed, NULL));
        ck_ok(table_read(path, &(table_request){.numbers = TABLE_VALUES}, &t));
        ck_assert_int_eq(t.rows, 2);
        ck_assert(t.value[0] == 0.5 && t.value[1] == 1);
        ck_assert_int_eq(t.line[1], 3);
        ck_ok(hash_sha256_file(path, sha256));
        ck_assert_str_eq(t.sha256, sha256);
        table_free(&t);
        trace_write_file(path, packed, packed_case(k ? PACKED_GZIP : PACKED_ZSTD, (const uint8_t *)faulty, sizeof faulty - 1, 2, packed, NULL));
        ck_fails(table_read(path, &(table_request){.numbers = TABLE_VALUES}, &t), STATUS_INPUT, "a.csv (unpacked): record 2, byte 18: quote in");
    }
}
END_TEST

int main(void)
{
    return support_run("csv_packed", (const TTest *[]){any_parts_unpack, every_cut_is_found, what_follows_is_found, damage_is_found,
                                                       windows_are_bounded, tables_are_read_packed, NULL});
}
