/* The hashes of the project: SHA-256 (identity of files and data sets), XXH3-64 (rows), mix64 (state of tensors), CRC-32 (zip archives).
 *
 *     hash_sha256 *h; hash_sha256_begin(&h); hash_sha256_add(h, p, n); char hex[HASH_HEX]; hash_sha256_end(h, hex);
 *     uint64_t row = hash_xxh3(bytes, n);
 *     sum += hash_mix64(index, bits);
 */
#ifndef FRETSAW_COMMON_HASH_H
#define FRETSAW_COMMON_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

enum { HASH_HEX = 65 }; /* 64 hex digits and NUL */

typedef struct hash_sha256 hash_sha256;
status hash_sha256_begin(hash_sha256 **out);
void hash_sha256_add(hash_sha256 *h, const void *p, size_t n);
/* Writes the digest as lower-case hex and frees `h`. hex may be NULL: frees only. */
void hash_sha256_end(hash_sha256 *h, char hex[HASH_HEX]);
/* Whole buffer; whole file (STATUS_IO with its name when it cannot be read). Local. */
status hash_sha256_buffer(const void *p, size_t n, char hex[HASH_HEX]);
status hash_sha256_file(const char *path, char hex[HASH_HEX]);
/* The processor has instructions for it: without them it takes four times as long. */
bool hash_sha256_is_fast(void);

/* CRC-32 as zip and zlib have it. Join: of two parts one behind the other, from theirs and the length of the second. */
uint32_t hash_crc32(const void *p, size_t n);
uint32_t hash_crc32_join(uint32_t first, uint32_t second, size_t second_bytes);

/* XXH3-64 with seed 0. */
uint64_t hash_xxh3(const void *p, size_t n);
uint64_t hash_xxh3_seeded(const void *p, size_t n, uint64_t seed);
/* The same of bytes that come one after another; end gives the hash and frees (0 and fine on NULL). */
typedef struct hash_xxh3_stream hash_xxh3_stream;
status hash_xxh3_begin(hash_xxh3_stream **out);
void hash_xxh3_add(hash_xxh3_stream *h, const void *p, size_t n);
uint64_t hash_xxh3_end(hash_xxh3_stream *h);
status hash_xxh3_file(const char *path, uint64_t *hash); /* as hash_sha256_file */

/* One element of a tensor's state hash: a bijective mix of (index, bits), summed mod 2^64 by the caller, so that order and slicing do not matter. */
static inline uint64_t hash_mix64(uint64_t index, uint32_t bits)
{
    uint64_t z = (index << 32 | index >> 32) ^ ((uint64_t)bits * 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    return z ^ (z >> 27);
}

#endif
