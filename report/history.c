#include "report/history.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/files.h"

/* ---- small things ---- */

const char *history_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static double number_of(const json_t *line, const char *key)
{
    const json_t *value = json_object_get(line, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static status load_json(const char *folder, const char *name, bool needed, json_t **out)
{
    char *path, *text = NULL;
    size_t bytes;
    json_error_t error;
    *out = NULL;
    TRY(file_join(folder, name, &path));
    status st = STATUS_OK;
    if (needed || file_exists(path))
        st = file_read_all(path, 64 << 20, &text, &bytes);
    if (st == STATUS_OK && text) {
        *out = json_loadb(text, bytes, 0, &error);
        if (!*out)
            st = fail(STATUS_INPUT, "%s: line %d: %s; is the folder a run that train wrote?", path, error.line, error.text);
    }
    free(text);
    free(path);
    return st;
}

/* ---- lines ---- */

typedef struct lines {
    char *path, *text;
    size_t bytes, at;
    int64_t number;
} lines;

static status lines_open(const char *folder, const char *name, bool needed, lines *l)
{
    *l = (lines){0};
    TRY(file_join(folder, name, &l->path));
    return needed || file_exists(l->path) ? file_read_all(l->path, 0, &l->text, &l->bytes) : STATUS_OK;
}

static void lines_close(lines *l)
{
    free(l->path);
    free(l->text);
}

/* *line NULL at the end; a last line without its end is one that is being written. */
static status lines_next(lines *l, json_t **line)
{
    json_error_t error;
    char *end = l->text ? memchr(l->text + l->at, '\n', l->bytes - l->at) : NULL;
    *line = NULL;
    if (!end)
        return STATUS_OK;
    *line = json_loadb(l->text + l->at, (size_t)(end - l->text) - l->at, 0, &error);
    l->number++;
    if (!*line)
        return fail(STATUS_INPUT, "%s: line %" PRId64 ": %s; restore the file from a copy", l->path, l->number, error.text);
    l->at = (size_t)(end - l->text) + 1;
    return STATUS_OK;
}

/* Room for as many steps as there are lines. */
static status make_room(const lines *l, history *h)
{
    size_t n = 1;
    for (size_t i = 0; i < l->bytes; i++)
        n += l->text[i] == '\n';
    TRY(memory_new(&h->loss, n * sizeof(double), "steps"));
    TRY(memory_new(&h->lr, n * sizeof(double), "steps"));
    TRY(memory_new(&h->rows, n * sizeof(double), "steps"));
    TRY(memory_new(&h->seconds, n * sizeof(double), "steps"));
    return memory_new(&h->epoch, n * sizeof *h->epoch, "epochs");
}

static status take_line(const lines *l, const json_t *line, history *h)
{
    if (json_object_get(line, "valid_rows")) {
        h->epoch[h->epochs++] = (history_epoch){.epoch = json_integer_value(json_object_get(line, "epoch")),
                                                .step = json_integer_value(json_object_get(line, "step")),
                                                .rows = json_integer_value(json_object_get(line, "valid_rows")),
                                                .loss = number_of(line, "valid_loss"),
                                                .auc = number_of(line, "valid_auc")};
        return STATUS_OK;
    }
    if (json_integer_value(json_object_get(line, "step")) != h->steps + 1)
        return fail(STATUS_INPUT, "%s: line %" PRId64 ": step %" PRId64 " should stand here; restore the file from a copy", l->path, l->number,
                    h->steps + 1);
    h->loss[h->steps] = number_of(line, "loss");
    h->lr[h->steps] = number_of(line, "lr");
    h->rows[h->steps] = number_of(line, "rows");
    h->seconds[h->steps] = NAN;
    h->steps++;
    return STATUS_OK;
}

static status read_metrics(history *h)
{
    lines l;
    json_t *line = NULL;
    status st;
    TRY_DONE(lines_open(h->folder, "metrics.jsonl", true, &l));
    TRY_DONE(hash_sha256_buffer(l.text, l.bytes, h->metrics_hash));
    TRY_DONE(make_room(&l, h));
    for (;;) {
        TRY_DONE(lines_next(&l, &line));
        if (!line)
            break;
        TRY_DONE(take_line(&l, line, h));
        json_decref(line);
    }
    if (h->steps == 0)
        st = fail(STATUS_INPUT, "%s: no step yet; come back when the first is done", l.path);
done:
    json_decref(line);
    lines_close(&l);
    return st;
}

static status read_timing(history *h)
{
    lines l;
    json_t *line = NULL;
    status st;
    TRY_DONE(lines_open(h->folder, "timing.jsonl", false, &l));
    for (;;) {
        TRY_DONE(lines_next(&l, &line));
        if (!line)
            break;
        int64_t step = json_integer_value(json_object_get(line, "step"));
        double seconds = number_of(line, "seconds");
        if (json_object_get(line, "epoch")) {
            h->saving += json_number_value(json_object_get(line, "save"));
            h->validating += json_number_value(json_object_get(line, "evaluate"));
        }
        if (step >= 1 && step <= h->steps && seconds > 0) {
            h->seconds[step - 1] = seconds;
            h->timed += seconds;
            for (int i = 0; i < PHASES; i++) {
                double part = number_of(line, phase_name((phase)i));
                h->phase[i] += isnan(part) ? 0 : part;
            }
        }
        json_decref(line);
    }
done:
    json_decref(line);
    lines_close(&l);
    return st;
}

/* ---- what others see ---- */

static status read_all(const char *folder, history *h)
{
    size_t n = strlen(folder);
    while (n > 1 && folder[n - 1] == '/')
        n--;
    h->folder = strndup(folder, n);
    h->name = h->folder ? strdup(file_base(h->folder)) : NULL;
    if (!h->name)
        return fail(STATUS_RESOURCE, "out of memory for the name of a run");
    if (!file_is_folder(h->folder))
        return fail(STATUS_INPUT, "%s: no such folder; give a run that train wrote (its --out)", h->folder);
    TRY(load_json(h->folder, "run.json", true, &h->about));
    TRY(load_json(h->folder, "environment.json", false, &h->environment));
    TRY(load_json(h->folder, "provenance.json", false, &h->provenance));
    h->finished = h->provenance != NULL;
    TRY(read_metrics(h));
    return read_timing(h);
}

status history_read(const char *folder, history *h)
{
    *h = (history){0};
    status st = read_all(folder, h);
    if (st != STATUS_OK)
        history_free(h);
    return st;
}

void history_free(history *h)
{
    free(h->folder);
    free(h->name);
    free(h->loss);
    free(h->lr);
    free(h->rows);
    free(h->seconds);
    free(h->epoch);
    json_decref(h->about);
    json_decref(h->environment);
    json_decref(h->provenance);
    *h = (history){0};
}

int64_t history_best(const history *h)
{
    int64_t best = -1;
    for (int64_t i = 0; i < h->epochs; i++)
        if (!isnan(h->epoch[i].auc) && (best < 0 || h->epoch[i].auc > h->epoch[best].auc))
            best = i;
    return best;
}

double history_rate(const history *h, int64_t steps)
{
    double rows = 0, seconds = 0;
    for (int64_t i = h->steps - 1; i >= 0 && i >= h->steps - steps; i--)
        if (!isnan(h->seconds[i])) {
            rows += h->rows[i];
            seconds += h->seconds[i];
        }
    return seconds > 0 ? rows / seconds : NAN;
}
