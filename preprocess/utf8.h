/* UTF-8: one code point at a time, the length of the valid prefix, and the repair of invalid bytes as Python does it.
 *
 *     size_t good = utf8_valid_prefix(text, n);
 *     if (good < n) {                                    // some bytes are not UTF-8
 *         size_t room = utf8_replaced_bytes(text, n, &replaced);
 *         utf8_replace(text, n, copy);                   // copy has `room` bytes
 *     }
 *
 * Valid means: shortest form, at most U+10FFFF, no surrogates. Everything here is local and does not fail.
 */
#ifndef FRETSAW_PREPROCESS_UTF8_H
#define FRETSAW_PREPROCESS_UTF8_H

#include <stddef.h>
#include <stdint.h>

enum { UTF8_LONGEST = 4, UTF8_REPLACEMENT = 0xFFFD, UTF8_REPLACEMENT_BYTES = 3 };

/* Bytes of the longest valid prefix of text[0..n-1]; n when all of it is valid. */
size_t utf8_valid_prefix(const char *text, size_t n);
/* Bytes that text[0..n-1] takes once every maximal invalid part is one U+FFFD, as bytes.decode("utf-8", errors="replace")
 * has it; *replaced (may be NULL) receives how many U+FFFD come in. At most 3 n. */
size_t utf8_replaced_bytes(const char *text, size_t n, int64_t *replaced);
/* Writes the repaired text to `out`, which has utf8_replaced_bytes() bytes and does not overlap `text`. Returns those bytes. */
size_t utf8_replace(const char *text, size_t n, char *out);
/* Writes one code point (<= U+10FFFF) to out[0..3]; returns its bytes. */
size_t utf8_put(uint32_t code_point, char out[UTF8_LONGEST]);

/* Reads one code point of *valid* text at `p` and its bytes into *bytes. */
static inline uint32_t utf8_get(const char *p, size_t *bytes)
{
    const unsigned char *u = (const unsigned char *)p;
    if (u[0] < 0x80) {
        *bytes = 1;
        return u[0];
    }
    if (u[0] < 0xE0) {
        *bytes = 2;
        return (u[0] & 0x1Fu) << 6 | (u[1] & 0x3Fu);
    }
    if (u[0] < 0xF0) {
        *bytes = 3;
        return (u[0] & 0x0Fu) << 12 | (u[1] & 0x3Fu) << 6 | (u[2] & 0x3Fu);
    }
    *bytes = 4;
    return (u[0] & 0x07u) << 18 | (u[1] & 0x3Fu) << 12 | (u[2] & 0x3Fu) << 6 | (u[3] & 0x3Fu);
}

#endif
