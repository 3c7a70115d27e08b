#include "common/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE_BYTES = 4096 };

static _Thread_local char message[MESSAGE_BYTES];

static void keep(const char *format, va_list list, const char *suffix)
{
    char text[MESSAGE_BYTES]; /* apart from `message`, which may be among the arguments */
    int n = vsnprintf(text, sizeof text, format, list);
    size_t used = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    text[used] = 0;
    snprintf(text + used, sizeof text - used, "%s", suffix);
    memcpy(message, text, sizeof message);
}

status fail(status kind, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    keep(format, list, "");
    va_end(list);
    return kind;
}

status fail_errno(status kind, int error, const char *format, ...)
{
    char suffix[256], buffer[200];
    snprintf(suffix, sizeof suffix, ": %s", strerror_r(error, buffer, sizeof buffer));
    va_list list;
    va_start(list, format);
    keep(format, list, suffix);
    va_end(list);
    return error == ENOMEM ? STATUS_RESOURCE : kind;
}

status fail_context(status kind, const char *format, ...)
{
    char suffix[MESSAGE_BYTES];
    snprintf(suffix, sizeof suffix, ": %.*s", MESSAGE_BYTES - 3, message);
    va_list list;
    va_start(list, format);
    keep(format, list, suffix);
    va_end(list);
    return kind;
}

const char *status_message(void)
{
    return message;
}

void status_set_message(const char *text)
{
    if (text != message)
        snprintf(message, sizeof message, "%s", text);
}

status memory_new(void *pointer_to_pointer, size_t bytes, const char *what)
{
    void *p = calloc(1, bytes ? bytes : 1);
    memcpy(pointer_to_pointer, &p, sizeof p);
    return p ? STATUS_OK : fail(STATUS_RESOURCE, "out of memory: %zu bytes for %s", bytes, what);
}

status memory_grow(void *pointer_to_pointer, size_t bytes, const char *what)
{
    void *p;
    memcpy(&p, pointer_to_pointer, sizeof p);
    p = realloc(p, bytes ? bytes : 1);
    if (!p)
        return fail(STATUS_RESOURCE, "out of memory: %zu bytes for %s", bytes, what);
    memcpy(pointer_to_pointer, &p, sizeof p);
    return STATUS_OK;
}
