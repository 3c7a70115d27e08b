/* The harness itself: it runs sound kernels right in any order, and it finds every planted bug. */
#include <sys/wait.h>
#include <unistd.h>

#include "unit/cuda_case.h"
#include "unit/cuda_planted.h"

#ifdef __SANITIZE_ADDRESS__
enum { WATCHED = 0, ADDRESS_SANITIZER = 1 };
#else
#include "support/launch_watch.h"
enum { WATCHED = 1, ADDRESS_SANITIZER = 0 };
#endif

enum { THREADS = 128, ORDERS = 8 };

static float *room(int64_t n)
{
    float *p = launch_memory_new((size_t)n * sizeof *p);
    ck_assert_ptr_nonnull(p);
    return p;
}

static float sum_of(const float *x)
{
    float part[THREADS];
    memcpy(part, x, sizeof part);
    for (int half = THREADS / 2; half; half /= 2)
        for (int t = 0; t < half; t++)
            part[t] += part[t + half];
    return part[0];
}

START_TEST(sound_kernels_run_in_any_order)
{
    float *x = room(5 * THREADS), *y = room(5), *z = room(2 * THREADS);
    for (int i = 0; i < 5 * THREADS; i++)
        x[i] = support_normal();
    for (int order = 0; order < ORDERS; order++) {
        launch_set_order(order ? support_random() | 1 : 0);
        planted(PLANTED_SUM, 1, x, y);
        planted(PLANTED_WARP, 1, NULL, z);
        case_no_fault("sound");
        for (int b = 0; b < 5; b++)
            ck_assert(y[b] == sum_of(x + b * THREADS));
        for (int t = 0; t < THREADS; t++)
            ck_assert(z[t] == (float)(t ^ 1));
        planted(PLANTED_RANGE, 0, NULL, z);
        planted(PLANTED_MEMORY, 0, NULL, z);
        case_no_fault("in range");
        planted(PLANTED_SOUND, 0, NULL, z);
        case_no_fault("votes and shuffles");
        for (int i = 0; i < 2 * THREADS; i++) {
            int warp = i % THREADS / 32, sum = 32 * 32 * warp + 31 * 16;
            ck_assert(z[i] == (float)(1 + 2) + 8 * (float)sum + 65536 * (float)(32 * warp + 5));
        }
    }
    launch_memory_free(x);
    launch_memory_free(y);
    launch_memory_free(z);
}
END_TEST

static void expect_fault(planted_bug bug, int option, const char *text)
{
    float *x = room(5 * THREADS), *y = room(2 * THREADS);
    for (int i = 0; i < 5 * THREADS; i++)
        x[i] = 1;
    for (int order = 0; order < ORDERS; order++) {
        launch_set_order(order ? support_random() | 1 : 0);
        planted(bug, option, x, y);
        const char *fault = launch_fault();
        ck_assert_msg(fault && strstr(fault, text), "bug %d: '%s' lacks '%s'", (int)bug, fault ? fault : "(no fault)", text);
        planted(PLANTED_SUM, 1, x, y); /* the harness is as new */
        case_no_fault("after a fault");
        ck_assert(y[0] == THREADS && y[4] == THREADS);
    }
    launch_memory_free(x);
    launch_memory_free(y);
}

START_TEST(broken_rules_are_found)
{
    expect_fault(PLANTED_BRANCH, 0, "waits at the barrier of");
    expect_fault(PLANTED_LEAVES, 0, "96 have left the kernel");
    expect_fault(PLANTED_HALF_WARP, 0, "for lanes that do not come");
    expect_fault(PLANTED_TWO_SHUFFLES, 0, "others of its warp to");
    expect_fault(PLANTED_MASK, 0, "by some lanes only");
    expect_fault(PLANTED_TOO_MUCH, 0, "a block has 49152");
}
END_TEST

#if !defined(__SANITIZE_ADDRESS__)
START_TEST(races_and_ranges_are_found)
{
    uint64_t before = launch_watch_count();
    expect_fault(PLANTED_SUM, 0, "race on part");
    expect_fault(PLANTED_WARP, 0, "part"); /* a race, or read before it is written: the order says which comes first */
    expect_fault(PLANTED_SHUFFLE, 0, "part");
    expect_fault(PLANTED_RANGE, 1, "writes first out of range");
    expect_fault(PLANTED_RANGE, -1, "writes first out of range");
    expect_fault(PLANTED_UNWRITTEN, 0, "which nobody wrote");
    expect_fault(PLANTED_BLOCKS, 0, "race on memory");
    expect_fault(PLANTED_NEIGHBOUR, 0, "race on memory");
    float *y = room(THREADS);
    planted(PLANTED_MEMORY, 1, NULL, y);
    const char *fault = launch_fault();
    ck_assert(fault && strstr(fault, "writes memory out of range"));
    launch_memory_free(y);
    ck_assert_uint_gt(launch_watch_count(), before + 1000);
}
END_TEST
#else
/* A child ends by the sanitizer. */
static void expect_end(planted_bug bug, int option)
{
    int ends[2], state, text = 0;
    char said[4096] = "";
    ck_assert_int_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 2);
        planted(bug, option, NULL, room(THREADS));
        _exit(0);
    }
    close(ends[1]);
    for (ssize_t n; text < (int)sizeof said - 1 && (n = read(ends[0], said + text, sizeof said - 1 - (size_t)text)) > 0;)
        text += (int)n;
    close(ends[0]);
    ck_assert_int_eq(waitpid(child, &state, 0), child);
    ck_assert_msg(state != 0 && strstr(said, "heap-buffer-overflow"), "bug %d: state %d, said '%s'", (int)bug, state, said);
}

START_TEST(races_and_ranges_are_found)
{
    expect_end(PLANTED_RANGE, 1);
    expect_end(PLANTED_RANGE, -1);
    expect_end(PLANTED_MEMORY, 1);
    /* a race shows in the result of some order */
    float *x = room(5 * THREADS), *y = room(5);
    int wrong = 0;
    for (int i = 0; i < 5 * THREADS; i++)
        x[i] = support_normal();
    for (int order = 0; order < 40; order++) {
        launch_set_order(support_random() | 1);
        planted(PLANTED_SUM, 0, x, y);
        case_no_fault("unwatched");
        for (int b = 0; b < 5; b++)
            wrong += y[b] != sum_of(x + b * THREADS);
    }
    ck_assert_int_gt(wrong, 0);
    launch_memory_free(x);
    launch_memory_free(y);
}
END_TEST
#endif

/* Tensor cores' twins, where a wrong lane would give another product. */
START_TEST(twins_multiply)
{
    for (cuda_type type = CUDA_BFLOAT16; type <= CUDA_FLOAT16; type++) {
        uint16_t *a = launch_memory_new(512), *b = launch_memory_new(512);
        float *c = room(256);
        for (int i = 0; i < 256; i++) {
            a[i] = case_bits(type, (double)support_normal());
            b[i] = case_bits(type, (double)support_normal());
        }
        for (int order = 0; order < ORDERS; order++) {
            launch_set_order(order ? support_random() | 1 : 0);
            planted_multiply(type == CUDA_FLOAT16, a, b, c);
            case_no_fault("multiply");
            for (int i = 0; i < 256; i++) {
                double sum = 0;
                for (int k = 0; k < 16; k++)
                    sum += case_value(type, a[i / 16 * 16 + k]) * case_value(type, b[k * 16 + i % 16]);
                ck_assert(c[i] == (float)sum);
            }
        }
        launch_memory_free(a);
        launch_memory_free(b);
        launch_memory_free(c);
    }
}
END_TEST

int main(void)
{
    return support_run("cuda launch", (const TTest *const[]){sound_kernels_run_in_any_order, broken_rules_are_found, races_and_ranges_are_found,
                                                             twins_multiply, NULL});
}
