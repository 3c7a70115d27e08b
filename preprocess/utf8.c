#include "preprocess/utf8.h"

#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#define UTF8_WIDE 1
#include <immintrin.h>
#endif

/* Bytes of the code point at u, of which `left` > 0 bytes are there; 0 where it is not valid, and then *bad is the length of its
 * maximal invalid part: the bytes that could still have begun a code point, or one. */
static size_t code_point_bytes(const unsigned char *u, size_t left, size_t *bad)
{
    unsigned char low = 0x80, high = 0xBF;
    size_t bytes;
    *bad = 1;
    if (u[0] < 0x80)
        return 1;
    if (u[0] >= 0xC2 && u[0] <= 0xDF)
        bytes = 2;
    else if (u[0] >= 0xE0 && u[0] <= 0xEF)
        bytes = 3;
    else if (u[0] >= 0xF0 && u[0] <= 0xF4)
        bytes = 4;
    else
        return 0;
    /* Only the second byte has narrower limits: shortest form, no surrogates, at most U+10FFFF. */
    if (u[0] == 0xE0)
        low = 0xA0;
    else if (u[0] == 0xED)
        high = 0x9F;
    else if (u[0] == 0xF0)
        low = 0x90;
    else if (u[0] == 0xF4)
        high = 0x8F;
    for (size_t i = 1; i < bytes; i++) {
        if (i >= left || u[i] < low || u[i] > high) {
            *bad = i;
            return 0;
        }
        low = 0x80;
        high = 0xBF;
    }
    return bytes;
}

#ifdef UTF8_WIDE
enum { WIDE = 32 };

/* What a pair of neighbouring bytes can have against it. Three tables of 16, asked by the first byte's two halves and the second's upper
 * half, agree on a fault or on none (the method is that of Keiser and Lemire, 2020). */
enum {
    SHORT = 1,          /* a lead byte without its continuation */
    LONG = 2,           /* a continuation after ASCII */
    OVERLONG_3 = 4,     /* E0 80..9F */
    LARGE = 8,          /* F4 90.., F5.. 90.. */
    SURROGATE = 16,     /* ED A0.. */
    OVERLONG_2 = 32,    /* C0, C1 */
    LARGE_80 = 64,      /* F5.. 80..8F */
    OVERLONG_4 = 64,    /* F0 80..8F */
    CONTINUATIONS = 128 /* two in a row: right in a third or fourth byte alone */
};
#define TABLE(...) _mm256_broadcastsi128_si256(_mm_setr_epi8(__VA_ARGS__))

__attribute__((target("avx2"))) static inline __m256i wide_load(const unsigned char *u)
{
    return _mm256_loadu_si256((const __m256i *)u);
}

/* Has x a fault? one, two, three: the bytes that stand so many before each of x. */
__attribute__((target("avx2"))) static inline bool wide_fault(__m256i x, __m256i one, __m256i two, __m256i three)
{
    enum { ANY = SHORT | LONG | CONTINUATIONS, ALL_LARGE = ANY | LARGE | LARGE_80, SECOND = LONG | OVERLONG_2 | CONTINUATIONS };
    const __m256i first_high = TABLE(LONG, LONG, LONG, LONG, LONG, LONG, LONG, LONG, (char)CONTINUATIONS, (char)CONTINUATIONS, (char)CONTINUATIONS,
                                     (char)CONTINUATIONS, SHORT | OVERLONG_2, SHORT, SHORT | OVERLONG_3 | SURROGATE, SHORT | LARGE | LARGE_80 | OVERLONG_4);
    const __m256i first_low =
        TABLE((char)(ANY | OVERLONG_3 | OVERLONG_2 | OVERLONG_4), (char)(ANY | OVERLONG_2), (char)ANY, (char)ANY, (char)(ANY | LARGE), (char)ALL_LARGE,
              (char)ALL_LARGE, (char)ALL_LARGE, (char)ALL_LARGE, (char)ALL_LARGE, (char)ALL_LARGE, (char)ALL_LARGE, (char)ALL_LARGE,
              (char)(ALL_LARGE | SURROGATE), (char)ALL_LARGE, (char)ALL_LARGE);
    const __m256i second_high =
        TABLE(SHORT, SHORT, SHORT, SHORT, SHORT, SHORT, SHORT, SHORT, (char)(SECOND | OVERLONG_3 | LARGE_80 | OVERLONG_4),
              (char)(SECOND | OVERLONG_3 | LARGE), (char)(SECOND | SURROGATE | LARGE), (char)(SECOND | SURROGATE | LARGE), SHORT, SHORT, SHORT, SHORT);
    const __m256i nibble = _mm256_set1_epi8(15);
    __m256i pair = _mm256_and_si256(
        _mm256_and_si256(_mm256_shuffle_epi8(first_high, _mm256_and_si256(_mm256_srli_epi16(one, 4), nibble)),
                         _mm256_shuffle_epi8(first_low, _mm256_and_si256(one, nibble))),
        _mm256_shuffle_epi8(second_high, _mm256_and_si256(_mm256_srli_epi16(x, 4), nibble)));
    /* Third and fourth bytes: there two continuations in a row must be. */
    __m256i later = _mm256_or_si256(_mm256_subs_epu8(two, _mm256_set1_epi8(0xE0 - 0x80)), _mm256_subs_epu8(three, _mm256_set1_epi8(0xF0 - 0x80)));
    __m256i fault = _mm256_xor_si256(_mm256_and_si256(later, _mm256_set1_epi8((char)0x80)), pair);
    return !_mm256_testz_si256(fault, fault);
}

/* A valid prefix that ends with a whole code point; n when all is valid, else possibly not the longest. */
__attribute__((target("avx2"))) static size_t wide_prefix(const unsigned char *u, size_t n)
{
    size_t i = 0;
    if (n < WIDE + 3)
        return 0;
    __m256i x = wide_load(u), across = _mm256_permute2x128_si256(_mm256_setzero_si256(), x, 0x21);
    bool good = !_mm256_movemask_epi8(x) ||
                !wide_fault(x, _mm256_alignr_epi8(x, across, 15), _mm256_alignr_epi8(x, across, 14), _mm256_alignr_epi8(x, across, 13));
    for (i = good ? WIDE : 0; good && i < n; i += WIDE) {
        size_t at = i + WIDE <= n ? i : n - WIDE; /* the last bytes may be looked at twice */
        __m256i three = wide_load(u + at - 3);
        x = wide_load(u + at);
        if (_mm256_movemask_epi8(_mm256_or_si256(x, three)) && wide_fault(x, wide_load(u + at - 1), wide_load(u + at - 2), three)) {
            good = false;
            break;
        }
    }
    if (good && u[n - 1] < 0xC0 && u[n - 2] < 0xE0 && u[n - 3] < 0xF0)
        return n;
    i = i < n ? i : n;
    while (i > 0 && (u[i - 1] & 0xC0) == 0x80)
        i--;
    return i > 0 && u[i - 1] >= 0xC0 ? i - 1 : i;
}
#endif

/* The rest of utf8_valid_prefix, whose first i bytes are known to be valid. */
static size_t valid_prefix_from(const unsigned char *u, size_t n, size_t i)
{
    size_t bad;
    while (i < n) {
        uint64_t eight;
        if (i + sizeof eight <= n) {
            memcpy(&eight, u + i, sizeof eight);
            if (!(eight & 0x8080808080808080u)) {
                i += sizeof eight;
                continue;
            }
        }
        size_t bytes = code_point_bytes(u + i, n - i, &bad);
        if (!bytes)
            break;
        i += bytes;
    }
    return i;
}

size_t utf8_valid_prefix(const char *text, size_t n)
{
    const unsigned char *u = (const unsigned char *)text;
#ifdef UTF8_WIDE
    if (__builtin_cpu_supports("avx2"))
        return n ? valid_prefix_from(u, n, wide_prefix(u, n)) : 0;
#endif
    return valid_prefix_from(u, n, 0);
}

/* The one walk behind measuring (out NULL) and writing. */
static size_t replace(const char *text, size_t n, char *out, int64_t *replaced)
{
    size_t i = 0, written = 0;
    int64_t count = 0;
    while (i < n) {
        size_t good = utf8_valid_prefix(text + i, n - i), bad;
        if (out && good)
            memcpy(out + written, text + i, good);
        written += good;
        i += good;
        if (i == n)
            break;
        code_point_bytes((const unsigned char *)text + i, n - i, &bad);
        if (out)
            memcpy(out + written, "\xEF\xBF\xBD", UTF8_REPLACEMENT_BYTES);
        written += UTF8_REPLACEMENT_BYTES;
        i += bad;
        count++;
    }
    if (replaced)
        *replaced = count;
    return written;
}

size_t utf8_replaced_bytes(const char *text, size_t n, int64_t *replaced)
{
    return replace(text, n, NULL, replaced);
}

size_t utf8_replace(const char *text, size_t n, char *out)
{
    return replace(text, n, out, NULL);
}

size_t utf8_put(uint32_t c, char out[UTF8_LONGEST])
{
    unsigned char *u = (unsigned char *)out;
    if (c < 0x80) {
        u[0] = (unsigned char)c;
        return 1;
    }
    if (c < 0x800) {
        u[0] = (unsigned char)(0xC0 | c >> 6);
        u[1] = (unsigned char)(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        u[0] = (unsigned char)(0xE0 | c >> 12);
        u[1] = (unsigned char)(0x80 | (c >> 6 & 0x3F));
        u[2] = (unsigned char)(0x80 | (c & 0x3F));
        return 3;
    }
    u[0] = (unsigned char)(0xF0 | c >> 18);
    u[1] = (unsigned char)(0x80 | (c >> 12 & 0x3F));
    u[2] = (unsigned char)(0x80 | (c >> 6 & 0x3F));
    u[3] = (unsigned char)(0x80 | (c & 0x3F));
    return 4;
}
