/* What verify.c finds out link by link: a line a link on stdout, and the first that breaks.
 *
 *     links l = {.settings = s, .submission = "submission.csv"};
 *     TRY(links_read(&l));                            // the descriptions that the chain is made of
 *     links_of_data(&l); links_of_runs(&l); links_of_submission(&l);
 *     if (l.broken) ... l.first ...
 *     links_free(&l);
 *
 * Local: rank 0's business. Each file and each folder is read once, however many runs were made of it.
 */
#ifndef FRETSAW_INFER_VERIFY_LINKS_H
#define FRETSAW_INFER_VERIFY_LINKS_H

#include <jansson.h>
#include <stdbool.h>

#include "infer/settings.h"

enum { LINKS_PARTS = 64 };

typedef struct links_run {
    const char *folder;
    json_t *about, *chain, *environment; /* run.json, provenance.json, environment.json (may be NULL) */
    const char *identity;                /* SHA-256 of run.json, as the submission's provenance has it; borrowed */
} links_run;

typedef struct links_known {
    char *path, hash[65];
} links_known;

typedef struct links {
    const settings *settings;
    const char *submission;
    json_t *made; /* the submission's provenance */
    links_run *run;
    int64_t runs;
    const links_run *now;          /* the run that is looked at; NULL: none alone */
    bool *used_csv, *used_input;   /* of --csv, --input */
    int scored[LINKS_PARTS];       /* place among --input of each scored folder, -1: not given; of rows that came by --csv, among --csv of each CSV */
    int scored_count;
    bool scored_csv, scored_given; /* which of the two; whether all of them are there */
    links_known *known;            /* what was hashed: files, and folders with the identity of their rows */
    size_t known_count;
    int holding, unseen, broken;
    char first[512]; /* that breaks */
} links;

/* STATUS_INPUT: a description is missing or damaged. */
status links_read(links *l);
void links_free(links *l);
/* The provenance beside a submission; the caller drops it. */
status links_read_made(const char *submission, json_t **out);
/* What the runs were trained on: CSV to tokens, tokens to shards, shards to run. Then what was scored. */
void links_of_data(links *l);
/* Recipe, initial weights, run, results. */
void links_of_runs(links *l);
/* Weights to submission. */
void links_of_submission(links *l);

void link_holds(links *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
void link_unseen(links *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
void link_breaks(links *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* SHA-256 of `path` against `expected` (NULL: not known, which breaks); `what` begins the line. */
void link_file(links *l, const char *what, const char *path, const char *expected);
/* SHA-256 of a file; false where it cannot be read. */
bool links_hash_file(links *l, const char *path, char hash[65]);
/* What was kept of `path`; NULL: nothing yet. */
const char *links_find_known(const links *l, const char *path);
void links_keep_known(links *l, const char *path, const char *hash);

/* The place among the runs of the one with this identity; -1. */
int64_t links_find_run(const links *l, const char *identity);
/* Neither is NULL, and they are the same. */
bool links_equal(const char *a, const char *b);
/* The text under a key, NULL where there is none (or no object). */
const char *links_text(const json_t *object, const char *key);
/* Item `index` of the option `name` when the run that is looked at was started last; false when it is not told. */
bool links_started_with(const links *l, const char *name, size_t index, char *to, size_t room);

#endif
