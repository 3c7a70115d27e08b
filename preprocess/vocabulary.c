#include "preprocess/vocabulary.h"

#include <stdlib.h>
#include <string.h>

#include "common/files.h"
#include "preprocess/utf8.h"

const char *const vocabulary_special_text[VOCABULARY_SPECIALS] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

static const size_t LARGEST = (size_t)1 << 30; /* bytes of a vocabulary file: far above any real one */

/* The line at text[at..bytes-1]: its length, and where the next begins. */
static size_t line_at(const char *text, size_t bytes, size_t at, size_t *next)
{
    size_t end = at;
    while (end < bytes && text[end] != '\n' && text[end] != '\r')
        end++;
    *next = end;
    if (end < bytes)
        *next += 1 + (text[end] == '\r' && end + 1 < bytes && text[end + 1] == '\n');
    return end - at;
}

static status split_lines(const char *path, vocabulary *v, size_t bytes)
{
    size_t good = utf8_valid_prefix(v->text, bytes), next;
    int64_t lines = 0;
    for (size_t at = 0; at < good; at = next, lines++)
        line_at(v->text, good, at, &next);
    if (good < bytes)
        return fail(STATUS_INPUT, "%s: line %lld, byte %zu of the file: not UTF-8; give the vocab.txt of a BERT model", path,
                    (long long)(lines ? lines : 1), good);
    if (!lines)
        return fail(STATUS_INPUT, "%s: empty; give the vocab.txt of a BERT model", path);
    TRY(memory_new(&v->piece, (size_t)lines * sizeof *v->piece, "the vocabulary"));
    for (size_t at = 0; at < bytes; at = next) {
        size_t length = line_at(v->text, bytes, at, &next);
        v->piece[v->count] = (wordpiece_key){v->text + at, (uint32_t)length, (uint32_t)v->count};
        v->count++;
    }
    return STATUS_OK;
}

/* By bytes, equal pieces by id. */
static int compare(const void *a, const void *b)
{
    const wordpiece_key *p = a, *q = b;
    size_t shorter = p->bytes < q->bytes ? p->bytes : q->bytes;
    int order = memcmp(p->text, q->text, shorter);
    if (order)
        return order;
    if (p->bytes != q->bytes)
        return p->bytes < q->bytes ? -1 : 1;
    return (p->id > q->id) - (p->id < q->id);
}

static status build_trie(vocabulary *v)
{
    status st;
    wordpiece_key *sorted = NULL;
    size_t n = (size_t)v->count, kept = 0;
    TRY_DONE(memory_new(&sorted, n * sizeof *sorted, "the vocabulary"));
    memcpy(sorted, v->piece, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare);
    for (size_t i = 0; i < n; i++) {
        wordpiece_key k = sorted[i];
        bool last = i + 1 == n || sorted[i + 1].bytes != k.bytes || memcmp(sorted[i + 1].text, k.text, k.bytes) != 0;
        if (!last)
            v->piece[k.id].id = sorted[i + 1].id;
        else if (k.bytes)
            sorted[kept++] = k;
    }
    TRY_DONE(wordpiece_build(sorted, kept, &v->trie));
done:
    free(sorted);
    return st;
}

static bool has_capital(const wordpiece_key *k)
{
    if (k->bytes > 2 && ((k->text[0] == '[' && k->text[k->bytes - 1] == ']') || (k->text[0] == '<' && k->text[k->bytes - 1] == '>')))
        return false;
    for (uint32_t i = 0; i < k->bytes; i++)
        if (k->text[i] >= 'A' && k->text[i] <= 'Z')
            return true;
    return false;
}

static status find_specials(const char *path, vocabulary *v)
{
    for (int i = 0; i < VOCABULARY_SPECIALS; i++) {
        const char *text = vocabulary_special_text[i];
        if (!vocabulary_find(v, text, strlen(text), &v->special[i]))
            return fail(STATUS_INPUT, "%s: no line %s%s; give the vocab.txt of a BERT model, which has [PAD] [UNK] [CLS] [SEP] [MASK]", path, text,
                        strncmp(v->text, "\xEF\xBB\xBF", 3) == 0 ? " (the file begins with a byte-order mark: take it out)" : "");
    }
    return STATUS_OK;
}

/* What follows once text, pieces and hash are there. */
static status finish(const char *path, vocabulary *v)
{
    TRY(build_trie(v));
    TRY(find_specials(path, v));
    for (int64_t i = 0; i < v->count; i++)
        v->capitals += has_capital(&v->piece[i]);
    return STATUS_OK;
}

status vocabulary_read(const char *path, vocabulary *out)
{
    status st;
    size_t bytes;
    memset(out, 0, sizeof *out);
    TRY_DONE(file_read_all(path, LARGEST, &out->text, &bytes));
    TRY_DONE(hash_sha256_buffer(out->text, bytes, out->sha256));
    TRY_DONE(split_lines(path, out, bytes));
    TRY_DONE(finish(path, out));
done:
    if (st != STATUS_OK)
        vocabulary_free(out);
    return st;
}

status vocabulary_from_pieces(const char *path, const char *const *pieces, size_t count, vocabulary *out)
{
    status st;
    size_t bytes = 0, at = 0;
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < count; i++)
        bytes += strlen(pieces[i]) + 1;
    TRY_DONE(memory_new(&out->text, bytes + 1, "the vocabulary"));
    TRY_DONE(memory_new(&out->piece, count * sizeof *out->piece, "the vocabulary"));
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(pieces[i]);
        memcpy(out->text + at, pieces[i], length);
        out->text[at + length] = '\n';
        out->piece[i] = (wordpiece_key){out->text + at, (uint32_t)length, (uint32_t)i};
        at += length + 1;
    }
    out->text[bytes] = 0;
    out->count = (int64_t)count;
    TRY_DONE(hash_sha256_buffer(out->text, bytes, out->sha256));
    TRY_DONE(finish(path, out));
done:
    if (st != STATUS_OK)
        vocabulary_free(out);
    return st;
}

void vocabulary_free(vocabulary *v)
{
    free(v->text);
    free(v->piece);
    wordpiece_free(&v->trie);
    memset(v, 0, sizeof *v);
}

bool vocabulary_find(const vocabulary *v, const char *piece, size_t bytes, uint32_t *id)
{
    return wordpiece_find(&v->trie, piece, bytes, id);
}

const wordpiece_key *vocabulary_piece(const vocabulary *v, uint32_t id)
{
    return id < (uint64_t)v->count && v->piece[id].id == id ? &v->piece[id] : NULL;
}
