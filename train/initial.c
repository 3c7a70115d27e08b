#include "train/initial.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/comm.h"
#include "common/files.h"
#include "model/pieces.h"
#include "model/run.h"
#include "model/weights.h"

typedef struct initial_hashing {
    initial_model *model;
    pthread_t thread;
    bool started;
    status result;
    char message[1024];
} initial_hashing;

static status copy_text(const char *from, char **to)
{
    *to = strdup(from);
    return *to ? STATUS_OK : fail(STATUS_RESOURCE, "out of memory: a path");
}

static status find_vocabulary(const train_options *o, initial_model *m)
{
    char *folder;
    if (o->vocab && !file_is_folder(o->vocab))
        return copy_text(o->vocab, &m->vocabulary_path);
    if (o->vocab)
        return pieces_find(o->vocab, &m->vocabulary_path);
    size_t n = (size_t)(file_base(m->config_path) - m->config_path);
    while (n > 1 && m->config_path[n - 1] == '/')
        n--;
    TRY(memory_new(&folder, n + 2, "a path"));
    memcpy(folder, n ? m->config_path : ".", n ? n : 1);
    status st = pieces_find(folder, &m->vocabulary_path);
    free(folder);
    return st;
}

status initial_find(const train_options *o, initial_model *m)
{
    if (o->init_from) {
        run from;
        TRY(run_open(o->init_from, "last", &from));
        m->folder = from.weights_folder;
        from.weights_folder = NULL;
        run_close(&from);
    } else if (o->init == INIT_PRETRAINED) {
        TRY(copy_text(o->model, &m->folder));
    }
    if (m->folder)
        TRY(file_join(m->folder, "config.json", &m->config_path));
    else if (o->config && !file_is_folder(o->config))
        TRY(copy_text(o->config, &m->config_path));
    else if (o->config)
        TRY(file_join(o->config, "config.json", &m->config_path));
    else
        TRY(file_join(o->model, "config.json", &m->config_path));
    TRY(find_vocabulary(o, m));
    TRY(pieces_read(m->vocabulary_path, &m->vocabulary, &m->vocabulary_bytes));
    return hash_sha256_buffer(m->vocabulary, m->vocabulary_bytes, m->vocabulary_hash);
}

static status hash_file(initial_model *m)
{
    if (!m->folder) {
        snprintf(m->file, sizeof m->file, "%s", file_base(m->config_path));
        return hash_sha256_file(m->config_path, m->hash);
    }
    char *path;
    TRY(weights_find(m->folder, &path));
    snprintf(m->file, sizeof m->file, "%s", file_base(path));
    status st = hash_sha256_file(path, m->hash);
    free(path);
    return st;
}

static void *hash_thread(void *argument)
{
    initial_hashing *h = argument;
    h->result = hash_file(h->model);
    if (h->result != STATUS_OK) /* messages are a thread's own */
        snprintf(h->message, sizeof h->message, "%s", status_message());
    return NULL;
}

void initial_begin_hash(initial_model *m)
{
    sigset_t all, before;
    initial_hashing *h;
    if (comm_rank() != 0 || memory_new(&h, sizeof *h, "hashing the model") != STATUS_OK)
        return;
    h->model = m;
    sigfillset(&all); /* signals are the main thread's business */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    h->started = pthread_create(&h->thread, NULL, hash_thread, h) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    m->hashing = h;
}

/* Where no thread could be had, the work is done here. */
static status finish_hash(initial_model *m)
{
    initial_hashing *h = m->hashing;
    status st;
    m->hashing = NULL;
    if (h && h->started) {
        pthread_join(h->thread, NULL);
        st = h->result;
        if (st != STATUS_OK)
            status_set_message(h->message);
    } else {
        st = hash_file(m);
    }
    free(h);
    return st;
}

status initial_end_hash(initial_model *m)
{
    TRY(comm_agree(comm_rank() == 0 ? finish_hash(m) : STATUS_OK));
    comm_broadcast(m->hash, sizeof m->hash, 0);
    comm_broadcast(m->file, sizeof m->file, 0);
    return STATUS_OK;
}

void initial_free(initial_model *m)
{
    if (m->hashing) {
        char message[1024]; /* what went wrong elsewhere is what counts */
        snprintf(message, sizeof message, "%s", status_message());
        (void)finish_hash(m);
        status_set_message(message);
    }
    free(m->folder);
    free(m->config_path);
    free(m->vocabulary_path);
    free(m->vocabulary);
    *m = (initial_model){0};
}
