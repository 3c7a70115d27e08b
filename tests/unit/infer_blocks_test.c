#include "infer/blocks.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/files.h"
#include "common/log.h"
#include "support/support.h"

enum { ROWS = 103, BLOCK = 10, OUTPUTS = 2 };

static void write_all(blocks *b, const float *score)
{
    for (int64_t i = 0; i < b->count; i++)
        ck_ok(blocks_write(b, i, score + i * BLOCK * OUTPUTS));
}

static int64_t read_all(const blocks *b, const float *expected)
{
    float got[BLOCK * OUTPUTS];
    int64_t there_count = 0;
    for (int64_t i = 0; i < b->count; i++) {
        bool there;
        int64_t first, end;
        ck_ok(blocks_read(b, i, got, &there));
        blocks_range(b, i, &first, &end);
        there_count += there;
        if (there)
            ck_assert(memcmp(got, expected + first * OUTPUTS, (size_t)((end - first) * OUTPUTS) * sizeof *got) == 0);
    }
    return there_count;
}

START_TEST(blocks_keep_and_refuse)
{
    const char *folder = support_scratch();
    float score[ROWS * OUTPUTS];
    blocks b, other, narrow;
    for (int i = 0; i < ROWS * OUTPUTS; i++)
        score[i] = support_normal();
    ck_ok(blocks_open(folder, "key one", ROWS, BLOCK, OUTPUTS, &b));
    ck_assert_int_eq(b.count, 11);
    ck_assert_int_eq(read_all(&b, score), 0);
    write_all(&b, score);
    ck_assert_int_eq(read_all(&b, score), 11);
    ck_ok(blocks_open(folder, "key two", ROWS, BLOCK, OUTPUTS, &other)); /* other weights: nothing of theirs is taken */
    ck_assert_int_eq(read_all(&other, score), 0);

    char **names;
    size_t count;
    ck_ok(file_list(b.folder, &names, &count));
    ck_assert_uint_eq(count, 11);
    for (size_t i = 0; i < count; i++) { /* every single flipped bit, one a file, at a random byte; the last file is cut, then lengthened */
        char path[600], *text;
        size_t n;
        snprintf(path, sizeof path, "%s/%s", b.folder, names[i]);
        ck_ok(file_read_all(path, 0, &text, &n));
        text[support_below(n)] ^= (char)(1 << support_below(8));
        ck_ok(file_write_atomic(path, text, n));
        ck_assert_int_eq(read_all(&b, score), 10);
        ck_ok(file_write_atomic(path, text, support_below(n)));
        ck_assert_int_eq(read_all(&b, score), 10);
        free(text);
        ck_ok(blocks_write(&b, (int64_t)i, score + (int64_t)i * BLOCK * OUTPUTS)); /* names are sorted as blocks are */
        ck_assert_int_eq(read_all(&b, score), 11);
    }
    /* A file moved to another place of the list is not taken for its rows. */
    char from[600], to[600];
    snprintf(from, sizeof from, "%s/%s", b.folder, names[1]);
    snprintf(to, sizeof to, "%s/%s", b.folder, names[2]);
    ck_ok(file_rename(from, to));
    ck_assert_int_eq(read_all(&b, score), 9);
    file_free_names(names, count);

    /* The last block is short. */
    ck_ok(blocks_open(folder, "key three", 5, BLOCK, OUTPUTS, &narrow));
    ck_ok(blocks_write(&narrow, 0, score));
    ck_assert_int_eq(read_all(&narrow, score), 1);
    blocks_close(&b);
    blocks_close(&other);
    blocks_close(&narrow);
}
END_TEST

int main(void)
{
    log_open("infer_blocks", false, true);
    return support_run("blocks", (const TTest *[]){blocks_keep_and_refuse, NULL});
}
