#include "model/profile.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/comm.h"

void profile_add(profile *p, double seconds, const phase_timer *before, const phase_timer *after)
{
    p->steps++;
    p->seconds += seconds;
    for (int i = 0; i < PHASES; i++) {
        p->phases.seconds[i] += after->seconds[i] - before->seconds[i];
        p->phases.flop[i] += after->flop[i] - before->flop[i];
        p->phases.bytes[i] += after->bytes[i] - before->bytes[i];
    }
}

void profile_gather(profile *p)
{
    const double unit = 1e-9; /* nanoseconds: whole numbers, which is what ranks sum */
    int64_t sum[3 * PHASES + 3];
    size_t n = 0;
    for (int i = 0; i < PHASES; i++) {
        sum[n++] = (int64_t)(p->phases.seconds[i] / unit);
        sum[n++] = (int64_t)p->phases.flop[i];
        sum[n++] = (int64_t)p->phases.bytes[i];
    }
    sum[n++] = (int64_t)(p->seconds / unit);
    sum[n++] = (int64_t)(p->gelu / unit);
    sum[n++] = (int64_t)(p->words / unit);
    comm_sum_int64(sum, n);
    const double ranks = comm_size();
    for (int i = 0; i < PHASES; i++) {
        p->phases.seconds[i] = (double)sum[3 * i] * unit / ranks;
        p->phases.flop[i] = (double)sum[3 * i + 1] / ranks;
        p->phases.bytes[i] = (double)sum[3 * i + 2] / ranks;
    }
    p->seconds = (double)sum[n - 3] * unit / ranks;
    p->gelu = (double)sum[n - 2] * unit / ranks;
    p->words = (double)sum[n - 1] * unit / ranks;
}

static void print_rate(FILE *out, double amount, double seconds)
{
    if (amount > 0 && seconds > 0)
        fprintf(out, " %10.1f", amount / seconds * 1e-9);
    else
        fprintf(out, " %10s", "");
}

static void print_line(FILE *out, const profile *p, const char *name, double seconds, double flop, double bytes)
{
    fprintf(out, "%-22s %10.3f %6.1f%%", name, seconds, p->seconds > 0 ? 100 * seconds / p->seconds : 0);
    print_rate(out, flop, seconds);
    print_rate(out, bytes, seconds);
    fputc('\n', out);
}

void profile_print(FILE *out, const profile *p)
{
    double product_seconds = 0, product_flop = 0, named = 0;
    fprintf(out, "%-22s %10s %7s %10s %10s\n", "phase", "seconds", "share", "GFLOP/s", "GB/s");
    for (int i = 0; i < PHASES; i++) {
        const double seconds = p->phases.seconds[i];
        if (seconds <= 0 || i == PHASE_SAVE || i == PHASE_EVALUATE) /* between steps */
            continue;
        print_line(out, p, phase_name((phase)i), seconds, p->phases.flop[i], p->phases.bytes[i]);
        named += seconds;
        if (p->phases.flop[i] > 0 && i != PHASE_ATTENTION && i != PHASE_BACK_ATTENTION) {
            product_seconds += seconds;
            product_flop += p->phases.flop[i];
        }
    }
    if (p->seconds > named)
        print_line(out, p, "rest", p->seconds - named, 0, 0);
    print_line(out, p, "all products", product_seconds, product_flop, 0);
    print_line(out, p, "all but products", p->seconds - product_seconds, 0, 0);
    print_line(out, p, "inside: gelu forward", p->gelu, 0, 0);
    print_line(out, p, "inside: random words", p->words, 0, 0);
    fprintf(out, "%" PRId64 " steps in %.3f s; seconds, GFLOP/s and GB/s are the mean of the ranks, each with all its threads\n", p->steps, p->seconds);
}

status profile_json(const profile *p, char **text)
{
    size_t bytes;
    FILE *f = open_memstream(text, &bytes);
    if (!f)
        return fail(STATUS_RESOURCE, "out of memory for the profile");
    fprintf(f, "{\"profile\":{\"steps\":%" PRId64 ",\"seconds\":%.6f,\"gelu\":%.6f,\"random_words\":%.6f,\"phases\":{", p->steps, p->seconds, p->gelu,
            p->words);
    const char *comma = "";
    for (int i = 0; i < PHASES; i++) {
        if (p->phases.seconds[i] <= 0)
            continue;
        fprintf(f, "%s\"%s\":{\"seconds\":%.6f,\"gflop\":%.6f,\"gbytes\":%.6f}", comma, phase_name((phase)i), p->phases.seconds[i],
                p->phases.flop[i] * 1e-9, p->phases.bytes[i] * 1e-9);
        comma = ",";
    }
    fputs("}}}", f);
    return fclose(f) == 0 ? STATUS_OK : fail(STATUS_RESOURCE, "out of memory for the profile");
}
