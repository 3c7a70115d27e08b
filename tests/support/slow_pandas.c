#include "support/slow_pandas.h"

#include <stdlib.h>
#include <string.h>

enum { RECORD, FIELD_START, IN_FIELD, QUOTED, AFTER_QUOTE, AFTER_CR, AFTER_SKIPPED_CR, BLANK_LINE };

static void *room_for(void *p, size_t used, size_t *room, size_t each)
{
    if (used < *room)
        return p;
    *room = 2 * used + 64;
    return realloc(p, *room * each);
}

static void put(slow_pandas *s, uint8_t c)
{
    s->text = room_for(s->text, s->text_used, &s->text_room, 1);
    s->text[s->text_used++] = (char)c;
}

static void end_field(slow_pandas *s, size_t *word)
{
    s->cell = room_for(s->cell, s->cells, &s->cell_room, sizeof *s->cell);
    s->cell[s->cells++] = (slow_cell){*word, s->text_used - *word};
    *word = s->text_used;
}

/* False: more fields than there may be. */
static bool end_line(slow_pandas *s)
{
    int64_t fields = (int64_t)(s->cells - s->first[s->records]);
    if (s->records == 0)
        s->header = fields;
    if (s->records == 1)
        s->width = fields > s->header ? fields : s->header;
    if (s->records > 1 && fields > s->width) {
        s->kind = CSV_RAGGED;
        return false;
    }
    size_t room = (size_t)s->record_room;
    s->first = room_for(s->first, (size_t)s->records + 1, &room, sizeof *s->first);
    s->record_room = (int64_t)room;
    s->first[++s->records] = s->cells;
    return true;
}

void slow_pandas_read(const uint8_t *p, size_t n, char delimiter, slow_pandas *s)
{
    size_t i = n >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0, floor = i, word = 0;
    int state = RECORD;
    bool good = true;
    *s = (slow_pandas){.first = calloc(8, sizeof *s->first), .record_room = 8, .text = calloc(1, 64), .text_room = 64};
    for (; i < n && good; i++) {
        uint8_t c = p[i];
        bool lf = c == '\n', cr = c == '\r', divides = c == (uint8_t)delimiter, blank = (c == ' ' || c == '\t') && !divides;
        if (state == AFTER_CR && !lf && !divides) { /* the CR was a line end of its own */
            good = end_line(s);
            state = RECORD;
        } else if (state == AFTER_SKIPPED_CR && !lf && !divides) { /* an LF belongs to the CR, a delimiter is eaten */
            state = RECORD;
        }
        if (state == RECORD && !lf && !cr && !blank)
            state = FIELD_START;
        switch (state) {
        case RECORD:
            state = cr ? AFTER_SKIPPED_CR : blank ? BLANK_LINE : RECORD;
            break;
        case BLANK_LINE:
            if (lf || cr) {
                state = cr ? AFTER_SKIPPED_CR : RECORD;
            } else if (!blank) { /* text after all: back to behind the last line's end */
                while (i > floor && p[i - 1] != '\n' && p[i - 1] != '\r')
                    i--;
                i--;
                state = FIELD_START;
            }
            break;
        case AFTER_SKIPPED_CR:
            state = RECORD;
            break;
        case AFTER_CR:
            good = end_line(s);
            if (divides)
                end_field(s, &word);
            state = divides ? FIELD_START : RECORD;
            break;
        case QUOTED:
            if (c == '"')
                state = AFTER_QUOTE;
            else
                put(s, c);
            break;
        default:
            if (lf || cr || divides) {
                end_field(s, &word);
                if (lf)
                    good = end_line(s);
                state = lf ? RECORD : cr ? AFTER_CR : FIELD_START;
            } else if (c == '"' && state != IN_FIELD) {
                if (state == AFTER_QUOTE)
                    put(s, c);
                state = QUOTED;
            } else {
                put(s, c);
                state = IN_FIELD;
            }
        }
    }
    if (!good)
        return;
    if (state == QUOTED)
        s->kind = CSV_UNCLOSED;
    if (state == FIELD_START || state == IN_FIELD || state == AFTER_QUOTE)
        end_field(s, &word);
    if (state == FIELD_START || state == IN_FIELD || state == AFTER_QUOTE || state == AFTER_CR)
        end_line(s);
}

void slow_pandas_free(slow_pandas *s)
{
    free(s->text);
    free(s->cell);
    free(s->first);
}
