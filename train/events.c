#include "train/events.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/files.h"

#define FILE_NAME "tensorboard/events.out.tfevents.0000000000.fretsaw"

/* A record: length (8 bytes), its checksum (4), the message, its checksum (4). */
enum { RECORD_HEAD = 12, RECORD_TAIL = 4, MESSAGE_ROOM = 512 };

/* Field numbers of the messages Event, Summary and Summary.Value, and the wire types of their fields. */
enum { EVENT_WALL_TIME = 1, EVENT_STEP = 2, EVENT_FILE_VERSION = 3, EVENT_SUMMARY = 5, SUMMARY_VALUE = 1, VALUE_TAG = 1, VALUE_SIMPLE = 2 };
enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct events {
    FILE *file;
    char *path;
};

/* Large enough for every message here; what would not fit is an error of the program. */
typedef struct message {
    uint8_t byte[MESSAGE_ROOM];
    size_t n;
} message;

/* ---- checksums ---- */

static uint32_t crc32c(const void *p, size_t n)
{
    const uint8_t *byte = p;
    uint32_t crc = ~UINT32_C(0);
    for (size_t i = 0; i < n; i++) {
        crc ^= byte[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (UINT32_C(0x82F63B78) & (0 - (crc & 1)));
    }
    return ~crc;
}

uint32_t events_masked_crc(const void *p, size_t n)
{
    uint32_t crc = crc32c(p, n);
    return (crc >> 15 | crc << 17) + UINT32_C(0xA282EAD8);
}

/* ---- messages ---- */

static void put_little(message *m, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes && m->n < MESSAGE_ROOM; i++)
        m->byte[m->n++] = (uint8_t)(value >> (8 * i));
}

static void put_varint(message *m, uint64_t value)
{
    for (; value >= 128; value >>= 7)
        put_little(m, (value & 127) | 128, 1);
    put_little(m, value, 1);
}

static void put_key(message *m, int field, int wire)
{
    put_varint(m, (uint64_t)(field << 3 | wire));
}

static void put_bytes(message *m, int field, const void *p, size_t n)
{
    put_key(m, field, WIRE_BYTES);
    put_varint(m, n);
    for (size_t i = 0; i < n && m->n < MESSAGE_ROOM; i++)
        m->byte[m->n++] = ((const uint8_t *)p)[i];
}

static void put_double(message *m, int field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_key(m, field, WIRE_FIXED64);
    put_little(m, bits, 8);
}

static void put_scalar(message *summary, const char *tag, double value)
{
    message one = {.n = 0};
    float single = (float)value;
    uint32_t bits;
    if (isnan(value))
        return;
    memcpy(&bits, &single, sizeof bits);
    put_bytes(&one, VALUE_TAG, tag, strlen(tag));
    put_key(&one, VALUE_SIMPLE, WIRE_FIXED32);
    put_little(&one, bits, 4);
    put_bytes(summary, SUMMARY_VALUE, one.byte, one.n);
}

static double wall_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- records ---- */

static status write_record(events *e, const message *m)
{
    message head = {.n = 0}, tail = {.n = 0};
    put_little(&head, m->n, 8);
    put_little(&head, events_masked_crc(head.byte, 8), 4);
    put_little(&tail, events_masked_crc(m->byte, m->n), 4);
    bool fine = fwrite(head.byte, 1, head.n, e->file) == head.n && fwrite(m->byte, 1, m->n, e->file) == m->n &&
                fwrite(tail.byte, 1, tail.n, e->file) == tail.n && fflush(e->file) == 0;
    return fine ? STATUS_OK : file_output_error(errno, e->path, 0);
}

static status write_summary(events *e, int64_t step, const message *summary)
{
    message m = {.n = 0};
    put_double(&m, EVENT_WALL_TIME, wall_time());
    put_key(&m, EVENT_STEP, WIRE_VARINT);
    put_varint(&m, (uint64_t)step);
    put_bytes(&m, EVENT_SUMMARY, summary->byte, summary->n);
    return write_record(e, &m);
}

static status write_version(events *e)
{
    static const char version[] = "brain.Event:2";
    message m = {.n = 0};
    put_double(&m, EVENT_WALL_TIME, wall_time());
    put_bytes(&m, EVENT_FILE_VERSION, version, sizeof version - 1);
    return write_record(e, &m);
}

/* ---- what an earlier start has left ---- */

static uint64_t get_little(const uint8_t *p, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)p[i] << (8 * i);
    return value;
}

/* Bytes of the whole record at `p`, 0 when there is none. */
static size_t record_bytes(const uint8_t *p, size_t left)
{
    if (left < RECORD_HEAD + RECORD_TAIL || get_little(p + 8, 4) != events_masked_crc(p, 8))
        return 0;
    uint64_t n = get_little(p, 8);
    if (n > MESSAGE_ROOM || n > left - RECORD_HEAD - RECORD_TAIL)
        return 0;
    return get_little(p + RECORD_HEAD + n, 4) == events_masked_crc(p + RECORD_HEAD, n) ? n + RECORD_HEAD + RECORD_TAIL : 0;
}

/* The step of a message as write_summary lays it out; 0 for the version's. */
static int64_t message_step(const uint8_t *p, size_t n)
{
    uint64_t step = 0;
    const size_t at = 1 + 8; /* behind the wall time */
    if (n <= at || p[at] != (EVENT_STEP << 3 | WIRE_VARINT))
        return 0;
    for (size_t i = at + 1; i < n && i - at < 10; i++) {
        step |= (uint64_t)(p[i] & 127) << (7 * (i - at - 1));
        if (p[i] < 128)
            break;
    }
    return (int64_t)step;
}

static bool stays(const uint8_t *p, size_t n, int64_t step)
{
    static const char valid[] = "valid/";
    int64_t own = message_step(p, n);
    return own < step || (own == step && !memmem(p, n, valid, sizeof valid - 1));
}

static status count_kept(const char *path, int64_t step, size_t *keep)
{
    char *text = NULL;
    size_t bytes = 0;
    *keep = 0;
    if (step == 0 || !file_exists(path))
        return STATUS_OK;
    TRY(file_read_all(path, 0, &text, &bytes));
    const uint8_t *p = (const uint8_t *)text;
    for (size_t n; (n = record_bytes(p + *keep, bytes - *keep)) > 0; *keep += n)
        if (!stays(p + *keep + RECORD_HEAD, n - RECORD_HEAD - RECORD_TAIL, step))
            break;
    free(text);
    return STATUS_OK;
}

static status open_file(events *e, const char *folder, int64_t step)
{
    size_t keep;
    char *place;
    TRY(file_join(folder, "tensorboard", &place));
    status st = file_make_folder(place);
    free(place);
    TRY(st);
    TRY(file_join(folder, FILE_NAME, &e->path));
    TRY(count_kept(e->path, step, &keep));
    e->file = fopen(e->path, "ab");
    if (!e->file || ftruncate(fileno(e->file), (off_t)keep) != 0)
        return fail_errno(STATUS_IO, errno, "%s: cannot be written to", e->path);
    return keep == 0 ? write_version(e) : STATUS_OK;
}

/* ---- what others see ---- */

status events_open(const char *folder, int64_t step, events **out)
{
    events *e;
    TRY(memory_new(&e, sizeof *e, "the event file"));
    status st = open_file(e, folder, step);
    if (st != STATUS_OK) {
        events_close(e);
        e = NULL;
    }
    *out = e;
    return st;
}

void events_close(events *e)
{
    if (!e)
        return;
    if (e->file)
        fclose(e->file);
    free(e->path);
    free(e);
}

status events_step(events *e, const events_scalars *s)
{
    message summary = {.n = 0};
    put_scalar(&summary, "train/loss", s->loss);
    put_scalar(&summary, "train/learning_rate", s->lr);
    put_scalar(&summary, "train/rows_per_second", s->rows_per_second);
    return write_summary(e, s->step, &summary);
}

status events_epoch(events *e, int64_t step, double loss, double auc)
{
    message summary = {.n = 0};
    put_scalar(&summary, "valid/loss", loss);
    put_scalar(&summary, "valid/auc", auc);
    return summary.n ? write_summary(e, step, &summary) : STATUS_OK;
}
