#include "model/pieces.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/files.h"

enum { LARGEST = 256 << 20 }; /* bytes of a file; those of large vocabularies have some ten million */

status pieces_find(const char *folder, char **path)
{
    if (!file_exists(folder))
        return fail(STATUS_INPUT, "%s: no such folder; give a Hugging Face model folder with config.json, a vocabulary and weights", folder);
    if (!file_is_folder(folder))
        return fail(STATUS_INPUT, "%s: is a file; give the folder it is in", folder);
    TRY(file_join(folder, "vocab.txt", path));
    if (file_exists(*path))
        return STATUS_OK;
    free(*path);
    TRY(file_join(folder, "tokenizer.json", path));
    if (file_exists(*path))
        return STATUS_OK;
    free(*path);
    TRY(file_join(folder, "run.json", path));
    bool is_run = file_exists(*path);
    free(*path);
    *path = NULL;
    if (is_run)
        return fail(STATUS_INPUT, "%s: is a run of train; give one of its model folders, such as %s/epoch-1, or the run to --init-from", folder, folder);
    return fail(STATUS_INPUT, "%s: neither vocab.txt nor tokenizer.json in it: the model's vocabulary is needed beside its config.json, or name it with --vocab",
                folder);
}

static status join_lines(const char **pieces, size_t n, char **text, size_t *bytes)
{
    size_t all = 0, at = 0;
    for (size_t i = 0; i < n; i++)
        all += strlen(pieces[i]) + 1;
    TRY(memory_new(text, all + 1, "the vocabulary"));
    for (size_t i = 0; i < n; i++) {
        size_t length = strlen(pieces[i]);
        memcpy(*text + at, pieces[i], length);
        (*text)[at + length] = '\n';
        at += length + 1;
    }
    *bytes = all;
    return STATUS_OK;
}

static status pieces_of_json(const char *path, const json_t *file, char **text, size_t *bytes)
{
    json_t *vocab = json_object_get(json_object_get(file, "model"), "vocab"), *value;
    size_t n = json_object_size(vocab);
    const char **pieces, *piece;
    if (n == 0)
        return fail(STATUS_INPUT, "%s: \"model\" has no \"vocab\" of pieces and ids; give the tokenizer.json of a BERT model", path);
    TRY(memory_new(&pieces, n * sizeof *pieces, "the vocabulary"));
    status st = STATUS_OK;
    json_object_foreach(vocab, piece, value)
    {
        json_int_t id = json_is_integer(value) ? json_integer_value(value) : -1;
        if (id < 0 || (size_t)id >= n || pieces[id]) {
            st = fail(STATUS_INPUT, "%s: \"vocab\": the id of \"%s\" is not one of 0 to %zu, each once", path, piece, n - 1);
            break;
        }
        pieces[id] = piece;
    }
    if (st == STATUS_OK)
        st = join_lines(pieces, n, text, bytes);
    free(pieces);
    return st;
}

status pieces_read(const char *path, char **text, size_t *bytes)
{
    size_t n = strlen(path);
    char *whole;
    json_error_t error;
    TRY(file_read_all(path, LARGEST, &whole, bytes));
    if (n < 5 || strcmp(path + n - 5, ".json") != 0) {
        *text = whole;
        return STATUS_OK;
    }
    json_t *file = json_loadb(whole, *bytes, 0, &error);
    free(whole);
    status st = file ? pieces_of_json(path, file, text, bytes) : fail(STATUS_INPUT, "%s: not JSON (line %d: %s)", path, error.line, error.text);
    json_decref(file);
    return st;
}

status pieces_find_specials(const char *path, const char *text, size_t bytes, input_format *ids, int64_t *lines)
{
    int64_t line = 0, cls = -1, sep = -1, pad = -1;
    for (const char *at = text, *end = text + bytes; at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((stop ? stop : end) - at);
        if (n > 0 && at[n - 1] == '\r')
            n--;
        if (n == 5 && memcmp(at, "[CLS]", 5) == 0)
            cls = line;
        else if (n == 5 && memcmp(at, "[SEP]", 5) == 0)
            sep = line;
        else if (n == 5 && memcmp(at, "[PAD]", 5) == 0)
            pad = line;
        at = stop ? stop + 1 : end;
    }
    if (cls < 0 || sep < 0 || pad < 0)
        return fail(STATUS_INPUT, "%s: no line %s: not a BERT vocabulary; give the vocab.txt or tokenizer.json of the model", path,
                    cls < 0   ? "[CLS]"
                    : sep < 0 ? "[SEP]"
                              : "[PAD]");
    ids->cls = (int32_t)cls;
    ids->sep = (int32_t)sep;
    ids->pad = (int32_t)pad;
    *lines = line;
    return STATUS_OK;
}
