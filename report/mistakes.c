/* The most confident mistakes, with the texts as they stand in the CSVs (--csv), or else as the tokens have them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "model/run.h"
#include "preprocess/tokenizer.h"
#include "report/html.h"
#include "report/originals.h"
#include "report/page.h"

enum { TEXT_TOKENS = 160, ID_BYTES = 200 };

typedef struct mistakes {
    judged_mistake *list[2]; /* missed, false alarms */
    int64_t shown[2], found[2];
    char (*id)[ID_BYTES]; /* of both lists, one behind the other */
    tokenizer *decoder;
    originals texts;
} mistakes;

/* ---- reading ---- */

/* The decoder of the run's vocabulary, lower case as its tokens were made; NULL where the run's weights, and the vocabulary with them, are gone. */
static status open_tokenizer(const history *h, tokenizer **out)
{
    run r;
    *out = NULL;
    if (run_open(h->folder, NULL, &r) != STATUS_OK)
        return STATUS_OK;
    tokenizer_settings how = {.lower_case = strstr(r.tokenizer, "lower=yes") ? TOKENIZER_YES : TOKENIZER_NO};
    status st = tokenizer_create(r.weights_folder, &how, out);
    run_close(&r);
    return st;
}

static status read_ids(const page *p, mistakes *m)
{
    int64_t n = m->shown[0] + m->shown[1];
    size_t bytes;
    TRY(memory_new(&m->id, (size_t)(n + 1) * sizeof *m->id, "ids"));
    for (int64_t i = 0; i < n; i++) {
        const judged_mistake *one = i < m->shown[0] ? &m->list[0][i] : &m->list[1][i - m->shown[0]];
        TRY(dataset_id(p->data, one->row, m->id[i], ID_BYTES, &bytes));
    }
    return STATUS_OK;
}

static status read_originals(const page *p, mistakes *m)
{
    int64_t n = m->shown[0] + m->shown[1];
    const char **id;
    if (p->csv.count == 0 || n == 0)
        return STATUS_OK;
    TRY(memory_new(&id, (size_t)n * sizeof *id, "ids"));
    for (int64_t i = 0; i < n; i++)
        id[i] = m->id[i];
    status st = originals_read(&p->csv, &p->headings, id, n, &m->texts);
    free(id);
    if (st == STATUS_OK && m->texts.found < n)
        log_warn("--csv: %" PRId64 " of %" PRId64 " mistakes are not in the CSVs; their texts are shown as the tokens have them", n - m->texts.found, n);
    return st;
}

static status read_mistakes(const page *p, mistakes *m)
{
    for (int k = 0; k < 2; k++) {
        TRY(memory_new(&m->list[k], ((size_t)p->mistakes + 1) * sizeof *m->list[k], "mistakes"));
        TRY(judged_mistakes(&p->judged[0], k == 0, p->mistakes, m->list[k], &m->found[k]));
        m->shown[k] = m->found[k] < p->mistakes ? m->found[k] : p->mistakes;
    }
    TRY(read_ids(p, m));
    TRY(read_originals(p, m));
    return open_tokenizer(&p->run[0], &m->decoder);
}

static void free_mistakes(mistakes *m)
{
    free(m->list[0]);
    free(m->list[1]);
    free(m->id);
    originals_free(&m->texts);
    tokenizer_free(m->decoder);
}

/* ---- writing ---- */

static status write_decoded(FILE *out, dataset *d, const tokenizer *t, int64_t row)
{
    uint32_t ids[TEXT_TOKENS];
    int64_t n;
    char *text;
    size_t bytes;
    if (!t) {
        fputs("<td class=\"text\">–</td>", out);
        return STATUS_OK;
    }
    TRY(dataset_tokens_part(d, row, 0, TEXT_TOKENS, ids, &n));
    TRY(tokenizer_decode(t, ids, n, false, true, &text, &bytes));
    fputs("<td class=\"text\" dir=\"auto\">", out);
    html_bytes(out, text, bytes);
    fputs(dataset_length(d, row) > TEXT_TOKENS ? " …</td>" : "</td>", out);
    free(text);
    return STATUS_OK;
}

static status write_mistake(FILE *out, const page *p, const mistakes *m, const judged_mistake *one, const char *id)
{
    const judged *j = &p->judged[0];
    const char *text = m->texts.count ? originals_find(&m->texts, id) : NULL;
    fprintf(out, "<tr><td>%.4f</td><td>%g</td>", (double)one->score, (double)one->truth);
    if (j->labels > 1) {
        fputs("<td class=\"left\">", out);
        html_text(out, j->name[one->label]);
        fputs("</td>", out);
    }
    fputs("<td class=\"left\">", out);
    html_text(out, j->lang[one->row]);
    fputs("</td><td class=\"left\">", out);
    html_text(out, id);
    fputs("</td>", out);
    if (text) {
        fputs("<td class=\"text original\" dir=\"auto\">", out);
        html_text(out, text);
        fputs("</td>", out);
    } else {
        TRY(write_decoded(out, p->data, m->decoder, one->row));
    }
    fputs("</tr>\n", out);
    return STATUS_OK;
}

static status write_table(FILE *out, const page *p, const mistakes *m, int kind)
{
    static const char *const names[] = {"Missed (label 1, low score)", "False alarms (label 0, high score)"};
    const char(*id)[ID_BYTES] = (const char(*)[ID_BYTES])(m->id + (kind ? m->shown[0] : 0));
    status st = STATUS_OK;
    fprintf(out, "<details><summary>%s: the worst %" PRId64 " of %" PRId64 "</summary>\n", names[kind], m->shown[kind], m->found[kind]);
    fprintf(out,
            "<div class=\"wide\"><table class=\"mistakes\"><tr><th>Score</th><th>Label</th>%s<th class=\"left\">Lang</th><th class=\"left\">Id</th>"
            "<th class=\"left text\">Text</th></tr>\n",
            p->judged[0].labels > 1 ? "<th class=\"left\">Of</th>" : "");
    for (int64_t i = 0; i < m->shown[kind] && st == STATUS_OK; i++)
        st = write_mistake(out, p, m, &m->list[kind][i], id[i]);
    fputs("</table></div></details>\n", out);
    return st;
}

status mistakes_write(FILE *out, const page *p)
{
    mistakes m = {0};
    status st;
    if (p->mistakes == 0)
        return STATUS_OK;
    TRY_DONE(read_mistakes(p, &m));
    html_begin_section(out, "Most confident mistakes",
                       m.texts.count ? "Comments as people wrote them: they may offend."
                                     : "Comments as people wrote them: they may offend. The texts are decoded from the tokens, so case and spacing are "
                                       "the model's; --csv brings the original ones.");
    TRY_DONE(write_table(out, p, &m, 0));
    TRY_DONE(write_table(out, p, &m, 1));
    html_end_section(out);
done:
    free_mistakes(&m);
    return st;
}
