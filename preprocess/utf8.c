#include "preprocess/utf8.h"

#include <string.h>

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

size_t utf8_valid_prefix(const char *text, size_t n)
{
    const unsigned char *u = (const unsigned char *)text;
    size_t i = 0, bad;
    while (i < n) {
        uint64_t eight;
        if (i + sizeof eight <= n) {
            memcpy(&eight, u + i, sizeof eight);
            if (!(eight & 0x8080808080808080u)) {
                i += sizeof eight;
                continue;
            }
        }
        /* The common ones at once; all others, and the end, with care. */
        if (i + 3 <= n && u[i] >= 0xC2 && u[i] < 0xF0 && u[i] != 0xE0 && u[i] != 0xED) {
            size_t three = u[i] >= 0xE0;
            if ((u[i + 1] & 0xC0) == 0x80 && (!three || (u[i + 2] & 0xC0) == 0x80)) {
                i += 2 + three;
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
