#include "train/diff.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/files.h"
#include "model/run.h"
#include "model/weights.h"

typedef struct side {
    const char *name; /* of the run's folder */
    char *metrics;    /* whole text */
    char **folder;    /* with weights, by name */
    size_t folders;
} side;

static status read_file(const char *folder, const char *name, char **text)
{
    char *path;
    size_t bytes;
    TRY(file_join(folder, name, &path));
    status st = file_read_all(path, 0, text, &bytes);
    free(path);
    return st;
}

static status open_side(const char *name, side *s)
{
    char *text;
    *s = (side){.name = name};
    if (!file_is_folder(name))
        return fail(STATUS_INPUT, "%s: no such folder; give two --out folders of train", name);
    TRY(read_file(name, "run.json", &text));
    free(text);
    TRY(read_file(name, "metrics.jsonl", &s->metrics));
    return file_list(name, &s->folder, &s->folders);
}

static void close_side(side *s)
{
    free(s->metrics);
    file_free_names(s->folder, s->folders);
}

/* ---- what they were made of ---- */

static void compare_objects(const json_t *a, const json_t *b)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)a, key, value) {
        if (!json_equal(value, json_object_get(b, key)) && strcmp(key, "recipe") != 0 && strcmp(key, "recipe_sha256") != 0)
            printf("made of another: %s\n", key);
    }
}

/* Lines of recipe.conf that the other lacks. */
static void print_options(const side *s, const char *recipe, const char *other)
{
    for (const char *line = recipe, *end; *line; line = end + (*end == '\n')) {
        bool same = false;
        end = line + strcspn(line, "\n");
        for (const char *at = other; *at && !same; at += strcspn(at, "\n"), at += *at == '\n')
            same = strcspn(at, "\n") == (size_t)(end - line) && memcmp(at, line, (size_t)(end - line)) == 0;
        if (!same)
            printf("%s: recipe: %.*s\n", s->name, (int)(end - line), line);
    }
}

static status compare_made(const side *a, const side *b)
{
    char *text[2] = {NULL, NULL};
    json_t *object[2] = {NULL, NULL};
    const side *sides[2] = {a, b};
    status st = STATUS_OK;
    for (int i = 0; st == STATUS_OK && i < 2; i++) {
        st = read_file(sides[i]->name, "run.json", &text[i]);
        object[i] = st == STATUS_OK ? json_loads(text[i], JSON_REJECT_DUPLICATES, NULL) : NULL;
        if (st == STATUS_OK && !json_is_object(object[i]))
            st = fail(STATUS_INPUT, "%s/run.json: the file is damaged: restore it", sides[i]->name);
    }
    if (st == STATUS_OK) {
        const char *x = json_string_value(json_object_get(object[0], "recipe")), *y = json_string_value(json_object_get(object[1], "recipe"));
        compare_objects(object[0], object[1]);
        print_options(a, x ? x : "", y ? y : "");
        print_options(b, y ? y : "", x ? x : "");
    }
    for (int i = 0; i < 2; i++) {
        free(text[i]);
        json_decref(object[i]);
    }
    return st;
}

/* ---- metrics.jsonl ---- */

static void print_values(const side *s, const json_t *object, const json_t *other)
{
    const char *key;
    json_t *value;
    printf("  %s:", s->name);
    json_object_foreach((json_t *)object, key, value) {
        char *text = strcmp(key, "check") == 0 || json_equal(value, json_object_get(other, key)) ? NULL : json_dumps(value, JSON_ENCODE_ANY);
        if (text)
            printf(" %s %s", key, text);
        free(text);
    }
    printf("\n");
}

/* The two lines that part, in words. */
static void print_parting(const side *a, const side *b, const char *x, size_t m, const char *y, size_t n)
{
    json_t *p = json_loadb(x, m, 0, NULL), *q = json_loadb(y, n, 0, NULL);
    if (p && q) {
        print_values(a, p, q);
        print_values(b, q, p);
    } else {
        printf("  %s: %.*s\n  %s: %.*s\n", a->name, (int)m, x, b->name, (int)n, y);
    }
    json_decref(p);
    json_decref(q);
}

static void read_step(const char *line, int64_t *step)
{
    long long number;
    if (sscanf(line, "{\"step\":%lld", &number) == 1)
        *step = number;
}

/* *same: the last step up to which all lines are equal. *parted: a line differs after it; else one of them merely ends there. */
static void compare_metrics(const side *a, const side *b, int64_t *same, bool *parted, bool *longer)
{
    const char *x = a->metrics, *y = b->metrics;
    *same = 0;
    *parted = *longer = false;
    while (*x && *y) {
        size_t m = strcspn(x, "\n"), n = strcspn(y, "\n");
        if (!x[m] || !y[n]) /* a last line that is not finished */
            break;
        if (m != n || memcmp(x, y, m) != 0) {
            int64_t step = -1;
            read_step(x, &step);
            *parted = true;
            if (step > 0)
                printf("step %" PRId64 " is the first that differs:\n", step);
            else
                printf("the epoch that ends with step %" PRId64 " is the first line that differs:\n", *same);
            print_parting(a, b, x, m, y, n);
            return;
        }
        read_step(x, same);
        x += m + 1;
        y += n + 1;
    }
    *longer = *x || *y;
    printf("metrics.jsonl: equal up to step %" PRId64, *same);
    if (*longer)
        printf(", where %s ends", *x ? b->name : a->name);
    printf("\n");
}

/* ---- weights ---- */

static status read_tensors(const run *r, json_t **tensors)
{
    char *text;
    TRY(read_file(r->weights_folder, "state.json", &text));
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    free(text);
    *tensors = json_incref(json_object_get(object, "tensors"));
    json_decref(object);
    return json_is_object(*tensors) ? STATUS_OK : fail(STATUS_INPUT, "%s/state.json: no tensors in it: the file is damaged", r->weights_folder);
}

static void place_text(const weights_entry *e, int64_t index, char *text, size_t room)
{
    if (e->dims == 2)
        snprintf(text, room, "%s[%" PRId64 ", %" PRId64 "]", e->name, index / e->shape[1], index % e->shape[1]);
    else
        snprintf(text, room, "%s[%" PRId64 "]", e->name, index);
}

static void print_elements(const run *const r[2], const weights_entry *e, const float *x, const float *y)
{
    int64_t count = 0, first = -1;
    double most = 0;
    char place[160];
    uint32_t bits[2];
    for (int64_t i = 0; i < e->count; i++) {
        if (memcmp(&x[i], &y[i], sizeof *x) == 0)
            continue;
        first = first < 0 ? i : first;
        most = fmax(most, fabs((double)x[i] - y[i]));
        count++;
    }
    place_text(e, first, place, sizeof place);
    memcpy(&bits[0], &x[first], sizeof *bits);
    memcpy(&bits[1], &y[first], sizeof *bits);
    printf("tensor %s: %" PRId64 " of %" PRId64 " elements differ, by at most %.3g\n", e->name, count, e->count, most);
    printf("  %s/%s: %s = %.9g (%08" PRIx32 ")\n", r[0]->folder, r[0]->weights, place, (double)x[first], bits[0]);
    printf("  %s/%s: %s = %.9g (%08" PRIx32 ")\n", r[1]->folder, r[1]->weights, place, (double)y[first], bits[1]);
}

static status compare_tensor(const run *const r[2], weights_file *const file[2], const char *name, bool *parted)
{
    const weights_entry *e[2];
    float *values[2] = {NULL, NULL};
    char shape[2][64];
    status st = STATUS_OK;
    for (int i = 0; i < 2; i++) {
        e[i] = weights_file_find(file[i], name);
        if (!e[i])
            return fail(STATUS_INPUT, "%s: tensor %s is missing: the file is damaged", file[i]->path, name);
        weights_shape_text(e[i]->dims, e[i]->shape, shape[i], sizeof shape[i]);
    }
    if (strcmp(shape[0], shape[1]) != 0) {
        *parted = true;
        printf("tensor %s: shape %s in %s, %s in %s\n", name, shape[0], r[0]->folder, shape[1], r[1]->folder);
        return STATUS_OK;
    }
    for (int i = 0; i < 2; i++) {
        TRY_DONE(memory_new(&values[i], (size_t)e[i]->count * sizeof(float), "a tensor"));
        TRY_DONE(weights_entry_read(file[i], e[i], values[i]));
    }
    *parted = memcmp(values[0], values[1], (size_t)e[0]->count * sizeof(float)) != 0;
    if (*parted)
        print_elements(r, e[0], values[0], values[1]);
done:
    free(values[0]);
    free(values[1]);
    return st;
}

/* Tensors in the table's order, as state.json lists them. *parted: one differs, and has been printed. */
static status compare_weights(const run *const r[2], bool *parted)
{
    json_t *tensors[2] = {NULL, NULL};
    weights_file *file[2] = {NULL, NULL};
    const char *name;
    json_t *hash;
    status st = STATUS_OK;
    *parted = false;
    for (int i = 0; i < 2; i++) {
        TRY_DONE(read_tensors(r[i], &tensors[i]));
        TRY_DONE(weights_open(r[i]->weights_folder, &file[i]));
    }
    json_object_foreach(tensors[0], name, hash) {
        bool told = json_equal(hash, json_object_get(tensors[1], name));
        TRY_DONE(compare_tensor(r, file, name, parted));
        if (told != !*parted)
            printf("tensor %s: the hashes in state.json are %s, the weights are %s: one of the two files is damaged\n", name,
                   told ? "equal" : "not equal", *parted ? "not" : "equal");
        *parted = *parted || !told;
        if (*parted)
            break;
    }
done:
    for (int i = 0; i < 2; i++) {
        json_decref(tensors[i]);
        weights_file_close(file[i]);
    }
    return st;
}

/* Opens the weights of `s` in folder `name` when that is a folder with weights. */
static bool open_weights(const side *s, const char *name, run *r)
{
    bool weights = strncmp(name, "step-", 5) == 0 || strncmp(name, "epoch-", 6) == 0;
    return weights && run_open(s->name, name, r) == STATUS_OK;
}

/* The folder of `b` with weights after the same step as `r`, preferably of the same name. */
static bool find_twin(const side *b, const run *r, run *twin)
{
    for (int any_name = 0; any_name < 2; any_name++)
        for (size_t i = 0; i < b->folders; i++) {
            if ((!any_name && strcmp(b->folder[i], r->weights) != 0) || !open_weights(b, b->folder[i], twin))
                continue;
            if (twin->step == r->step)
                return true;
            run_close(twin);
        }
    return false;
}

/* Moments of two checkpoints, file by file; only where both are checkpoints of the same name and the weights are equal. */
static status compare_moments(const run *const r[2], bool *parted)
{
    char **names, *text[2] = {NULL, NULL};
    size_t count, bytes[2];
    TRY(file_list(r[0]->weights_folder, &names, &count));
    status st = STATUS_OK;
    for (size_t i = 0; st == STATUS_OK && i < count && !*parted; i++) {
        if (strncmp(names[i], "optimizer-", 10) != 0)
            continue;
        for (int k = 0; st == STATUS_OK && k < 2; k++) {
            char *path;
            st = file_join(r[k]->weights_folder, names[i], &path);
            if (st == STATUS_OK) {
                st = file_read_all(path, 0, &text[k], &bytes[k]);
                free(path);
            }
        }
        if (st == STATUS_OK && (bytes[0] != bytes[1] || memcmp(text[0], text[1], bytes[0]) != 0)) {
            *parted = true;
            printf("%s: the optimizer's moments differ between %s/%s and %s/%s\n", names[i], r[0]->folder, r[0]->weights, r[1]->folder, r[1]->weights);
        }
        for (int k = 0; k < 2; k++) {
            free(text[k]);
            text[k] = NULL;
        }
    }
    file_free_names(names, count);
    return st;
}

static status compare_pair(const run *mine, const run *twin, bool *parted)
{
    const run *const pair[2] = {mine, twin};
    TRY(compare_weights(pair, parted));
    if (!*parted && strncmp(mine->weights, "step-", 5) == 0 && strcmp(mine->weights, twin->weights) == 0)
        TRY(compare_moments(pair, parted));
    printf("weights after step %" PRId64 " (%s, %s): %s\n", mine->step, mine->weights, twin->weights, *parted ? "not equal" : "equal");
    return STATUS_OK;
}

typedef struct place {
    int64_t step;
    const char *name;
} place;

static int oldest_first(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Folders with weights, oldest first. */
static status list_places(const side *s, place **places, size_t *count)
{
    run r;
    *count = 0;
    TRY(memory_new(places, (s->folders + 1) * sizeof **places, "the list of weights"));
    for (size_t i = 0; i < s->folders; i++)
        if (open_weights(s, s->folder[i], &r)) {
            (*places)[(*count)++] = (place){r.step, s->folder[i]};
            run_close(&r);
        }
    qsort(*places, *count, sizeof **places, oldest_first);
    return STATUS_OK;
}

/* All weights that both have; *step: where the first difference was found. */
static status compare_folders(const side *a, const side *b, bool *parted, int64_t *step)
{
    place *places;
    size_t count;
    bool any = false;
    TRY(list_places(a, &places, &count));
    status st = STATUS_OK;
    for (size_t i = 0; st == STATUS_OK && i < count && !*parted; i++) {
        run mine, twin;
        if (!open_weights(a, places[i].name, &mine))
            continue;
        if (find_twin(b, &mine, &twin)) {
            any = true;
            st = compare_pair(&mine, &twin, parted);
            *step = mine.step;
            run_close(&twin);
        }
        run_close(&mine);
    }
    free(places);
    if (st == STATUS_OK && !any)
        printf("no weights of the same step are left in both: to see tensors, keep more checkpoints (--checkpoint-every, --keep)\n");
    return st;
}

status diff_runs(const char *one, const char *two)
{
    side a = {0}, b = {0};
    int64_t same = 0, step = 0;
    bool parted = false, longer = false, weights = false;
    status st;
    TRY_DONE(open_side(one, &a));
    TRY_DONE(open_side(two, &b));
    TRY_DONE(compare_made(&a, &b));
    compare_metrics(&a, &b, &same, &parted, &longer);
    TRY_DONE(compare_folders(&a, &b, &weights, &step));
    if (parted)
        st = fail(STATUS_CHECK, "%s and %s are equal up to step %" PRId64 " and part after it", one, two, same);
    else if (weights)
        st = fail(STATUS_CHECK, "%s and %s: metrics.jsonl is equal, the weights after step %" PRId64 " are not: a file has changed after it was written",
                  one, two, step);
    else if (longer)
        st = fail(STATUS_CHECK, "%s and %s are equal up to step %" PRId64 ", where one of them ends", one, two, same);
done:
    close_side(&a);
    close_side(&b);
    return st;
}
