/* Errors: one type for the whole project, a message kept per thread, one macro that forwards.
 *
 *     status load(const char *path)
 *     {
 *         if (missing) return fail(STATUS_INPUT, "%s: no such file; give the folder that preprocess wrote", path);
 *         TRY(parse(path));
 *         return STATUS_OK;
 *     }
 *     if (load(path) != STATUS_OK) fatal();        // only main does this: common/program.h
 *
 * The value is the exit code of the program. A message names the file, record or byte, and what to do.
 */
#ifndef FRETSAW_COMMON_STATUS_H
#define FRETSAW_COMMON_STATUS_H

#include <stddef.h>

typedef enum status {
    STATUS_OK = 0,
    STATUS_USAGE = 2,    /* wrong options, np > lanes, fewer rows than one global batch */
    STATUS_INPUT = 3,    /* an input is foreign, damaged or faulty */
    STATUS_IO = 4,       /* reading or writing failed, no space */
    STATUS_RESOURCE = 5, /* memory or device */
    STATUS_CHECK = 6,    /* NaN loss, probe, verify, replay, diff */
    STATUS_STOPPED = 75, /* stopped on a signal or time limit, everything saved */
} status;

/* Keeps the formatted message for this thread and returns `kind`. Local. A later fail() replaces the message. */
status fail(status kind, const char *format, ...) __attribute__((format(printf, 2, 3), warn_unused_result));
/* As fail(), with ": " and the text of `error` (an errno value) at the end; ENOMEM becomes STATUS_RESOURCE. */
status fail_errno(status kind, int error, const char *format, ...) __attribute__((format(printf, 3, 4), warn_unused_result));
/* Puts "context: " before the message of an error that is being forwarded; returns `kind` unchanged. */
status fail_context(status kind, const char *format, ...) __attribute__((format(printf, 2, 3), warn_unused_result));
/* The message of this thread's last fail(); "" before the first. Valid until the next fail() on this thread. */
const char *status_message(void);
/* Replaces this thread's message, as when a worker thread's error is handed to the thread that waits for it. */
void status_set_message(const char *message);

/* malloc/calloc/realloc that turn failure into a message. Sizes in bytes; NULL and STATUS_RESOURCE on failure. */
status memory_new(void *pointer_to_pointer, size_t bytes, const char *what) __attribute__((warn_unused_result));   /* zeroed */
status memory_grow(void *pointer_to_pointer, size_t bytes, const char *what) __attribute__((warn_unused_result)); /* realloc */

#define TRY(expression)                              \
    do {                                             \
        status try_status_ = (expression);           \
        if (try_status_ != STATUS_OK)                \
            return try_status_;                      \
    } while (0)

/* For functions with a cleanup label: needs a local `status st` and the label `done`. */
#define TRY_DONE(expression)                         \
    do {                                             \
        st = (expression);                           \
        if (st != STATUS_OK)                         \
            goto done;                               \
    } while (0)

#endif
