#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/files.h"
#include "common/log.h"
#include "common/shared_memory.h"
#include "front/doctor.h"
#include "store/rowfile.h"

/* A second process opens the first one's memory and writes into it, as the ranks of a node do. */
void check_shared_memory(finding *f)
{
    enum { BYTES = 64 << 20, MARK = 0x5a };
    const char *cure = "allow memfd_create and /proc/PID/fd (seccomp profile, hidepid, container); until then start one rank a node, with threads";
    shared_memory_name name;
    void *p;
    int how = -1;
    if (shared_memory_create(BYTES, "a trial", &p, &name) != STATUS_OK) {
        finding_set(f, FINDING_FIX, cure, "%s", status_message());
        return;
    }
    pid_t child = fork();
    if (child == 0) {
        void *other;
        if (shared_memory_attach(&name, BYTES, &other) != STATUS_OK)
            _exit(1);
        ((volatile unsigned char *)other)[BYTES - 1] = MARK;
        _exit(0);
    }
    if (child > 0)
        waitpid(child, &how, 0);
    if (how == 0 && ((volatile unsigned char *)p)[BYTES - 1] == MARK)
        finding_set(f, FINDING_OK, NULL, "two processes share 64 MiB of unnamed memory");
    else
        finding_set(f, FINDING_FIX, cure, "a second process could not open the first one's memory through /proc");
    shared_memory_close_name(&name);
    shared_memory_free(p);
}

static char *trial_path(const char *folder, const char *name)
{
    char *path;
    return asprintf(&path, "%s/.fretsaw-doctor-%d-%s", folder, (int)getpid(), name) < 0 ? NULL : path;
}

static status try_writing(const char *path)
{
    char *back = NULL;
    size_t bytes;
    status st = file_write_atomic(path, "fretsaw", 7);
    if (st == STATUS_OK)
        st = file_read_all(path, 100, &back, &bytes);
    if (st == STATUS_OK && (bytes != 7 || memcmp(back, "fretsaw", 7) != 0))
        st = fail(STATUS_IO, "%s: reads back otherwise than it was written", path);
    free(back);
    return st;
}

void check_folder(const char *folder, finding *f)
{
    const char *cure = "give a folder of yours on a disk with room by --folder, and write there";
    char *path = trial_path(folder, "file");
    uint64_t space = 0;
    if (!path || !file_is_folder(folder)) {
        finding_set(f, FINDING_FIX, cure, "%s is no folder", folder);
        free(path);
        return;
    }
    double start = clock_seconds();
    status st = try_writing(path);
    double seconds = clock_seconds() - start;
    unlink(path);
    if (st == STATUS_OK)
        st = file_space(folder, &space);
    double gib = (double)space / 0x1p30;
    if (st != STATUS_OK)
        finding_set(f, FINDING_FIX, cure, "%s", status_message());
    else if (gib < 1)
        finding_set(f, FINDING_FIX, cure, "%s has %.2f GiB free; a run of a base BERT keeps 2 to 4 GiB", folder, gib);
    else if (seconds > 2)
        finding_set(f, FINDING_NOTE, "prefer a disk of the node and copy the results afterwards",
                    "%s: write, fsync and rename took %.1f s; %.0f GiB free", folder, seconds, gib);
    else
        finding_set(f, FINDING_OK, NULL, "%s: write, fsync and rename work (%.0f ms); %.0f GiB free", folder, seconds * 1000, gib);
    free(path);
}

void check_locks(const char *folder, finding *f)
{
    char *path = trial_path(folder, "lock");
    int fd = path ? open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600) : -1;
    struct flock record = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int whole = fd >= 0 ? flock(fd, LOCK_EX | LOCK_NB) : -1, part = fd >= 0 ? fcntl(fd, F_SETLK, &record) : -1;
    if (whole == 0 && part == 0)
        finding_set(f, FINDING_OK, NULL, "files can be locked (fretsaw itself takes no locks)");
    else
        finding_set(f, FINDING_NOTE, "before h5py or h5dump read the shards there: export HDF5_USE_FILE_LOCKING=FALSE",
                    "files cannot be locked in %s (%s); fretsaw takes no locks, other readers of HDF5 do", folder, strerror(errno));
    if (fd >= 0)
        close(fd);
    if (path)
        unlink(path);
    free(path);
}

enum { ROWS = 300, TOKENS_A_ROW = 500 };

static uint32_t token_at(int64_t row, int64_t i)
{
    return (uint32_t)((row * 7919 + i * 31) % 105879);
}

static status write_rows(const char *path)
{
    rowfile_writer *w;
    uint32_t token[TOKENS_A_ROW];
    float label = 1;
    rowfile_meta meta = {.tokenizer = (char[]){"algorithm=none\n"}, .sources = 1, .source = &(rowfile_source){.name = (char[]){"doctor"}},
                         .langs = 1, .lang = (char *[]){(char[]){""}}, .labels = 1, .label = (char *[]){(char[]){"toxic"}}};
    memset(meta.source->sha256, '0', 64);
    TRY(rowfile_create(path, &meta, &w));
    for (int64_t r = 0; r < ROWS; r++) {
        for (int64_t i = 0; i < TOKENS_A_ROW; i++)
            token[i] = token_at(r, i);
        status st = rowfile_append(w, &(rowfile_row){.id = "row", .id_bytes = 3, .number = r, .label = &label, .token = token, .tokens = TOKENS_A_ROW});
        if (st != STATUS_OK) {
            rowfile_abandon(w);
            return st;
        }
    }
    rowfile_summary summary;
    return rowfile_close(w, &summary);
}

static status read_rows(const char *path, rowfile_summary *summary)
{
    rowfile *file;
    uint32_t token[TOKENS_A_ROW];
    TRY(rowfile_verify(path, summary));
    TRY(rowfile_open(path, &file));
    status st = STATUS_OK;
    for (int64_t r = 0; st == STATUS_OK && r < ROWS; r++) {
        st = rowfile_read_tokens(file, r * TOKENS_A_ROW, TOKENS_A_ROW, token);
        for (int64_t i = 0; st == STATUS_OK && i < TOKENS_A_ROW; i++)
            if (token[i] != token_at(r, i))
                st = fail(STATUS_CHECK, "%s: token %" PRId64 " of row %" PRId64 " reads back otherwise than it was written", path, i, r);
    }
    rowfile_free(file);
    return st;
}

void check_row_file(const char *folder, finding *f)
{
    rowfile_summary summary = {0};
    char *path = trial_path(folder, "rows.h5");
    status st = path ? write_rows(path) : STATUS_RESOURCE;
    if (st == STATUS_OK)
        st = read_rows(path, &summary);
    if (st == STATUS_OK)
        finding_set(f, FINDING_OK, NULL, "a row file went through HDF5 and the zstd filter and back: %d tokens in %" PRIu64 " bytes", ROWS * TOKENS_A_ROW,
                    summary.bytes);
    else
        finding_set(f, FINDING_FIX, "reinstall libhdf5 and libzstd as the package asks for them; unset HDF5_* variables", "%s", status_message());
    if (path)
        unlink(path);
    free(path);
}
