/* Pieces of the page: texts made safe, numbers as people read them.
 *
 *     html_text(out, name);                       // &, <, >, " written as entities, control characters left out
 *     html_stat(out, "Best AUC", "0.9975", "epoch 8");
 *
 * All write to a stream whose errors the caller looks at in the end. Local.
 */
#ifndef FRETSAW_REPORT_HTML_H
#define FRETSAW_REPORT_HTML_H

#include <stddef.h>
#include <stdio.h>

enum { HTML_NUMBER = 40 };

void html_text(FILE *out, const char *text);
void html_bytes(FILE *out, const char *text, size_t bytes);
/* A figure with its name above and a remark below. */
void html_stat(FILE *out, const char *name, const char *value, const char *remark);
/* Four significant digits, "–" for NaN; thousands parted for counts. */
void html_number(double value, char to[HTML_NUMBER]);
void html_count(double value, char to[HTML_NUMBER]);
/* "12.3 s", "4 min 05 s", "3 h 20 min". */
void html_span(double seconds, char to[HTML_NUMBER]);
void html_begin_section(FILE *out, const char *title, const char *remark);
void html_end_section(FILE *out);
/* A word for the shell, quoted where it must be. */
void html_shell_word(FILE *out, const char *word);

/* Everything before the page's own content, and behind it (style.c). */
void html_open_page(FILE *out, const char *title);
void html_close_page(FILE *out);

#endif
