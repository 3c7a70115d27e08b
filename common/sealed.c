#include "common/sealed.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/files.h"

static const char head[] = ",\n \"check\": \"";
static const char tail[] = "\"\n}\n";
enum { HEAD = sizeof head - 1, DIGITS = 16, TAIL = sizeof tail - 1, SEAL = HEAD + DIGITS + TAIL, MOST_BYTES = 256 << 20 };

status sealed_text(const json_t *object, char **text)
{
    char *plain = json_dumps(object, JSON_INDENT(1) | JSON_PRESERVE_ORDER), *sealed = NULL;
    size_t n = plain ? strlen(plain) - 2 : 0; /* without "\n}" */
    status st = plain ? memory_new(&sealed, n + SEAL + 1, "a JSON file") : fail(STATUS_RESOURCE, "out of memory: a JSON file");
    if (st == STATUS_OK) {
        memcpy(sealed, plain, n);
        snprintf(sealed + n, SEAL + 1, "%s%016" PRIx64 "%s", head, hash_xxh3(plain, n), tail);
        *text = sealed;
    }
    free(plain);
    return st;
}

static bool is_whole(const char *text, size_t bytes)
{
    char seal[SEAL + 1];
    if (bytes <= SEAL)
        return false;
    snprintf(seal, sizeof seal, "%s%016" PRIx64 "%s", head, hash_xxh3(text, bytes - SEAL), tail);
    return memcmp(text + bytes - SEAL, seal, SEAL) == 0;
}

status sealed_read(const char *path, json_t **object, char sha256[HASH_HEX])
{
    char *text;
    size_t bytes;
    *object = NULL;
    TRY(file_read_all(path, MOST_BYTES, &text, &bytes));
    status st = sha256 ? hash_sha256_buffer(text, bytes, sha256) : STATUS_OK;
    if (st == STATUS_OK && !is_whole(text, bytes))
        st = fail(STATUS_INPUT, "%s: the file is damaged (its own check differs)", path);
    if (st == STATUS_OK && !(*object = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, NULL)))
        st = fail(STATUS_INPUT, "%s: the file is damaged (no JSON)", path);
    if (st == STATUS_OK)
        json_object_del(*object, "check");
    free(text);
    return st;
}
