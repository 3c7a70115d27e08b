/* TensorBoard's event file: framing, checksums, and what stays when a run is resumed. The real reader has its say in tests/pipeline/events.sh. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files.h"
#include "support/support.h"
#include "train/events.h"

enum { EPOCH = 4, LAST = 12, HEAD = 12, TAIL = 4 };

static char *event_path(const char *folder)
{
    char *path;
    ck_ok(file_join(folder, "tensorboard/events.out.tfevents.0000000000.fretsaw", &path));
    return path; /* lives until the test ends */
}

static void write_from(const char *folder, int64_t step)
{
    events *e;
    ck_ok(events_open(folder, step, &e));
    if (step % EPOCH == 0 && step > 0) /* validated again */
        ck_ok(events_epoch(e, step, 0.25, step == EPOCH ? NAN : 0.75));
    for (int64_t s = step + 1; s <= LAST; s++) {
        ck_ok(events_step(e, &(events_scalars){s, 1.0 / (double)s, 1e-5, 100.0 + (double)s}));
        if (s % EPOCH == 0)
            ck_ok(events_epoch(e, s, 0.25, s == EPOCH ? NAN : 0.75));
    }
    events_close(e);
}

static uint64_t little(const unsigned char *p, int bytes)
{
    uint64_t value = 0;
    while (bytes-- > 0)
        value = value << 8 | p[bytes];
    return value;
}

/* Walks over the records, with their wall times and both checksums behind them zeroed: what must be the same in every run. */
static char *contents(const char *folder, size_t *bytes, int *records)
{
    char *text;
    ck_ok(file_read_all(event_path(folder), 0, &text, bytes));
    *records = 0;
    for (size_t at = 0; at < *bytes; (*records)++) {
        unsigned char *p = (unsigned char *)text + at;
        ck_assert_uint_ge(*bytes - at, HEAD + TAIL);
        size_t n = little(p, 8);
        ck_assert_uint_eq(little(p + 8, 4), events_masked_crc(p, 8));
        ck_assert_uint_le(n, *bytes - at - HEAD - TAIL);
        ck_assert_uint_eq(little(p + HEAD + n, 4), events_masked_crc(p + HEAD, n));
        ck_assert_uint_eq(p[HEAD], 1 << 3 | 1); /* the wall time comes first */
        memset(p + HEAD + 1, 0, 8);
        memset(p + HEAD + n, 0, 4);
        at += HEAD + n + TAIL;
    }
    return text;
}

START_TEST(checksum_is_the_known_one)
{
    uint32_t crc = UINT32_C(0xE3069283); /* CRC-32C of the digits, as its standard gives it */
    ck_assert_uint_eq(events_masked_crc("123456789", 9), (uint32_t)((crc >> 15 | crc << 17) + UINT32_C(0xA282EAD8)));
}
END_TEST

START_TEST(resumed_file_has_no_gap_and_nothing_twice)
{
    const char *whole_folder = support_scratch();
    size_t bytes, n, whole_size;
    int records, count;
    char *raw, *text;
    write_from(whole_folder, 0);
    ck_ok(file_read_all(event_path(whole_folder), 0, &raw, &whole_size));
    char *whole = contents(whole_folder, &bytes, &records);
    ck_assert_int_eq(records, 1 + LAST + LAST / EPOCH);
    for (int64_t step = 0; step <= LAST; step++) {
        const char *folder = support_scratch();
        size_t torn = support_below(60); /* what a crash has left behind the checkpoint's step */
        write_from(folder, 0);
        ck_ok(file_read_all(event_path(folder), 0, &text, &n));
        if (step < LAST - 2)
            ck_ok(file_write_atomic(event_path(folder), text, n - torn));
        free(text);
        write_from(folder, step);
        text = contents(folder, &n, &count);
        ck_assert_msg(n == bytes && memcmp(text, whole, n) == 0, "resumed after step %lld: %zu bytes, %d records", (long long)step, n, count);
        free(text);
    }
    free(raw);
    free(whole);
}
END_TEST

START_TEST(damage_cuts_the_file_there)
{
    const char *folder = support_scratch();
    size_t n, rest;
    char *text, *after;
    events *e;
    write_from(folder, 0);
    ck_ok(file_read_all(event_path(folder), 0, &text, &n));
    for (int round = 0; round < 40; round++) {
        size_t byte = support_below((int64_t)n);
        text[byte] = (char)(text[byte] ^ (1 << support_below(8)));
        ck_ok(file_write_atomic(event_path(folder), text, n));
        ck_ok(events_open(folder, LAST + 1, &e));
        events_close(e);
        ck_ok(file_read_all(event_path(folder), 0, &after, &rest));
        ck_assert_msg(rest <= byte || byte < 40, "byte %zu was flipped, %zu bytes of %zu stay", byte, rest, n);
        free(after);
        ck_ok(file_remove_tree(event_path(folder)));
        write_from(folder, 0);
        free(text);
        ck_ok(file_read_all(event_path(folder), 0, &text, &n));
    }
    free(text);
}
END_TEST

int main(void)
{
    return support_run("train_events",
                       (const TTest *[]){checksum_is_the_known_one, resumed_file_has_no_gap_and_nothing_twice, damage_cuts_the_file_there, NULL});
}
