/* What every test shares: where the data is, random numbers with a printed seed, a scratch folder, a main for Check.
 *
 *     START_TEST(ids_equal) { const char *d = support_data("vocab"); if (!d) { support_skip("FRETSAW_DATA"); return; } ... }
 *     int main(void) { return support_run("tokens", (const TTest *[]){ids_equal, NULL}); }
 */
#ifndef FRETSAW_TESTS_SUPPORT_H
#define FRETSAW_TESTS_SUPPORT_H

#include <check.h>
#include <stdlib.h>
#undef fail /* Check has an old macro of that name */
#include <string.h>
#include <stdint.h>

#include "common/status.h"

/* `name` under the data (FRETSAW_DATA, else ../shared/data beside the source) or oracle folder; NULL where it is absent.
 * The text stays valid for the program's life. */
const char *support_data(const char *name);
const char *support_oracle(const char *name);
/* `name` under the source tree (tests/..., recipes/...), always there. */
const char *support_source(const char *name);
/* Path of a built program (preprocess, shard, train, infer). */
const char *support_program(const char *name);
/* Says on stderr that this test is skipped and why ("absent: NAME"). */
void support_skip(const char *what);
/* A fresh empty folder for this test, removed at exit unless FRETSAW_KEEP is set. */
const char *support_scratch(void);

/* The seed of this run: FRETSAW_SEED or drawn from the clock; printed once. splitmix64 stream from it. */
uint64_t support_seed(void);
uint64_t support_random(void);
uint64_t support_below(uint64_t n);        /* uniform in 0..n-1 */
double support_uniform(void);              /* [0,1) */
float support_normal(void);                /* standard normal */

/* Fails the running test with status_message() when the status is not OK. */
#define ck_ok(expression) do { status ck_st_ = (expression); ck_assert_msg(ck_st_ == STATUS_OK, "%s: %d: %s", #expression, (int)ck_st_, status_message()); } while (0)
/* Demands this kind of failure and that the message contains `text`. */
#define ck_fails(expression, kind, text) do { status ck_st_ = (expression); \
    ck_assert_msg(ck_st_ == (kind), "%s: %d, not %d: %s", #expression, (int)ck_st_, (int)(kind), status_message()); \
    ck_assert_msg(strstr(status_message(), (text)) != NULL, "message lacks '%s': %s", (text), status_message()); } while (0)

/* Runs the tests in one process (no fork, so that it works under MPI, sanitizers and valgrind); 0 or 1. */
int support_run(const char *suite, const TTest *const *tests);
/* The same as the whole main of a program whose ranks wait for each other in the middle of a test: where one fails, all are ended. */
int support_run_ranks(int argc, char **argv, const char *suite, const TTest *const *tests);

#endif
