/* The CSV reader alone: counting the records of a file at every cut, and finding the fields of every record, on one core, beside a plain read of
 * the same bytes, which is the limit.
 *     csv_bench FILE [ROUNDS]          the file should lie in the page cache; processor time, the best of the rounds */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/comm.h"
#include "common/files.h"
#include "preprocess/splits.h"

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

typedef struct found {
    int64_t records, fields;
    uint64_t bytes; /* of all fields */
} found;

/* The file once through a buffer that stays in the second-level cache; every word of it is looked at. */
static status read_plain(const csv_file *f, uint64_t *sum)
{
    enum { BUFFER = 256 * 1024, WORDS = BUFFER / sizeof(uint64_t) };
    static uint64_t buffer[WORDS];
    for (uint64_t at = 0; at < f->bytes; at += BUFFER) {
        size_t n = f->bytes - at < BUFFER ? (size_t)(f->bytes - at) : BUFFER;
        TRY(file_read_fd(f->fd, f->path, at, buffer, n));
        for (size_t i = 0; i < n / sizeof(uint64_t); i++)
            *sum += buffer[i];
    }
    return STATUS_OK;
}

/* `fields`: every field is looked at and unquoted; else they are found and the records counted. */
static status read_all(const csv_splits *s, csv_reader *r, bool fields, found *out)
{
    csv_event event;
    csv_range range = splits_run(s, 0, s->pieces, 0);
    *out = (found){0};
    TRY(csv_reader_begin(r, &s->input[0].file, &range));
    for (;;) {
        TRY(csv_reader_next(r, &event));
        if (event == CSV_FAULT)
            return csv_fault_fail(&s->input[0].file, csv_reader_fault(r));
        if (event != CSV_RECORD)
            return STATUS_OK;
        out->records++;
        out->fields += csv_reader_width(r);
        for (int64_t k = 0; fields && k < csv_reader_width(r); k++) {
            csv_field f;
            csv_reader_field(r, k, &f);
            out->bytes += f.bytes;
        }
    }
}

static status run(char *path, int rounds)
{
    csv_splits s = {0};
    csv_reader *r = NULL;
    found all;
    double best[4] = {1e9, 1e9, 1e9, 1e9};
    uint64_t sum = 0;
    status st;
    TRY_DONE(csv_reader_create(INT64_C(1) << 30, &r));
    for (int i = 0; i < rounds; i++) {
        double at[5] = {seconds()};
        splits_close(&s);
        TRY_DONE(splits_open(&(splits_request){.path = &path, .count = 1, .split_bytes = INT64_C(64) << 20}, &s));
        TRY_DONE(splits_count(&s));
        at[1] = seconds();
        TRY_DONE(read_all(&s, r, false, &all));
        at[2] = seconds();
        TRY_DONE(read_all(&s, r, true, &all));
        at[3] = seconds();
        TRY_DONE(read_plain(&s.input[0].file, &sum));
        at[4] = seconds();
        for (int k = 0; k < 4; k++)
            best[k] = at[k + 1] - at[k] < best[k] ? at[k + 1] - at[k] : best[k];
    }
    double gb = (double)s.input[0].file.bytes / 1e9;
    printf("%s: %.1f MB, %lld records, %lld fields of %.1f MB\n", path, gb * 1e3, (long long)all.records, (long long)all.fields,
           (double)all.bytes / 1e6);
    printf("counting at every cut %.2f GB/s; records and fields found %.2f GB/s; every field unquoted too %.2f GB/s; a plain read %.2f GB/s\n",
           gb / best[0], gb / best[1], gb / best[2], gb / best[3]);
    printf("sum of the plain read %llx\n", (unsigned long long)sum);
done:
    splits_close(&s);
    csv_reader_free(r);
    return st;
}

int main(int argc, char **argv)
{
    if (comm_open(&argc, &argv) != STATUS_OK)
        return 1;
    if (argc < 2) {
        fprintf(stderr, "csv_bench: give a CSV\n");
        return 2;
    }
    status st = run(argv[1], argc > 2 ? (int)strtol(argv[2], NULL, 10) : 5);
    if (st != STATUS_OK)
        fprintf(stderr, "csv_bench: %s\n", status_message());
    comm_close();
    return st == STATUS_OK ? 0 : 1;
}
