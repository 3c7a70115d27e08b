#include "common/rng.h"

#include <math.h>

#include "support/support.h"

/* The known answers that Random123 publishes for philox4x32 with ten rounds. */
START_TEST(rng_known_answers)
{
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } cases[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}, {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (int i = 0; i < 3; i++) {
        uint32_t w[4];
        rng_philox((uint64_t)cases[i].key[1] << 32 | cases[i].key[0], cases[i].counter, w);
        for (int j = 0; j < 4; j++)
            ck_assert_msg(w[j] == cases[i].out[j], "case %d word %d: %08x, not %08x", i, j, w[j], cases[i].out[j]);
    }
}
END_TEST

/* Each bit of each word is set about half the time along consecutive counters under a random key. */
START_TEST(rng_bits_even)
{
    enum { N = 20000 };
    int64_t set[4][32] = {{0}};
    uint64_t key = support_random();
    uint32_t begin = (uint32_t)support_random();
    for (uint32_t i = 0; i < N; i++) {
        uint32_t w[4];
        rng_philox(key, (uint32_t[4]){begin + i, 7, 0, 0}, w);
        for (int j = 0; j < 4; j++)
            for (int b = 0; b < 32; b++)
                set[j][b] += w[j] >> b & 1;
    }
    for (int j = 0; j < 4; j++)
        for (int b = 0; b < 32; b++) /* six standard deviations: once in four million runs by chance */
            ck_assert_msg(fabs((double)set[j][b] - N / 2.0) < 6.0 * sqrt(N / 4.0), "word %d bit %d: %lld of %d", j, b, (long long)set[j][b], N);
}
END_TEST

int main(void)
{
    return support_run("rng", (const TTest *[]){rng_known_answers, rng_bits_even, NULL});
}
