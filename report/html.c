#include "report/html.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

void html_bytes(FILE *out, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '&')
            fputs("&amp;", out);
        else if (c == '<')
            fputs("&lt;", out);
        else if (c == '>')
            fputs("&gt;", out);
        else if (c == '"')
            fputs("&quot;", out);
        else if (c >= 32 || c == '\n' || c == '\t')
            putc(c, out);
    }
}

void html_text(FILE *out, const char *text)
{
    html_bytes(out, text, strlen(text));
}

void html_stat(FILE *out, const char *name, const char *value, const char *remark)
{
    fputs("<div class=\"stat\"><span class=\"label\">", out);
    html_text(out, name);
    fputs("</span><strong>", out);
    html_text(out, value);
    fputs("</strong><span class=\"remark\">", out);
    html_text(out, remark);
    fputs("</span></div>\n", out);
}

void html_number(double value, char to[HTML_NUMBER])
{
    if (isnan(value))
        snprintf(to, HTML_NUMBER, "–");
    else
        snprintf(to, HTML_NUMBER, "%.4g", value);
}

void html_count(double value, char to[HTML_NUMBER])
{
    char digits[32];
    size_t used = 0;
    if (isnan(value) || fabs(value) >= 1e15) {
        html_number(value, to);
        return;
    }
    int n = snprintf(digits, sizeof digits, "%" PRId64, (int64_t)llround(value));
    for (int i = 0; i < n; i++) {
        to[used++] = digits[i];
        int left = n - 1 - i;
        if (left > 0 && left % 3 == 0 && digits[i] != '-')
            to[used++] = ',';
    }
    to[used] = 0;
}

void html_span(double seconds, char to[HTML_NUMBER])
{
    int64_t s = isnan(seconds) ? 0 : (int64_t)(seconds + 0.5);
    if (isnan(seconds))
        snprintf(to, HTML_NUMBER, "–");
    else if (s >= 3600)
        snprintf(to, HTML_NUMBER, "%" PRId64 " h %02" PRId64 " min", s / 3600, s / 60 % 60);
    else if (s >= 60)
        snprintf(to, HTML_NUMBER, "%" PRId64 " min %02" PRId64 " s", s / 60, s % 60);
    else
        snprintf(to, HTML_NUMBER, "%.3g s", seconds);
}

void html_begin_section(FILE *out, const char *title, const char *remark)
{
    fputs("<section><h2>", out);
    html_text(out, title);
    fputs("</h2>", out);
    if (remark) {
        fputs("<p class=\"remark\">", out);
        html_text(out, remark);
        fputs("</p>", out);
    }
    putc('\n', out);
}

void html_end_section(FILE *out)
{
    fputs("</section>\n", out);
}

void html_shell_word(FILE *out, const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./,:=+-@%";
    if (*word && strspn(word, plain) == strlen(word)) {
        html_text(out, word);
        return;
    }
    putc('\'', out);
    for (const char *c = word; *c; c++) {
        if (*c == '\'')
            fputs("'\\''", out);
        else
            html_bytes(out, c, 1);
    }
    putc('\'', out);
}
