/* Files: whole or not at all, clear errors, hashes. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/files.h"
#include "common/hash.h"
#include "common/large_file.h"
#include "support/support.h"

static const char *in(const char *folder, const char *name)
{
    static char path[4][400];
    static int turn;
    char *p = path[turn++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", folder, name);
    return p;
}

START_TEST(atomic_writes)
{
    const char *d = support_scratch();
    ck_ok(file_write_atomic(in(d, "a/b/c.txt"), "first", 5));
    atomic_file f;
    ck_ok(file_atomic_begin(in(d, "a/b/c.txt"), &f));
    fputs("second, half", f.stream);
    fflush(f.stream);
    char *text;
    size_t n;
    ck_ok(file_read_all(in(d, "a/b/c.txt"), 0, &text, &n)); /* the old one stands until the commit */
    ck_assert_str_eq(text, "first");
    free(text);
    ck_ok(file_atomic_commit(&f));
    file_atomic_abandon(&f); /* fine afterwards */
    ck_ok(file_read_all(in(d, "a/b/c.txt"), 0, &text, &n));
    ck_assert_str_eq(text, "second, half");
    free(text);
    ck_ok(file_atomic_begin(in(d, "a/b/c.txt"), &f));
    fputs("third", f.stream);
    file_atomic_abandon(&f);
    char **names;
    ck_ok(file_list(in(d, "a/b"), &names, &n));
    ck_assert_uint_eq(n, 1); /* nothing temporary is left */
    file_free_names(names, n);
    ck_ok(file_remove_tree(in(d, "a")));
    ck_assert(!file_exists(in(d, "a")));
    ck_ok(file_remove_tree(in(d, "a")));
}
END_TEST

START_TEST(claims_and_leftovers)
{
    const char *d = support_scratch();
    int one, two;
    ck_ok(file_claim_folder(d, 0, &one));
    ck_assert_int_ge(one, 0);
    ck_fails(file_claim_folder(d, 0, &two), STATUS_IO, "another process is writing there");
    ck_assert_int_eq(two, -1);
    file_release_folder(&one);
    file_release_folder(&one);
    ck_ok(file_claim_folder(d, 0, &two));
    ck_ok(file_write_atomic(in(d, "last"), "x", 1));
    ck_ok(file_write_atomic(in(d, "last.tmp-123"), "x", 1));
    ck_ok(file_write_atomic(in(d, "notes.tmp-x1"), "x", 1)); /* not of ours */
    ck_ok(file_remove_temporaries(d));
    ck_assert(!file_exists(in(d, "last.tmp-123")) && file_exists(in(d, "last")) && file_exists(in(d, "notes.tmp-x1")));
    file_release_folder(&two);
}
END_TEST

START_TEST(errors_say_what)
{
    const char *d = support_scratch();
    char *text;
    size_t n;
    ck_fails(file_read_all(in(d, "none"), 0, &text, &n), STATUS_INPUT, "no such file");
    ck_fails(file_read_all(d, 0, &text, &n), STATUS_INPUT, "is a folder");
    ck_ok(file_write_atomic(in(d, "small"), "12345", 5));
    ck_fails(file_read_all(in(d, "small"), 4, &text, &n), STATUS_INPUT, "more than the 4");
    char five[8];
    ck_fails(file_read_at(in(d, "small"), 2, five, 4), STATUS_INPUT, "ends at byte 5");
    ck_fails(file_make_folder(in(d, "small")), STATUS_IO, "a file stands where");
    if (access("/dev/full", W_OK) == 0) { /* a full disk shows at the flush */
        atomic_file f;
        ck_ok(file_atomic_begin(in(d, "full"), &f));
        fclose(f.stream);
        f.stream = fopen("/dev/full", "w");
        fputs("text", f.stream);
        ck_fails(file_atomic_commit(&f), STATUS_IO, "no space left");
        ck_assert(!file_exists(in(d, "full")));
    }
}
END_TEST

/* Bytes and hash whatever the cuts between additions, below and above the block and the run; an old file's end does not stay; nothing is left behind
 * an error. */
START_TEST(large_files)
{
    enum { N = 21000000 };
    support_seed();
    const char *d = support_scratch(), *path = in(d, "large");
    char *bytes = malloc(N), *text;
    large_file f;
    uint64_t hash;
    size_t n;
    for (size_t i = 0; i < N; i++)
        bytes[i] = (char)(i * 2654435761u >> 13);
    for (int turn = 0; turn < 3; turn++) {
        size_t whole = turn == 0 ? N : 1 + support_below(N);
        ck_ok(large_file_begin(path, whole, LARGE_FILE_HASHED, &f));
        for (size_t at = 0, part; at < whole; at += part) {
            part = 1 + support_below(turn == 1 ? 3000000 : 9000000);
            part = part < whole - at ? part : whole - at;
            ck_ok(large_file_add(&f, bytes + at, part));
        }
        ck_ok(large_file_end(&f, &hash));
        large_file_abandon(&f); /* fine afterwards */
        ck_assert_uint_eq(hash, hash_xxh3(bytes, whole));
        ck_ok(file_read_all(path, 0, &text, &n));
        ck_assert(n == whole && memcmp(text, bytes, n) == 0);
        free(text);
    }
    ck_ok(large_file_begin(path, 0, LARGE_FILE_PLAIN, &f));
    ck_ok(large_file_add(&f, bytes, 100));
    large_file_abandon(&f);
    ck_assert(!file_exists(path));
    ck_fails(large_file_begin(in(d, "none/large"), 0, LARGE_FILE_HASHED, &f), STATUS_IO, "none/large");
    if (access("/dev/full", W_OK) == 0) {
        ck_ok(file_make_folder(in(d, "links")));
        ck_assert_int_eq(symlink("/dev/full", in(d, "links/full")), 0);
        ck_ok(large_file_begin(in(d, "links/full"), 33600000, LARGE_FILE_PLAIN, &f));
        ck_fails(large_file_add(&f, bytes, 100), STATUS_IO, "no space left for its 33.6 MB");
        large_file_abandon(&f);
    }
    free(bytes);
}
END_TEST

START_TEST(hashes)
{
    char hex[HASH_HEX];
    ck_ok(hash_sha256_buffer("abc", 3, hex));
    ck_assert_str_eq(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    const char *d = support_scratch();
    ck_ok(file_write_atomic(in(d, "abc"), "abc", 3));
    ck_ok(hash_sha256_file(in(d, "abc"), hex));
    ck_assert_str_eq(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    ck_assert_uint_eq(hash_xxh3("", 0), 0x2d06800538d394c2u);
    /* a sum of mixes sees an exchange of two elements, a lost one and a changed bit */
    uint64_t a = hash_mix64(0, 7) + hash_mix64(1, 9), b = hash_mix64(0, 9) + hash_mix64(1, 7);
    ck_assert(a != b && a != hash_mix64(0, 7) && a != hash_mix64(0, 6) + hash_mix64(1, 9));
}
END_TEST

int main(void)
{
    return support_run("files", (const TTest *[]){atomic_writes, claims_and_leftovers, errors_say_what, large_files, hashes, NULL});
}
