/* What verify.c finds out link by link: a line a link on stdout, and the first that breaks.
 *
 *     links l = {.settings = s, .folder = "runs/one", .submission = "submission.csv"};
 *     TRY(links_read(&l));                            // the descriptions that the chain is made of
 *     links_of_data(&l); links_of_run(&l); links_of_submission(&l);
 *     if (l.broken) ... l.first ...
 *     links_free(&l);
 *
 * Local: rank 0's business.
 */
#ifndef FRETSAW_INFER_VERIFY_LINKS_H
#define FRETSAW_INFER_VERIFY_LINKS_H

#include <jansson.h>
#include <stdbool.h>

#include "infer/settings.h"

enum { LINKS_FOLDERS = 64 };

typedef struct links {
    const settings *settings;
    const char *folder, *submission;
    json_t *run, *chain, *environment, *made; /* run.json, provenance.json, environment.json (may be NULL), the submission's provenance */
    json_t *member;                           /* of `made`: what this run scored; borrowed */
    bool *used_csv, *used_input;              /* of --csv, --input */
    int scored[LINKS_FOLDERS];                /* --input of each scored folder; -1: not given */
    int scored_count;
    int holding, unseen, broken;
    char first[512]; /* that breaks */
} links;

/* STATUS_INPUT: a description is missing or damaged. */
status links_read(links *l);
void links_free(links *l);
/* What the run was trained on: CSV to tokens, tokens to shards, shards to run. Then what was scored. */
void links_of_data(links *l);
/* Recipe, initial weights, run, results. */
void links_of_run(links *l);
/* Weights to submission. */
void links_of_submission(links *l);

void link_holds(links *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
void link_unseen(links *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
void link_breaks(links *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* SHA-256 of `path` against `expected` (NULL: not known, which breaks); `what` begins the line. */
void link_file(links *l, const char *what, const char *path, const char *expected);

#endif
