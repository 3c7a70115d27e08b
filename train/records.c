#include "train/records.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/files.h"
#include "common/hash.h"

struct records {
    uint64_t check; /* of the last line of metrics.jsonl */
    FILE *metrics, *timing;
    char *metrics_path, *timing_path;
};

void records_number(double value, char *to)
{
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(to, 32, "%.*g", digits, value);
        if (strtod(to, NULL) == value)
            return;
    }
}

/* ---- checks: each line ends with the hash of itself and the check before it, so that the first changed, missing or added line is known ---- */

static const char mark[] = ",\"check\":\"";
enum { MARK = sizeof mark - 1, SEAL = MARK + 16 + 2 }; /* ,"check":"0123456789abcdef"} */

/* `n` bytes of a line up to its check; the seal with a NUL into `seal`. */
static uint64_t make_seal(uint64_t before, const char *line, size_t n, char seal[SEAL + 1])
{
    uint64_t check = hash_xxh3_seeded(line, n, before);
    snprintf(seal, SEAL + 1, "%s%016" PRIx64 "\"}", mark, check);
    return check;
}

/* Whether a line of `n` bytes follows the one with the check *check, which becomes its own. */
static bool line_follows(const char *line, size_t n, uint64_t *check)
{
    char seal[SEAL + 1];
    if (n < SEAL)
        return false;
    uint64_t own = make_seal(*check, line, n - SEAL, seal);
    if (memcmp(line + n - SEAL, seal, SEAL) != 0)
        return false;
    *check = own;
    return true;
}

bool records_same_line(const char *line, const char *text)
{
    size_t n = strlen(text) - 1;
    return strlen(line) == n + SEAL && memcmp(line, text, n) == 0 && memcmp(line + n, mark, MARK) == 0;
}

/* How a line begins says whether it stays. */
static bool line_stays(const char *line, int64_t step, int64_t steps_per_epoch, int64_t *seen)
{
    long long number;
    if (sscanf(line, "{\"step\":%lld", &number) == 1) {
        if (number > step || number != *seen + 1)
            return false;
        *seen = number;
        return true;
    }
    return sscanf(line, "{\"epoch\":%lld", &number) == 1 && number * steps_per_epoch < step; /* an epoch that ends here is validated again */
}

/* The prefix of whole lines that belong to steps up to `step`. With `check` every line has to be there and to follow the one before. */
static status cut_back(const char *path, int64_t step, int64_t steps_per_epoch, uint64_t *check)
{
    char *text = NULL;
    size_t bytes = 0, keep = 0;
    int64_t seen = 0, line = 1;
    bool whole = true;
    if (file_exists(path))
        TRY(file_read_all(path, 0, &text, &bytes));
    while (keep < bytes) {
        char *end = memchr(text + keep, '\n', bytes - keep);
        if (!end || !line_stays(text + keep, step, steps_per_epoch, &seen))
            break;
        whole = !check || line_follows(text + keep, (size_t)(end - text) - keep, check);
        if (!whole)
            break;
        keep = (size_t)(end - text) + 1;
        line++;
    }
    status st = STATUS_OK;
    if (check && (!whole || seen < step))
        st = fail(STATUS_INPUT,
                  "%s: line %" PRId64 " is damaged or missing (the checkpoint is at step %" PRId64
                  "): restore the file from a copy, or train again into a new folder",
                  path, line, step);
    else if (keep < bytes || !text)
        st = file_write_atomic(path, text ? text : "", keep);
    free(text);
    return st;
}

static status open_one(const char *folder, const char *name, int64_t step, int64_t steps_per_epoch, uint64_t *check, char **path, FILE **out)
{
    TRY(file_join(folder, name, path));
    TRY(cut_back(*path, step, steps_per_epoch, check));
    *out = fopen(*path, "ab");
    return *out ? STATUS_OK : fail_errno(STATUS_IO, errno, "%s: cannot be written to", *path);
}

status records_open(const char *folder, int64_t step, int64_t steps_per_epoch, records **out)
{
    records *r;
    TRY(memory_new(&r, sizeof *r, "the records"));
    status st = open_one(folder, "metrics.jsonl", step, steps_per_epoch, &r->check, &r->metrics_path, &r->metrics);
    if (st == STATUS_OK) /* times may have been lost without harm */
        st = open_one(folder, "timing.jsonl", step, steps_per_epoch, NULL, &r->timing_path, &r->timing);
    if (st != STATUS_OK) {
        records_close(r);
        r = NULL;
    }
    *out = r;
    return st;
}

void records_close(records *r)
{
    if (!r)
        return;
    if (r->metrics)
        fclose(r->metrics);
    if (r->timing)
        fclose(r->timing);
    free(r->metrics_path);
    free(r->timing_path);
    free(r);
}

static status written(FILE *file, const char *path)
{
    return fflush(file) == 0 && !ferror(file) ? STATUS_OK : file_output_error(errno, path, 0);
}

void records_step_text(const record_step *line, char text[RECORD_BYTES])
{
    char loss[32], lr[32];
    records_number(line->loss, loss);
    records_number(line->lr, lr);
    snprintf(text, RECORD_BYTES,
             "{\"step\":%" PRId64 ",\"epoch\":%" PRId64 ",\"loss\":%s,\"lr\":%s,\"rows\":%" PRId64 ",\"tokens\":%" PRId64 ",\"state\":\"%016" PRIx64
             "\"}",
             line->step, line->epoch, loss, lr, line->rows, line->tokens, line->state);
}

status records_epoch(records *r, const char *text)
{
    char seal[SEAL + 1];
    size_t n = strlen(text) - 1; /* without the closing brace */
    r->check = make_seal(r->check, text, n, seal);
    fprintf(r->metrics, "%.*s%s\n", (int)n, text, seal);
    return written(r->metrics, r->metrics_path);
}

status records_step(records *r, const record_step *line)
{
    char text[RECORD_BYTES];
    records_step_text(line, text);
    return records_epoch(r, text);
}

status records_timing(records *r, int64_t step, double seconds, const phase_timer *since)
{
    fprintf(r->timing, "{\"step\":%" PRId64 ",\"seconds\":%.6f", step, seconds);
    for (int i = 0; i < PHASES; i++)
        if (since->seconds[i] > 0)
            fprintf(r->timing, ",\"%s\":%.6f", phase_name((phase)i), since->seconds[i]);
    fprintf(r->timing, "}\n");
    return written(r->timing, r->timing_path);
}

status records_epoch_timing(records *r, int64_t epoch, double save, double evaluate)
{
    fprintf(r->timing, "{\"epoch\":%" PRId64 ",\"save\":%.6f,\"evaluate\":%.6f}\n", epoch, save, evaluate);
    return written(r->timing, r->timing_path);
}

status records_profile(records *r, const char *text)
{
    fprintf(r->timing, "%s\n", text);
    return written(r->timing, r->timing_path);
}

status records_flush(records *r)
{
    TRY(written(r->metrics, r->metrics_path));
    if (fsync(fileno(r->metrics)) != 0)
        return file_output_error(errno, r->metrics_path, 0);
    return STATUS_OK;
}
