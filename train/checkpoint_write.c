#include "train/checkpoint_write.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files.h"
#include "common/large_file.h"
#include "model/weights.h"
#include "train/stripe.h"

/* Threads that write: one that copies into the page cache does not keep a disk busy, and more than these gain nothing. Files open at once, each
 * waiting for its sync: at the last of them the disk has long had the first. */
enum { WRITERS = 4, OPEN_FILES = 64 };

typedef struct saving {
    const checkpoint_place *place;
    const char *folder;
    optimizer *o;
    checkpoint_state *state;
    int64_t models;              /* files before the stripes: 1 where this rank writes the model, else 0 */
    int64_t base;                /* number of file[0] */
    large_file file[OPEN_FILES]; /* written, not yet synced */
    atomic_bool failed;          /* no further file is begun */
    atomic_bool told;            /* st and message are taken */
    status st;
    char message[4096];
} saving;

static status write_small(const saving *s)
{
    char *path;
    TRY(file_join(s->folder, checkpoint_file[CHECKPOINT_CONFIG], &path));
    status st = model_config_write(&s->place->table->config, path);
    free(path);
    TRY(st);
    TRY(file_join(s->folder, checkpoint_file[CHECKPOINT_VOCABULARY], &path));
    st = file_write_atomic(path, s->place->vocabulary, s->place->vocabulary_bytes);
    free(path);
    TRY(st);
    TRY(checkpoint_hash_file(s->folder, CHECKPOINT_CONFIG, &s->state->file[CHECKPOINT_CONFIG]));
    return checkpoint_hash_file(s->folder, CHECKPOINT_VOCABULARY, &s->state->file[CHECKPOINT_VOCABULARY]);
}

static status write_model(const saving *s, large_file *file)
{
    char *path;
    TRY(write_small(s));
    TRY(file_join(s->folder, checkpoint_file[CHECKPOINT_WEIGHTS], &path));
    status st = weights_save(path, s->place->table, s->place->parameters, file);
    free(path);
    return st;
}

static status write_stripe(const saving *s, int64_t index, large_file *file)
{
    optimizer *o = s->o;
    int64_t first = o->first + index * o->stripe, count = o->end - first < o->stripe ? o->end - first : o->stripe;
    char name[32], *path;
    float *m, *v;
    stripe_name(first / o->stripe, name);
    TRY(file_join(s->folder, name, &path));
    optimizer_show_moments(o, first, count, &m, &v);
    status st = stripe_write(path, &(stripe){first / o->stripe, first, count, s->state->step}, m, v, file);
    free(path);
    return st;
}

/* Of several errors the first stays. */
static void take(saving *s, status st)
{
    if (st == STATUS_OK)
        return;
    atomic_store(&s->failed, true);
    if (atomic_exchange(&s->told, true))
        return;
    s->st = st;
    snprintf(s->message, sizeof s->message, "%s", status_message());
}

static void write_one(void *job, int64_t task, int worker)
{
    saving *s = job;
    int64_t number = s->base + task;
    (void)worker;
    if (atomic_load(&s->failed))
        return;
    take(s, number < s->models ? write_model(s, &s->file[task]) : write_stripe(s, number - s->models, &s->file[task]));
}

/* Files base .. base + count - 1, the largest first; once all are written, their syncs. */
static void write_batch(saving *s, int64_t count, threads *writers)
{
    threads_run(writers, count, write_one, s);
    for (int64_t i = 0; i < count; i++) {
        uint64_t hash;
        if (atomic_load(&s->failed)) {
            large_file_abandon(&s->file[i]);
            continue;
        }
        take(s, large_file_end(&s->file[i], &hash));
        if (s->base + i < s->models)
            s->state->file[CHECKPOINT_WEIGHTS] = hash;
    }
}

status checkpoint_write_files(const checkpoint_place *place, const char *folder, optimizer *o, bool model_too, checkpoint_state *state)
{
    saving *s;
    threads *writers = NULL; /* NULL, where they cannot start: the caller alone */
    TRY(memory_new(&s, sizeof *s, "saving a checkpoint"));
    s->place = place;
    s->folder = folder;
    s->o = o;
    s->state = state;
    s->models = model_too;
    if (!o->be->device && threads_create(WRITERS, &writers) != STATUS_OK) /* a device's moments come through one piece of memory */
        writers = NULL;
    int64_t files = s->models + (o->end - o->first + o->stripe - 1) / o->stripe;
    for (; s->base < files && !atomic_load(&s->failed); s->base += OPEN_FILES)
        write_batch(s, files - s->base < OPEN_FILES ? files - s->base : OPEN_FILES, writers);
    threads_free(writers);
    if (s->st == STATUS_OK)
        take(s, file_sync_folder(folder));
    status st = s->st;
    if (st != STATUS_OK)
        status_set_message(s->message);
    free(s);
    return st;
}
