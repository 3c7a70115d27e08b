/* Gives a JSON file that a test has changed the check that fits it again: reseal FILE... */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/files.h"
#include "common/sealed.h"

static status reseal(const char *path)
{
    char *text;
    size_t bytes;
    TRY(file_read_all(path, 0, &text, &bytes));
    json_t *object = json_loadb(text, bytes, 0, NULL);
    free(text);
    json_object_del(object, "check");
    TRY(sealed_text(object, &text));
    json_decref(object);
    status st = file_write_atomic(path, text, strlen(text));
    free(text);
    return st;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (reseal(argv[i]) != STATUS_OK) {
            fprintf(stderr, "reseal: %s\n", status_message());
            return 1;
        }
    return 0;
}
