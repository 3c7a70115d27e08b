#include "support/slow_csv.h"

#include <stdlib.h>
#include <string.h>

typedef struct reading {
    const uint8_t *p;
    size_t n, at, limit, record_at;
    slow_csv *s;
} reading;

static bool is(const reading *r, size_t at, char c)
{
    return at < r->n && r->p[at] == (uint8_t)c;
}

static bool fault(reading *r, csv_fault_kind kind, size_t at)
{
    r->s->kind = kind;
    r->s->record = r->s->records;
    r->s->byte = at;
    return false;
}

/* Whether the byte about to be read is beyond what a field or a record may have. */
static bool within(reading *r, size_t field)
{
    if (r->limit && r->at - field > r->limit)
        return fault(r, CSV_FIELD_TOO_LONG, field);
    return !r->limit || r->at - r->record_at <= 2 * r->limit || fault(r, CSV_RECORD_TOO_LONG, r->record_at);
}

static void put(reading *r)
{
    r->s->text[r->s->text_used++] = (char)r->p[r->at++];
}

static bool quoted(reading *r)
{
    size_t field = r->at++;
    for (;;) {
        if (!within(r, field))
            return false;
        if (r->at >= r->n)
            return fault(r, CSV_UNCLOSED, field);
        if (is(r, r->at, '"') && !is(r, r->at + 1, '"'))
            break;
        if (is(r, r->at, '"')) {
            r->at++;
            if (!within(r, field))
                return false;
        }
        put(r);
    }
    r->at++;
    if (!within(r, field))
        return false;
    if (r->at >= r->n || is(r, r->at, ',') || is(r, r->at, '\n') || (is(r, r->at, '\r') && is(r, r->at + 1, '\n')))
        return true;
    return fault(r, is(r, r->at, '\r') ? CSV_LONE_CR : CSV_TEXT_AFTER, r->at);
}

static bool plain(reading *r)
{
    size_t field = r->at;
    for (;;) {
        if (!within(r, field))
            return false;
        if (r->at >= r->n || is(r, r->at, ',') || is(r, r->at, '\n'))
            return true;
        if (is(r, r->at, '\r'))
            return is(r, r->at + 1, '\n') || fault(r, CSV_LONE_CR, r->at);
        if (is(r, r->at, '"'))
            return fault(r, CSV_QUOTE_INSIDE, r->at);
        put(r);
    }
}

static bool record(reading *r)
{
    slow_csv *s = r->s;
    size_t first = s->fields;
    bool more = true;
    r->record_at = r->at;
    while (more) {
        if ((s->fields & (s->fields - 1)) == 0) /* full at each power of two */
            s->field = realloc(s->field, (2 * s->fields + 1) * sizeof *s->field);
        slow_field *f = &s->field[s->fields++];
        *f = (slow_field){.from = s->text_used, .at = r->at};
        if (!(is(r, r->at, '"') ? quoted(r) : plain(r)))
            return false;
        f->bytes = s->text_used - f->from;
        more = is(r, r->at, ',');
        r->at += more;
    }
    if (is(r, r->at, '\r')) {
        r->at++;
        if (!within(r, (size_t)s->field[s->fields - 1].at))
            return false;
    }
    r->at++;
    const slow_field *f = &s->field[first];
    int64_t width = (int64_t)(s->fields - first);
    if (width == 1 && !is(r, r->record_at, '"') && strspn(s->text + f->from, " \t") >= f->bytes)
        return fault(r, CSV_SPACES, r->record_at);
    s->width = s->width ? s->width : width;
    if (width != s->width)
        return fault(r, CSV_RAGGED, r->record_at);
    s->records++;
    return true;
}

void slow_csv_read(const uint8_t *p, size_t n, size_t limit, slow_csv *out)
{
    reading r = {.p = p, .n = n, .limit = limit, .s = out};
    *out = (slow_csv){.text = calloc(1, n + 1)};
    if (n >= 2 && ((p[0] == 0xFF && p[1] == 0xFE) || (p[0] == 0xFE && p[1] == 0xFF))) {
        fault(&r, CSV_UTF16, 0);
        out->record = -1;
        return;
    }
    r.at = n >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    while (r.at < n)
        if (is(&r, r.at, '\n'))
            r.at++;
        else if (is(&r, r.at, '\r') && is(&r, r.at + 1, '\n'))
            r.at += 2;
        else if (!record(&r)) {
            out->fields = (size_t)(out->records * out->width);
            return;
        }
    if (out->records < 2) {
        fault(&r, CSV_NO_RECORDS, 0);
        out->record = -1;
    }
}

void slow_csv_free(slow_csv *s)
{
    free(s->text);
    free(s->field);
}
