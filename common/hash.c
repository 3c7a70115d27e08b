#include "common/hash.h"

#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <unistd.h>
#include <xxhash.h>
#include <zlib.h>

struct hash_sha256 {
    EVP_MD_CTX *context;
};

status hash_sha256_begin(hash_sha256 **out)
{
    hash_sha256 *h;
    TRY(memory_new(&h, sizeof *h, "a SHA-256"));
    h->context = EVP_MD_CTX_new();
    if (!h->context || EVP_DigestInit_ex(h->context, EVP_sha256(), NULL) != 1) {
        EVP_MD_CTX_free(h->context);
        free(h);
        return fail(STATUS_RESOURCE, "libcrypto offers no SHA-256; check the installation of OpenSSL");
    }
    *out = h;
    return STATUS_OK;
}

void hash_sha256_add(hash_sha256 *h, const void *p, size_t n)
{
    EVP_DigestUpdate(h->context, p, n);
}

void hash_sha256_end(hash_sha256 *h, char hex[HASH_HEX])
{
    if (!h)
        return;
    unsigned char digest[32];
    EVP_DigestFinal_ex(h->context, digest, NULL);
    EVP_MD_CTX_free(h->context);
    free(h);
    for (int i = 0; hex && i < 32; i++) {
        hex[2 * i] = "0123456789abcdef"[digest[i] >> 4];
        hex[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
    }
    if (hex)
        hex[64] = 0;
}

status hash_sha256_buffer(const void *p, size_t n, char hex[HASH_HEX])
{
    hash_sha256 *h;
    TRY(hash_sha256_begin(&h));
    hash_sha256_add(h, p, n);
    hash_sha256_end(h, hex);
    return STATUS_OK;
}

/* Hands the bytes of a file, block by block, to `add`. */
static status read_blocks(const char *path, void (*add)(void *hash, const void *p, size_t n), void *hash)
{
    enum { BLOCK = 1 << 20 };
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail_errno(errno == ENOENT ? STATUS_INPUT : STATUS_IO, errno, "%s", path);
    unsigned char *block;
    ssize_t n = 1;
    status st = memory_new(&block, BLOCK, "reading a file");
    while (st == STATUS_OK && n > 0) {
        n = read(fd, block, BLOCK);
        if (n > 0)
            add(hash, block, (size_t)n);
        else if (n < 0 && errno == EINTR)
            n = 1;
        else if (n < 0)
            st = fail_errno(STATUS_IO, errno, "reading %s", path);
    }
    free(block);
    close(fd);
    return st;
}

static void add_sha256(void *hash, const void *p, size_t n)
{
    hash_sha256_add(hash, p, n);
}

bool hash_sha256_is_fast(void)
{
    enum { SHA = 1 << 29 }; /* of the extended features */
    unsigned a, b = 0, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & SHA;
}

status hash_sha256_file(const char *path, char hex[HASH_HEX])
{
    hash_sha256 *h;
    TRY(hash_sha256_begin(&h));
    status st = read_blocks(path, add_sha256, h);
    hash_sha256_end(h, st == STATUS_OK ? hex : NULL);
    return st;
}

struct hash_xxh3_stream {
    XXH3_state_t *state;
};

status hash_xxh3_begin(hash_xxh3_stream **out)
{
    hash_xxh3_stream *h;
    TRY(memory_new(&h, sizeof *h, "a hash"));
    h->state = XXH3_createState();
    if (!h->state) {
        free(h);
        return fail(STATUS_RESOURCE, "out of memory: a hash");
    }
    XXH3_64bits_reset(h->state);
    *out = h;
    return STATUS_OK;
}

void hash_xxh3_add(hash_xxh3_stream *h, const void *p, size_t n)
{
    XXH3_64bits_update(h->state, p, n);
}

uint64_t hash_xxh3_end(hash_xxh3_stream *h)
{
    if (!h)
        return 0;
    uint64_t hash = XXH3_64bits_digest(h->state);
    XXH3_freeState(h->state);
    free(h);
    return hash;
}

static void add_xxh3(void *hash, const void *p, size_t n)
{
    hash_xxh3_add(hash, p, n);
}

status hash_xxh3_file(const char *path, uint64_t *hash)
{
    hash_xxh3_stream *h;
    TRY(hash_xxh3_begin(&h));
    status st = read_blocks(path, add_xxh3, h);
    *hash = hash_xxh3_end(h);
    return st;
}

uint64_t hash_xxh3_seeded(const void *p, size_t n, uint64_t seed)
{
    return XXH3_64bits_withSeed(p, n, seed);
}

uint64_t hash_xxh3(const void *p, size_t n)
{
    return XXH3_64bits(p, n);
}

uint32_t hash_crc32(const void *p, size_t n)
{
    return (uint32_t)crc32_z(0, p, n);
}

uint32_t hash_crc32_join(uint32_t first, uint32_t second, size_t second_bytes)
{
    return (uint32_t)crc32_combine(first, second, (z_off_t)second_bytes);
}
