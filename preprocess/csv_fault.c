#include <stdio.h>
#include <string.h>

#include "common/count.h"
#include "preprocess/csv.h"
#include "preprocess/utf8.h"

/* What it is called, and what the user does about it. */
static const struct {
    const char *name, *cure;
} faults[] = {
    [CSV_FINE] = {"", ""},
    [CSV_LONE_CR] = {"lone CR", "records end with LF or CRLF: convert the line ends, or put the field in quotes"},
    [CSV_QUOTE_INSIDE] = {"quote in an unquoted field", "put the whole field in quotes and double the quotes inside it"},
    [CSV_TEXT_AFTER] = {"text after a closing quote", "double the quotes inside the field, or end the field after its quote"},
    [CSV_UNCLOSED] = {"unclosed quote", "the file ends inside this field: it was cut short (a download that broke off), or a quote is missing; get the "
                                        "whole file, or close the quote"},
    [CSV_SPACES] = {"line of spaces", "delete the line, or leave it empty"},
    [CSV_RAGGED] = {"ragged record", "give every record as many fields as the header has; a delimiter in a field needs quotes around the field (--delimiter says what it is)"},
    [CSV_FIELD_TOO_LONG] = {"field too long", "give more --memory, of which a field may fill half, or look for a quote that is missing"},
    [CSV_RECORD_TOO_LONG] = {"record too long", "give more --memory, which must hold a record, or look for a quote that is missing"},
    [CSV_TOO_WIDE] = {"too many columns", "a header may have 65536 columns: keep those that are used"},
    [CSV_UTF16] = {"utf-16", "the file starts with a UTF-16 mark: convert it to UTF-8"},
    [CSV_NO_RECORDS] = {"no records", "there must be a header and a record at least: check that this is the right file and all of it"},
    [CSV_NO_ID] = {"no id column", "name it with --id-column; where there is none, --id-column :number numbers the rows"},
    [CSV_NO_TEXT] = {"no text column", "name it with --text-column"},
    [CSV_NO_LANG] = {"no lang column", "name it as the file does, or leave --lang-column out"},
    [CSV_NO_LABEL] = {"no label column", "name it as the file does in --labels; a label may have several names: --labels \"toxic|target\""},
    [CSV_EQUAL_NAMES] = {"two equal names", "two columns that are used have the same name: rename one"},
    [CSV_LABEL] = {"label", "a label is a number from 0 to 1, empty or a missing-value word; --unlabelled names one more number for unlabelled rows"},
    [CSV_LABEL_WORD] = {"label", "write 1 for yes (true) and 0 for no (false): a label is a number from 0 to 1, empty or a missing-value word"},
    [CSV_LANG] = {"lang", "a language is a short text without NUL bytes: name its column with --lang-column"},
};

const char *csv_fault_name(csv_fault_kind kind)
{
    return faults[kind].name;
}

status csv_fault_fail(const csv_file *file, const csv_fault *f)
{
    static const char cut[] = "it is the file's last record, so the file may have been cut short (a download that broke off): get the whole file; or ";
    char where[80] = "", more[540] = "";
    if (f->byte != CSV_NOWHERE)
        snprintf(where, sizeof where, "record %lld%s, byte %llu: ", (long long)f->record, f->record == 0 ? " (the header)" : "",
                 (unsigned long long)f->byte);
    if (f->kind == CSV_RAGGED)
        snprintf(more, sizeof more, " (%s where the header has %lld)", count_of(f->found, "field"), (long long)f->wanted);
    else if (f->kind == CSV_FIELD_TOO_LONG || f->kind == CSV_RECORD_TOO_LONG)
        snprintf(more, sizeof more, " (more than %lld bytes)", (long long)f->wanted);
    else if (f->detail[0])
        snprintf(more, sizeof more, " (%s)%s%s", f->detail, f->column[0] ? " in column " : "", f->column);
    return fail(STATUS_INPUT, "%s%s: %s%s%s; %s%s", file->path, file->unpacked ? " (unpacked)" : "", where, faults[f->kind].name, more, f->cut ? cut : "",
                faults[f->kind].cure);
}

void csv_quote_text(const char *text, size_t n, char *to, size_t room)
{
    static const char dots[] = "...";
    size_t used = 0;
    char *mine = to;
    while (n && used + 3 * UTF8_REPLACEMENT_BYTES < room) { /* what one step may write, and the dots */
        size_t step = utf8_valid_prefix(text, n < UTF8_LONGEST ? n : UTF8_LONGEST);
        if (step == 0) {
            used += utf8_put(UTF8_REPLACEMENT, mine + used);
            step = 1;
        } else if ((unsigned char)*text < 0x20 || *text == 0x7F) {
            used += (size_t)snprintf(mine + used, 5, "\\x%02x", (unsigned char)*text);
            step = 1;
        } else {
            utf8_get(text, &step);
            memcpy(mine + used, text, step);
            used += step;
        }
        text += step;
        n -= step;
    }
    if (n)
        for (const char *d = dots; *d; d++)
            mine[used++] = *d;
    mine[used] = 0;
}
