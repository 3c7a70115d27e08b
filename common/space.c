#include "common/space.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/files.h"

/* Kinds of file systems that may pack what is written (statfs's f_type). */
static const unsigned long packing[] = {0x9123683E /* btrfs */, 0x2FC12FC1 /* zfs */, 0xCA451A4E /* bcachefs */};

/* Cuts `path` to the nearest folder above it. false: there is none left. */
static bool cut_to_parent(char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    while (n > 0 && path[n - 1] != '/')
        n--;
    while (n > 1 && path[n - 1] == '/')
        n--;
    if (path[n] == 0)
        return false;
    path[n] = 0;
    return true;
}

/* The nearest folder that is there: `path` cut, or "." where nothing of it is. */
static void cut_to_existing(char *path)
{
    while (*path && !file_exists(path) && cut_to_parent(path))
        ;
}

space space_at(const char *path)
{
    space s = {0};
    struct statvfs v;
    struct statfs kind;
    char *at = strdup(path);
    if (!at)
        return s;
    cut_to_existing(at);
    const char *folder = *at ? at : ".";
    if (statvfs(folder, &v) == 0 && v.f_blocks > 0 && v.f_frsize > 0) {
        s.known = true;
        s.bytes = (uint64_t)(geteuid() == 0 ? v.f_bfree : v.f_bavail) * v.f_frsize; /* what is set apart is for root */
    }
    for (size_t i = 0; i < sizeof packing / sizeof *packing && statfs(folder, &kind) == 0; i++)
        s.packs = s.packs || (unsigned long)kind.f_type == packing[i];
    free(at);
    return s;
}

void space_text(uint64_t bytes, char text[32])
{
    if (bytes >= 1000000000)
        snprintf(text, 32, "%.2f GB", (double)bytes * 1e-9);
    else
        snprintf(text, 32, bytes >= 10000000 ? "%.1f MB" : "%.2f MB", (double)bytes * 1e-6);
}

status made_folder_begin(made_folder *m, const char *path)
{
    char *there;
    if (m->path)
        return STATUS_OK;
    if (!(m->path = strdup(path)) || !(there = strdup(path)))
        return fail(STATUS_RESOURCE, "out of memory for the path %s", path);
    cut_to_existing(there);
    m->before = strlen(there);
    free(there);
    return file_make_folder(path);
}

void made_folder_end(made_folder *m, bool take_back)
{
    while (take_back && m->path && strlen(m->path) > m->before && rmdir(m->path) == 0 && cut_to_parent(m->path))
        ;
    free(m->path);
    *m = (made_folder){0};
}
