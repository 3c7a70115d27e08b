#include "model/pointer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/hash.h"

void pointer_text(const char *name, char text[POINTER_BYTES])
{
    snprintf(text, POINTER_BYTES, "%s\n%016" PRIx64 "\n", name, hash_xxh3(name, strlen(name)));
}

bool pointer_name(char *text, size_t bytes)
{
    char whole[POINTER_BYTES], given[POINTER_BYTES] = "";
    size_t n = strcspn(text, "\n");
    bool alone = n + 1 >= bytes;
    if (bytes < sizeof given)
        memcpy(given, text, bytes);
    text[n] = 0;
    pointer_text(text, whole);
    return n > 0 && !strchr(text, '/') && text[0] != '.' && (alone || (strlen(whole) == bytes && memcmp(given, whole, bytes) == 0));
}
