#include "preprocess/sources.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/comm.h"
#include "common/files.h"
#include "common/log.h"
#include "common/stop.h"

#define UNPACKED ".unpacked" /* below the folder of the output */

status sources_open(char *const *paths, int64_t count, csv_sources *out)
{
    *out = (csv_sources){.count = count};
    TRY(memory_new(&out->source, (size_t)count * sizeof *out->source, "the inputs"));
    for (int64_t i = 0; i < count; i++) {
        csv_source *one = &out->source[i];
        one->path = paths[i];
        TRY(packed_look(paths[i], &one->packed));
        TRY(file_size(paths[i], &one->stored));
    }
    return STATUS_OK;
}

bool sources_packed(const csv_sources *s)
{
    for (int64_t i = 0; i < s->count; i++)
        if (s->source[i].packed != PACKED_NOT)
            return true;
    return false;
}

status sources_hash_mine(csv_sources *s)
{
    for (int64_t i = comm_rank(); i < s->count; i += comm_size())
        TRY(hash_sha256_file(s->source[i].path, s->source[i].sha256));
    return STATUS_OK;
}

status sources_share_hashes(csv_sources *s, status mine)
{
    TRY(comm_agree(mine));
    for (int64_t i = 0; i < s->count; i++)
        comm_broadcast(s->source[i].sha256, HASH_HEX, (int)(i % comm_size()));
    return STATUS_OK;
}

status sources_list(const csv_sources *s, char **out)
{
    size_t room = 1, used = 0;
    for (int64_t i = 0; i < s->count; i++)
        room += strlen(file_base(s->source[i].path)) + HASH_HEX + 1;
    TRY(memory_new(out, room, "the names of the inputs"));
    for (int64_t i = 0; i < s->count; i++)
        used += (size_t)snprintf(*out + used, room - used, "%s %s\n", file_base(s->source[i].path), s->source[i].sha256);
    return STATUS_OK;
}

/* What an earlier, killed run left goes first. */
static status make_folder(csv_sources *s)
{
    if (comm_rank() != 0)
        return STATUS_OK;
    TRY(file_remove_tree(s->folder));
    return file_make_folder(s->folder);
}

status sources_remove_left(const char *out)
{
    char *folder;
    TRY(file_join(out, UNPACKED, &folder));
    status st = file_remove_tree(folder);
    free(folder);
    return st;
}

static status name_plain(csv_sources *s, int64_t i)
{
    char name[40];
    snprintf(name, sizeof name, "input-%02lld.csv", (long long)i);
    return s->source[i].packed == PACKED_NOT ? STATUS_OK : file_join(s->folder, name, &s->source[i].plain);
}

static status unpack(csv_sources *s, int64_t i, int64_t memory)
{
    csv_source *one = &s->source[i];
    uint64_t bytes;
    int fd = open(one->plain, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return fail_errno(STATUS_IO, errno, "%s: cannot be made; check the folder of --out", one->plain);
    status st = packed_unpack(one->path, one->packed, &(packed_target){.fd = fd, .path = one->plain, .memory = memory, .stop = stop_wanted}, &bytes);
    if (close(fd) != 0 && st == STATUS_OK)
        st = fail_errno(STATUS_IO, errno, "%s: cannot be written", one->plain);
    return st;
}

/* Packed inputs are dealt to the ranks in turn. Of several faulty ones the first in the order of the command line is told. */
static status unpack_all(csv_sources *s, int64_t memory)
{
    int64_t turn = 0, *fault, none = s->count;
    TRY(comm_agree(memory_new(&fault, (size_t)comm_size() * sizeof *fault, "unpacking")));
    status mine = STATUS_OK;
    int64_t first = none;
    for (int64_t i = 0; i < s->count && mine == STATUS_OK; i++) {
        if (s->source[i].packed == PACKED_NOT || turn++ % comm_size() != comm_rank())
            continue;
        mine = unpack(s, i, memory);
        first = mine == STATUS_OK ? none : i;
    }
    bool stopped = comm_any(mine == STATUS_STOPPED);
    comm_all_gather(&first, sizeof first, fault);
    for (int r = 0; r < comm_size(); r++)
        if (fault[r] < first)
            mine = STATUS_OK; /* another rank tells of an earlier one */
    free(fault);
    return stopped ? STATUS_STOPPED : comm_agree(mine);
}

status sources_unpack(csv_sources *s, const char *out, int64_t memory)
{
    status st = file_join(out, UNPACKED, &s->folder);
    for (int64_t i = 0; i < s->count && st == STATUS_OK; i++)
        st = name_plain(s, i);
    TRY(comm_agree(st));
    s->shared = true;
    TRY(comm_agree(make_folder(s)));
    for (int64_t i = 0; i < s->count; i++)
        if (s->source[i].packed != PACKED_NOT)
            log_info("%s: %s: one rank unpacks it to %s; then all ranks read that", s->source[i].path, packed_name(s->source[i].packed),
                     s->source[i].plain);
    return unpack_all(s, memory);
}

void sources_close(csv_sources *s)
{
    if (s->shared) {
        comm_barrier(); /* nobody still reads */
        if (comm_rank() == 0 && file_remove_tree(s->folder) != STATUS_OK)
            log_warn("%s", status_message());
    }
    for (int64_t i = 0; s->source && i < s->count; i++)
        free(s->source[i].plain);
    free(s->source);
    free(s->folder);
    *s = (csv_sources){0};
}
