#include "preprocess/csv_pandas.h"

#include <string.h>

#include "preprocess/csv_scan.h"

/* What a byte does besides: */
enum {
    HERE = 1,   /* a region begins at it, */
    BEHIND = 2, /* or behind it */
    DECIDES = 4 /* a record starts */
};

typedef struct rule {
    uint8_t next, does;
} rule;

#define TEXT(quote, does) {PANDAS_FIELD, does}, {PANDAS_START, does}, {quote, does}
static const rule table[PANDAS_STATES][PANDAS_CLASSES] = {
    [PANDAS_FRESH] = {TEXT(PANDAS_QUOTED, DECIDES), {PANDAS_FRESH, BEHIND}, {PANDAS_EMPTY, 0}, {PANDAS_BLANK, 0}},
    [PANDAS_EMPTY] = {{PANDAS_FIELD, DECIDES}, {PANDAS_EATEN, 0}, {PANDAS_QUOTED, DECIDES},
                      {PANDAS_FRESH, BEHIND}, {PANDAS_EMPTY, 0}, {PANDAS_BLANK, 0}},
    [PANDAS_EATEN] = {TEXT(PANDAS_QUOTED, DECIDES), {PANDAS_FRESH, BEHIND}, {PANDAS_EMPTY, 0}, {PANDAS_BLANKS, 0}},
    [PANDAS_BLANK] = {TEXT(PANDAS_FIELD, DECIDES), {PANDAS_FRESH, BEHIND}, {PANDAS_EMPTY, 0}, {PANDAS_BLANK, 0}},
    [PANDAS_BLANKS] = {TEXT(PANDAS_FIELD, DECIDES), {PANDAS_FRESH, BEHIND}, {PANDAS_EMPTY, 0}, {PANDAS_BLANKS, 0}},
    [PANDAS_START] = {TEXT(PANDAS_QUOTED, 0), {PANDAS_FRESH, BEHIND}, {PANDAS_CR, 0}, {PANDAS_FIELD, 0}},
    [PANDAS_FIELD] = {TEXT(PANDAS_FIELD, 0), {PANDAS_FRESH, BEHIND}, {PANDAS_CR, 0}, {PANDAS_FIELD, 0}},
    [PANDAS_QUOTED] = {{PANDAS_QUOTED, 0}, {PANDAS_QUOTED, 0}, {PANDAS_QUOTE, 0}, {PANDAS_QUOTED, 0}, {PANDAS_QUOTED, 0}, {PANDAS_QUOTED, 0}},
    [PANDAS_QUOTE] = {TEXT(PANDAS_QUOTED, 0), {PANDAS_FRESH, BEHIND}, {PANDAS_CR, 0}, {PANDAS_FIELD, 0}},
    [PANDAS_CR] = {TEXT(PANDAS_QUOTED, HERE | DECIDES), {PANDAS_FRESH, BEHIND}, {PANDAS_EMPTY, HERE}, {PANDAS_BLANK, HERE}},
};

void pandas_set_rules(char delimiter, pandas_rules *out)
{
    memset(out, PANDAS_OTHER, sizeof *out);
    out->class_of[' '] = out->class_of['\t'] = PANDAS_SPACE;
    out->class_of['"'] = PANDAS_MARK;
    out->class_of['\n'] = PANDAS_LF;
    out->class_of['\r'] = PANDAS_RETURN;
    out->class_of[(uint8_t)delimiter] = PANDAS_DELIMITER;
}

pandas_state pandas_next(pandas_state s, pandas_class c)
{
    return (pandas_state)table[s][c].next;
}

static void act(pandas_run *r, unsigned does, uint32_t at)
{
    if (does & (HERE | BEHIND)) {
        r->region = at + (does & BEHIND ? 1 : 0);
        r->keeps = false;
    }
    if (!(does & DECIDES))
        return;
    if (r->first == PANDAS_NOWHERE)
        r->first = r->keeps ? PANDAS_BEFORE : r->region;
    r->records++;
    r->keeps = false;
}

static pandas_run begin_run(pandas_state entry, uint32_t offset)
{
    return (pandas_run){.first = PANDAS_NOWHERE, .exit = (uint8_t)entry, .region = offset, .keeps = entry >= PANDAS_EMPTY && entry <= PANDAS_BLANKS};
}

static pandas_run run_bytes(const pandas_rules *rules, const uint8_t *p, size_t n, uint32_t offset, pandas_state entry)
{
    pandas_run r = begin_run(entry, offset);
    unsigned s = entry;
    for (size_t i = 0; i < n; i++) {
        if (s == PANDAS_QUOTED) { /* most of the bytes that there are */
            const uint8_t *mark = memchr(p + i, '"', n - i);
            if (!mark)
                break;
            i = (size_t)(mark - p);
        }
        const rule *t = &table[s][rules->class_of[p[i]]];
        if (t->does)
            act(&r, t->does, offset + (uint32_t)i);
        s = t->next;
    }
    r.exit = (uint8_t)s;
    return r;
}

/* The run a, then the run b. */
static pandas_run join(const pandas_run *a, const pandas_run *b)
{
    pandas_run r = *b;
    r.records += a->records;
    r.keeps = a->keeps && b->keeps;
    if (b->keeps)
        r.region = a->region;
    if (a->first != PANDAS_NOWHERE)
        r.first = a->first;
    else if (b->first == PANDAS_BEFORE)
        r.first = a->keeps ? PANDAS_BEFORE : a->region;
    return r;
}

void pandas_count(const pandas_rules *rules, const uint8_t *p, size_t n, uint32_t offset, pandas_piece *out)
{
    enum { HEAD = 256 }; /* in so many bytes most states have come together in two: inside and outside of quotes */
    size_t head = n < HEAD ? n : HEAD;
    pandas_run tail[PANDAS_STATES];
    bool known[PANDAS_STATES] = {false};
    for (int s = 0; s < PANDAS_STATES; s++) {
        pandas_run first = run_bytes(rules, p, head, offset, (pandas_state)s);
        if (!known[first.exit])
            tail[first.exit] = run_bytes(rules, p + head, n - head, offset + (uint32_t)head, (pandas_state)first.exit);
        known[first.exit] = true;
        out->run[s] = join(&first, &tail[first.exit]);
    }
}

pandas_walk pandas_begin(uint64_t body)
{
    return (pandas_walk){.state = PANDAS_FRESH, .region = body, .first = CSV_NOWHERE};
}

void pandas_pass(pandas_walk *w, const pandas_piece *piece, uint64_t from)
{
    const pandas_run *r = &piece->run[w->state];
    w->records = r->records;
    w->first = r->first == PANDAS_NOWHERE ? CSV_NOWHERE : r->first == PANDAS_BEFORE ? w->region : from + r->first;
    w->region = r->keeps ? w->region : from + r->region;
    w->state = (pandas_state)r->exit;
}
