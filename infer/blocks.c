#include "infer/blocks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/files.h"
#include "common/log.h"

static const char magic[8] = {'F', 'S', 'S', 'C', 'O', 'R', 'E', '1'};
enum { KEY_DIGITS = 16, HEAD_BYTES = sizeof magic + HASH_HEX - 1 + 3 * sizeof(int64_t) };

status blocks_open(const char *folder, const char *key_text, int64_t rows, int64_t block_rows, int64_t outputs, blocks *out)
{
    blocks b = {.rows = rows, .block_rows = block_rows, .outputs = outputs, .count = (rows + block_rows - 1) / block_rows};
    char name[KEY_DIGITS + 1];
    TRY(hash_sha256_buffer(key_text, strlen(key_text), b.key));
    snprintf(name, sizeof name, "%.*s", KEY_DIGITS, b.key);
    TRY(file_join(folder, name, &b.folder));
    *out = b;
    return STATUS_OK;
}

void blocks_close(blocks *b)
{
    free(b->folder);
    *b = (blocks){0};
}

void blocks_range(const blocks *b, int64_t block, int64_t *first, int64_t *end)
{
    *first = block * b->block_rows;
    *end = *first + b->block_rows < b->rows ? *first + b->block_rows : b->rows;
}

static status block_path(const blocks *b, int64_t block, char **path)
{
    char name[80];
    int64_t first, end;
    blocks_range(b, block, &first, &end);
    snprintf(name, sizeof name, "rows-%012lld-%012lld.scores", (long long)first, (long long)end);
    return file_join(b->folder, name, path);
}

static void make_head(const blocks *b, int64_t block, char head[HEAD_BYTES])
{
    int64_t first, end;
    blocks_range(b, block, &first, &end);
    int64_t numbers[3] = {first, end - first, b->outputs};
    memcpy(head, magic, sizeof magic);
    memcpy(head + sizeof magic, b->key, HASH_HEX - 1);
    memcpy(head + sizeof magic + HASH_HEX - 1, numbers, sizeof numbers);
}

static size_t score_bytes(const blocks *b, int64_t block)
{
    int64_t first, end;
    blocks_range(b, block, &first, &end);
    return (size_t)((end - first) * b->outputs) * sizeof(float);
}

status blocks_read(const blocks *b, int64_t block, float *score, bool *there)
{
    char *path, *text = NULL, head[HEAD_BYTES];
    size_t bytes, body = score_bytes(b, block);
    uint64_t sum;
    *there = false;
    TRY(block_path(b, block, &path));
    if (!file_exists(path)) {
        free(path);
        return STATUS_OK;
    }
    make_head(b, block, head);
    if (file_read_all(path, HEAD_BYTES + body + sizeof sum, &text, &bytes) == STATUS_OK && bytes == HEAD_BYTES + body + sizeof sum &&
        memcmp(text, head, HEAD_BYTES) == 0) {
        memcpy(&sum, text + HEAD_BYTES + body, sizeof sum);
        *there = sum == hash_xxh3(text, HEAD_BYTES + body);
    }
    if (*there)
        memcpy(score, text + HEAD_BYTES, body);
    else
        log_always("%s is damaged or foreign: these rows are scored again", path);
    free(text);
    free(path);
    return STATUS_OK;
}

status blocks_write(const blocks *b, int64_t block, const float *score)
{
    char *path = NULL, *text = NULL;
    size_t body = score_bytes(b, block);
    status st;
    TRY_DONE(memory_new(&text, HEAD_BYTES + body + sizeof(uint64_t), "a block of scores"));
    TRY_DONE(block_path(b, block, &path));
    make_head(b, block, text);
    memcpy(text + HEAD_BYTES, score, body);
    uint64_t sum = hash_xxh3(text, HEAD_BYTES + body);
    memcpy(text + HEAD_BYTES + body, &sum, sizeof sum);
    TRY_DONE(file_write_atomic(path, text, HEAD_BYTES + body + sizeof sum));
done:
    free(text);
    free(path);
    return st;
}
