/* The checksums of a file of weights, in slices that threads share. */
#include <inttypes.h>
#include <stdlib.h>

#include "common/files.h"
#include "common/hash.h"
#include "model/weights_file.h"

enum { SLICE = 1 << 20 };

typedef struct slice {
    const unsigned char *data;
    size_t bytes;
    uint32_t crc;
} slice;

static void check_slice(void *job, int64_t task, int worker)
{
    slice *s = (slice *)job + task;
    (void)worker;
    s->crc = hash_crc32(s->data, s->bytes);
    file_forget(s->data, s->bytes);
}

/* Cuts all blocks; `list` NULL only counts. */
static int64_t cut(const weights_file *file, slice *list)
{
    int64_t n = 0;
    for (size_t i = 0; i < file->block_count; i++)
        for (size_t at = 0; at < file->blocks[i].bytes; at += SLICE, n++)
            if (list)
                list[n] = (slice){file->blocks[i].data + at, file->blocks[i].bytes - at < SLICE ? file->blocks[i].bytes - at : SLICE, 0};
    return n;
}

static status compare(const weights_file *file, const slice *s)
{
    for (size_t i = 0; i < file->block_count; i++) {
        const weights_block *b = &file->blocks[i];
        uint32_t crc = 0;
        for (size_t at = 0; at < b->bytes; at += SLICE, s++)
            crc = hash_crc32_join(crc, s->crc, s->bytes);
        if (crc != b->crc)
            return fail(STATUS_INPUT,
                        "%s: \"%.*s\" in it has CRC-32 %08" PRIx32 ", its directory says %08" PRIx32
                        ": the file is damaged (or was saved without checksums); fetch or save it again",
                        file->path, (int)b->name_length, b->name, crc, b->crc);
    }
    return STATUS_OK;
}

status weights_file_check(const weights_file *file, threads *pool)
{
    slice *list;
    int64_t n = cut(file, NULL);
    if (file->block_count == 0)
        return STATUS_OK;
    TRY(memory_new(&list, (size_t)(n + 1) * sizeof *list, "checking weights"));
    cut(file, list);
    threads_run(pool, n, check_slice, list);
    status st = compare(file, list);
    free(list);
    return st;
}
