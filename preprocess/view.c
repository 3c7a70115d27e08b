#include "preprocess/view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "preprocess/clean.h"

/* Ids of one text, and how many of them stay. */
typedef struct side {
    uint32_t *ids;
    int64_t count, kept;
} side;

static status encode_side(const tokenizer *t, tokenizer_scratch *s, const char *text, size_t bytes, side *to, view_encoding *e, int which)
{
    tokenizer_tokens k;
    TRY(tokenizer_encode(t, s, text, bytes, &k));
    TRY(memory_new(&e->text[which], k.text_bytes + 1, "a text"));
    memcpy(e->text[which], k.text, k.text_bytes);
    e->text_bytes[which] = k.text_bytes;
    TRY(memory_new(&to->ids, (size_t)k.count * sizeof *to->ids, "a text's ids"));
    if (k.count)
        memcpy(to->ids, k.ids, (size_t)k.count * sizeof *to->ids);
    to->count = to->kept = k.count;
    e->unknown += k.unknown;
    e->replaced += k.replaced;
    return STATUS_OK;
}

/* The reference's longest_first: the longer side gives until both are alike, then both by turns, the second first. */
static void cut_pair(side *a, side *b, int64_t cut)
{
    int64_t apart = a->count > b->count ? a->count - b->count : b->count - a->count;
    int64_t first = apart < cut ? apart : cut, rest = cut - first;
    a->kept -= rest / 2;
    b->kept -= rest - rest / 2;
    if (a->count > b->count)
        a->kept -= first;
    else
        b->kept -= first;
}

/* Appends what stays of a side. Head and tail: a quarter of the room from the front, the rest from the end. */
static void put_side(const side *a, view_truncate truncate, uint32_t *ids, int64_t *n)
{
    int64_t head = truncate == VIEW_HEAD || a->kept == a->count ? a->kept : truncate == VIEW_TAIL ? 0 : a->kept / 4;
    int64_t tail = a->kept - head;
    for (int64_t i = 0; i < head; i++)
        ids[(*n)++] = a->ids[i];
    for (int64_t i = a->count - tail; i < a->count; i++)
        ids[(*n)++] = a->ids[i];
}

static status lay_out(const tokenizer *t, const side *a, const side *b, const view_options *o, view_encoding *e)
{
    tokenizer_specials special = tokenizer_special_ids(t);
    int64_t tokens = a->kept + 2 + (b ? b->kept + 1 : 0), n = 0;
    e->length = o->pad && o->max_length > tokens ? o->max_length : tokens;
    size_t bytes = (size_t)e->length * sizeof *e->ids;
    TRY(memory_new(&e->ids, bytes, "a view's ids"));
    TRY(memory_new(&e->mask, bytes, "a view's mask"));
    TRY(memory_new(&e->types, bytes, "a view's token types"));
    e->ids[n++] = special.cls;
    put_side(a, o->truncate, e->ids, &n);
    e->ids[n++] = special.sep;
    int64_t second = n;
    if (b) {
        put_side(b, o->truncate, e->ids, &n);
        e->ids[n++] = special.sep;
    }
    for (int64_t i = 0; i < e->length; i++) {
        e->mask[i] = i < n;
        e->types[i] = i >= second && i < n;
        if (i >= n)
            e->ids[i] = special.pad;
    }
    return STATUS_OK;
}

status view_encode(const tokenizer *t, const char *a, size_t a_bytes, const char *b, size_t b_bytes, const view_options *o, view_encoding *out)
{
    status st;
    tokenizer_scratch *s = NULL;
    side one = {0}, two = {0};
    memset(out, 0, sizeof *out);
    if (o->max_length < 0 || o->max_length == 1 || o->max_length == 2)
        return fail(STATUS_USAGE, "--max-length %" PRId64 ": give 3 or more, since [CLS] and [SEP] are among them", o->max_length);
    if (o->pad && !o->max_length)
        return fail(STATUS_USAGE, "--pad needs --max-length N: the length to fill up to");
    TRY_DONE(tokenizer_scratch_create(t, &s));
    TRY_DONE(encode_side(t, s, a, a_bytes, &one, out, 0));
    if (b)
        TRY_DONE(encode_side(t, s, b, b_bytes, &two, out, 1));
    int64_t tokens = one.count + 2 + (b ? two.count + 1 : 0);
    if (o->max_length && tokens > o->max_length) {
        out->cut = tokens - o->max_length;
        if (b)
            cut_pair(&one, &two, out->cut);
        else
            one.kept -= out->cut;
    }
    TRY_DONE(lay_out(t, &one, b ? &two : NULL, o, out));
done:
    free(one.ids);
    free(two.ids);
    tokenizer_scratch_free(s);
    return st;
}

void view_encoding_free(view_encoding *e)
{
    free(e->ids);
    free(e->mask);
    free(e->types);
    free(e->text[0]);
    free(e->text[1]);
    memset(e, 0, sizeof *e);
}

static status read_stream(FILE *in, char **text, size_t *bytes)
{
    size_t room = 0, got;
    *bytes = 0;
    do {
        if (*bytes == room) {
            room = 2 * room + 65536;
            TRY(memory_grow(text, room, "the text"));
        }
        got = fread(*text + *bytes, 1, room - *bytes, in);
        *bytes += got;
    } while (got);
    return ferror(in) ? fail_errno(STATUS_IO, errno, "reading the text from standard input") : STATUS_OK;
}

static void print_row(FILE *out, const char *name, const uint32_t *values, int64_t n)
{
    fprintf(out, "%s:", name);
    for (int64_t i = 0; i < n; i++)
        fprintf(out, " %" PRIu32, values[i]);
    fputc('\n', out);
}

static void print_cleaned(const view_encoding *e, unsigned steps, FILE *out)
{
    char name[CLEAN_NAME];
    clean_name(steps, name);
    for (int i = 0; i < 2 && e->text[i]; i++) {
        fprintf(out, "cleaned (%s): ", name);
        fwrite(e->text[i], 1, e->text_bytes[i], out);
        fputc('\n', out);
    }
}

static status print(const tokenizer *t, const view_encoding *e, unsigned clean, FILE *out)
{
    char *decoded;
    size_t bytes;
    fprintf(out, "vocabulary: %" PRId64 " pieces, lower case: %s\n", tokenizer_vocabulary_size(t), tokenizer_lower_case(t) ? "yes" : "no");
    fprintf(out, "tokens: %" PRId64 ", cut: %" PRId64 ", [UNK]: %" PRId64 ", U+FFFD for invalid bytes: %" PRId64 "\n", e->length, e->cut,
            e->unknown, e->replaced);
    if (clean)
        print_cleaned(e, clean, out);
    fprintf(out, "\n%8s %8s %5s %5s  %s\n", "position", "id", "mask", "type", "piece");
    for (int64_t i = 0; i < e->length; i++) {
        const char *piece = tokenizer_piece(t, e->ids[i], &bytes);
        fprintf(out, "%8" PRId64 " %8" PRIu32 " %5" PRIu32 " %5" PRIu32 "  ", i, e->ids[i], e->mask[i], e->types[i]);
        fwrite(piece, 1, bytes, out);
        fputc('\n', out);
    }
    fputc('\n', out);
    print_row(out, "input_ids", e->ids, e->length);
    print_row(out, "attention_mask", e->mask, e->length);
    print_row(out, "token_type_ids", e->types, e->length);
    for (int skip = 0; skip < 2; skip++) {
        TRY(tokenizer_decode(t, e->ids, e->length, skip, true, &decoded, &bytes));
        fputs(skip ? "text: " : "decoded: ", out);
        fwrite(decoded, 1, bytes, out);
        fputc('\n', out);
        free(decoded);
    }
    return ferror(out) || fflush(out) != 0 ? fail_errno(STATUS_IO, errno, "writing the view") : STATUS_OK;
}

status view_run(const view_options *o, FILE *out)
{
    status st;
    tokenizer *t = NULL;
    char *input = NULL;
    const char *text[2] = {o->text[0], o->text[1]};
    size_t bytes[2] = {0, 0};
    view_encoding e = {0};
    TRY_DONE(tokenizer_create(o->vocab, &o->settings, &t));
    if (!text[0]) {
        TRY_DONE(read_stream(o->in ? o->in : stdin, &input, &bytes[0]));
        text[0] = input;
        if (o->pair) {
            const char *end = memchr(input, '\n', bytes[0]);
            text[1] = end ? end + 1 : input + bytes[0];
            bytes[1] = end ? bytes[0] - (size_t)(text[1] - input) : 0;
            bytes[0] = end ? (size_t)(end - input) : bytes[0];
        }
    } else {
        bytes[0] = strlen(text[0]);
        bytes[1] = text[1] ? strlen(text[1]) : 0;
    }
    TRY_DONE(view_encode(t, text[0], bytes[0], text[1], bytes[1], o, &e));
    TRY_DONE(print(t, &e, o->settings.clean, out));
done:
    view_encoding_free(&e);
    free(input);
    tokenizer_free(t);
    return st;
}
