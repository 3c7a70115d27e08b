/* The tokenizer's side of bench/tokenize_peers.py: rows in memory, ids and offsets kept, one thread.
 *
 *     tokenize_bench VOCAB yes|no ROWS-FILE          (yes: lower case; the file: for each row its bytes as uint32, then the bytes)
 *
 * Reads commands from standard input and answers each with one line "SECONDS IDS SUM": the processor time of a pass over all rows (mean
 * of N passes), how many ids came out, and the sum of (place + 1) x id. "cold N": each pass begins with a fresh scratch, whose making is counted; "warm N":
 * the scratch has seen these rows before. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/files.h"
#include "preprocess/tokenizer.h"

typedef struct bench {
    tokenizer *t;
    tokenizer_scratch *s;
    char *data;
    size_t bytes;
    uint32_t *ids;
    int64_t *offsets;
    size_t id_room, rows;
} bench;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static status open_bench(char **argv, bench *b)
{
    TRY(file_read_all(argv[3], 0, &b->data, &b->bytes));
    TRY(tokenizer_create(argv[1], &(tokenizer_settings){.lower_case = strcmp(argv[2], "yes") == 0 ? TOKENIZER_YES : TOKENIZER_NO}, &b->t));
    TRY(tokenizer_scratch_create(b->t, &b->s));
    for (size_t at = 0; at < b->bytes; b->rows++) {
        uint32_t n;
        if (b->bytes - at < sizeof n)
            return fail(STATUS_INPUT, "%s: cut off at byte %zu", argv[3], at);
        memcpy(&n, b->data + at, sizeof n);
        at += sizeof n + n;
    }
    TRY(memory_new(&b->offsets, (b->rows + 1) * sizeof *b->offsets, "offsets"));
    return STATUS_OK;
}

static status pass(bench *b)
{
    size_t at = 0, count = 0;
    for (size_t row = 0; row < b->rows; row++) {
        uint32_t n;
        tokenizer_tokens k;
        memcpy(&n, b->data + at, sizeof n);
        TRY(tokenizer_encode(b->t, b->s, b->data + at + sizeof n, n, &k));
        at += sizeof n + n;
        if (count + (size_t)k.count > b->id_room) {
            b->id_room = 2 * b->id_room + (size_t)k.count + 4096;
            TRY(memory_grow(&b->ids, b->id_room * sizeof *b->ids, "ids"));
        }
        memcpy(b->ids + count, k.ids, (size_t)k.count * sizeof *k.ids);
        count += (size_t)k.count;
        b->offsets[row + 1] = (int64_t)count;
    }
    return STATUS_OK;
}

static status measure(bench *b, bool cold, int passes, double *spent)
{
    *spent = 0;
    for (int i = 0; i < passes; i++) {
        double before = seconds();
        if (cold) {
            tokenizer_scratch_free(b->s);
            b->s = NULL;
            TRY(tokenizer_scratch_create(b->t, &b->s));
        }
        TRY(pass(b));
        *spent += seconds() - before;
    }
    *spent /= passes;
    return STATUS_OK;
}

static status serve(bench *b)
{
    char word[16];
    int passes;
    double spent;
    while (scanf("%15s %d", word, &passes) == 2) {
        uint64_t sum = 0;
        TRY(measure(b, strcmp(word, "cold") == 0, passes < 1 ? 1 : passes, &spent));
        for (int64_t i = 0; i < b->offsets[b->rows]; i++)
            sum += (uint64_t)(i + 1) * b->ids[i];
        printf("%.9f %lld %llu\n", spent, (long long)b->offsets[b->rows], (unsigned long long)sum);
        fflush(stdout);
    }
    return STATUS_OK;
}

int main(int argc, char **argv)
{
    bench b = {0};
    if (argc != 4) {
        fprintf(stderr, "usage: tokenize_bench VOCAB yes|no ROWS-FILE, commands \"cold N\" and \"warm N\" on standard input\n");
        return 2;
    }
    status st = open_bench(argv, &b);
    if (st == STATUS_OK)
        st = serve(&b);
    if (st != STATUS_OK)
        fprintf(stderr, "tokenize_bench: %s\n", status_message());
    tokenizer_scratch_free(b.s);
    tokenizer_free(b.t);
    free(b.data);
    free(b.ids);
    free(b.offsets);
    return (int)st;
}
