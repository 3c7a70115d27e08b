#include "support/support.h"

#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/comm.h"

static const char *source_folder(void)
{
    const char *s = getenv("FRETSAW_SOURCE");
    return s ? s : ".";
}

/* Texts live until exit: a test asks for a handful. */
static const char *keep(const char *a, const char *b, const char *c)
{
    size_t n = strlen(a) + strlen(b) + strlen(c) + 3;
    char *p = malloc(n);
    ck_assert_ptr_nonnull(p);
    snprintf(p, n, "%s/%s%s%s", a, b, *c ? "/" : "", c);
    return p;
}

static const char *outside(const char *variable, const char *fallback, const char *name)
{
    const char *root = getenv(variable);
    if (!root)
        root = keep(source_folder(), "../shared", fallback);
    const char *path = keep(root, name, "");
    return access(path, R_OK) == 0 ? path : NULL;
}

const char *support_data(const char *name)
{
    return outside("FRETSAW_DATA", "data", name);
}

const char *support_oracle(const char *name)
{
    return outside("FRETSAW_ORACLE", "oracle", name);
}

const char *support_source(const char *name)
{
    return keep(source_folder(), name, "");
}

const char *support_program(const char *name)
{
    const char *bin = getenv("FRETSAW_BIN");
    return keep(bin ? bin : "build/bin", name, "");
}

void support_skip(const char *what)
{
    fprintf(stderr, "skipped: absent: %s (set FRETSAW_DATA and FRETSAW_ORACLE to their folders)\n", what);
}

static char scratch[256];

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info, (void)type, (void)walk;
    return remove(path);
}

static void remove_scratch(void)
{
    if (scratch[0] && !getenv("FRETSAW_KEEP"))
        nftw(scratch, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

const char *support_scratch(void)
{
    const char *base = getenv("TMPDIR");
    if (scratch[0] == 0)
        atexit(remove_scratch);
    else
        remove_scratch();
    snprintf(scratch, sizeof scratch, "%s/fretsaw-test-XXXXXX", base ? base : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(scratch));
    return scratch;
}

static uint64_t state;
static int seeded;

uint64_t support_seed(void)
{
    static uint64_t seed;
    if (!seeded) {
        const char *text = getenv("FRETSAW_SEED");
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        seed = text ? strtoull(text, NULL, 10) : (uint64_t)t.tv_sec * 1000003u + (uint64_t)t.tv_nsec;
        seed %= 1000000000u;
        state = seed;
        seeded = 1;
        fprintf(stderr, "seed %llu (repeat with FRETSAW_SEED)\n", (unsigned long long)seed);
    }
    return seed;
}

uint64_t support_random(void)
{
    support_seed();
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t support_below(uint64_t n)
{
    return support_random() % n;
}

double support_uniform(void)
{
    return (double)(support_random() >> 11) * 0x1p-53;
}

float support_normal(void)
{
    double u = 1.0 - support_uniform(), v = support_uniform();
    return (float)(sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v));
}

int support_run(const char *suite_name, const TTest *const *tests)
{
    Suite *suite = suite_create(suite_name);
    for (; *tests; tests++) {
        TCase *one = tcase_create((*tests)->name);
        tcase_add_test(one, *tests);
        suite_add_tcase(suite, one);
    }
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

int support_run_ranks(int argc, char **argv, const char *suite, const TTest *const *tests)
{
    if (comm_open(&argc, &argv) != STATUS_OK)
        return 1;
    for (; *tests; tests++)
        if (support_run(suite, (const TTest *[]){*tests, NULL}) != 0)
            comm_abort(1);
    comm_close();
    return 0;
}
