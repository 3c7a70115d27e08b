/* manifest.json: comes back as written, faulty ones are refused by name, and the files it names are checked. */
#include "store/manifest.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files.h"
#include "common/hash.h"
#include "store/difference.h"
#include "support/rows.h"
#include "support/support.h"

START_TEST(comes_back)
{
    const char *folder = support_scratch();
    char stage[] = "shard", inputs[] = "a 1\nb 2\n", none[] = "", tokenizer[] = "k=v \"quoted\" \xc3\xa9\n\n", a[] = "a.h5", b[] = "b.h5";
    char bad[] = "\xff";
    manifest m = {.stage = stage, .inputs = inputs, .identity = none, .tokenizer = tokenizer, .files = 2,
                  .file = (manifest_file[]){{a, 3, 40, 1000, {0}}, {b, 0, 0, UINT32_MAX, {0}}}, .rows = 3, .tokens = 40}, r;
    memset(m.data_identity, 'a', 64);
    memset(m.file[0].sha256, '0', 64);
    memset(m.file[1].sha256, 'f', 64);
    ck_ok(manifest_write(folder, &m));
    ck_ok(manifest_read(folder, &r));
    ck_assert_str_eq(r.stage, m.stage);
    ck_assert_str_eq(r.inputs, m.inputs);
    ck_assert_str_eq(r.identity, m.identity);
    ck_assert_str_eq(r.tokenizer, m.tokenizer);
    ck_assert_str_eq(r.data_identity, m.data_identity);
    ck_assert(r.files == 2 && r.rows == 3 && r.tokens == 40);
    for (int i = 0; i < 2; i++) {
        ck_assert_str_eq(r.file[i].name, m.file[i].name);
        ck_assert_str_eq(r.file[i].sha256, m.file[i].sha256);
        ck_assert(r.file[i].rows == m.file[i].rows && r.file[i].tokens == m.file[i].tokens && r.file[i].bytes == m.file[i].bytes);
    }
    manifest_free(&r);
    m.inputs = bad;
    ck_fails(manifest_write(folder, &m), STATUS_INPUT, "UTF-8");
}
END_TEST

/* Without the syncs of an atomic write, of which there would be thousands. */
static void put(const char *path, const char *text, size_t bytes)
{
    FILE *f = fopen(path, "wb");
    ck_assert(f && fwrite(text, 1, bytes, f) == bytes && fclose(f) == 0);
}

START_TEST(faulty_ones_are_refused)
{
    const char *folder = support_scratch();
    char *path, *text;
    size_t bytes;
    manifest m;
    test_rows t;
    ck_fails(manifest_read("/no/such/folder", &m), STATUS_INPUT, "no such folder");
    ck_fails(manifest_read(folder, &m), STATUS_INPUT, "run the stage");
    rows_make(&t, 100, 1, 10);
    rows_write_folder(&t, 3, folder);
    ck_ok(file_join(folder, "manifest.json", &path));
    ck_ok(file_read_all(path, 0, &text, &bytes));
    for (size_t i = 0; i < 2 * bytes; i++) { /* every byte changed once, and a cut at every byte */
        size_t at = i / 2, n = i % 2 ? bytes : at;
        char was = text[at], change = (char)(1 + support_below(255));
        if (i % 2)
            text[at] ^= change;
        put(path, text, n);
        text[at] = was;
        ck_fails(manifest_read(folder, &m), STATUS_INPUT, "manifest.json");
    }
    for (size_t at = 0; at < bytes; at++) { /* another digit, which is still well formed */
        char was = text[at];
        if (!isxdigit((unsigned char)was))
            continue;
        text[at] = was == '0' ? '1' : '0';
        put(path, text, bytes);
        text[at] = was;
        ck_fails(manifest_read(folder, &m), STATUS_INPUT, "manifest.json");
    }
    text[bytes - 1] = ' ';
    put(path, text, bytes);
    ck_fails(manifest_read(folder, &m), STATUS_INPUT, "its own SHA-256");
    text[bytes - 1] = '\n';
    put(path, text, bytes);
    ck_ok(manifest_read(folder, &m));
    manifest_free(&m);
    free(text), free(path);
    rows_free(&t);
}
END_TEST

/* Sealed as they should be, yet not what a manifest is: whatever comes, it is read or refused, without a crash. */
START_TEST(sealed_nonsense_never_crashes)
{
    const char *folder = support_scratch();
    char *path, *text, *copy, hex[HASH_HEX];
    size_t bytes;
    manifest m;
    test_rows t;
    rows_make(&t, 100, 1, 10);
    rows_write_folder(&t, 3, folder);
    ck_ok(file_join(folder, "manifest.json", &path));
    ck_ok(file_read_all(path, 0, &text, &bytes));
    size_t body = bytes - strlen(" \"sha256\": \"\"\n}\n") - 64;
    ck_ok(memory_new(&copy, bytes + 1, "a manifest"));
    for (int i = 0; i < 2000; i++) {
        memcpy(copy, text, body);
        for (uint64_t k = support_below(3); k > 0; k--)
            copy[support_below(body)] = (char)support_below(256);
        ck_ok(hash_sha256_buffer(copy, body, hex));
        size_t n = body + (size_t)snprintf(copy + body, bytes + 1 - body, " \"sha256\": \"%s\"\n}\n", hex);
        put(path, copy, n);
        status st = manifest_read(folder, &m);
        ck_assert_msg(st == STATUS_OK || (st == STATUS_INPUT && strstr(status_message(), "manifest.json")), "%s", status_message());
        if (st == STATUS_OK)
            manifest_free(&m);
    }
    free(copy), free(text), free(path);
    rows_free(&t);
}
END_TEST

START_TEST(files_are_checked)
{
    const char *folder = support_scratch();
    char *path, *bytes;
    size_t size;
    manifest m;
    test_rows t;
    rows_make(&t, 100, 1, 10);
    rows_write_folder(&t, 3, folder);
    ck_ok(manifest_read(folder, &m));
    ck_ok(manifest_check(folder, &m, true));
    ck_ok(file_join(folder, m.file[1].name, &path));
    ck_ok(file_read_all(path, 0, &bytes, &size));
    bytes[size / 2] ^= 4;
    ck_ok(file_write_atomic(path, bytes, size));
    ck_ok(manifest_check(folder, &m, false));
    ck_fails(manifest_check(folder, &m, true), STATUS_INPUT, m.file[1].name);
    ck_ok(manifest_check_file(folder, &m, 0, true));
    ck_ok(file_write_atomic(path, bytes, size - 1));
    ck_fails(manifest_check(folder, &m, false), STATUS_INPUT, m.file[1].name);
    ck_ok(file_remove(path));
    ck_fails(manifest_check(folder, &m, false), STATUS_INPUT, "is missing");
    free(bytes), free(path);
    manifest_free(&m);
    rows_free(&t);
}
END_TEST

START_TEST(what_differs)
{
    char text[DIFFERENCE_TEXT];
    difference_settings("lower=yes\nmatch=python\n", "match=python\nlower=yes\n", " where ", text);
    ck_assert_str_eq(text, "");
    difference_settings("lower=yes\nclean=urls\nmatch=python\n", "lower=no\nmatch=python\nna=keep\n", " where ", text);
    ck_assert_str_eq(text, "'lower=yes' where 'lower=no', 'clean=urls' where nothing, nothing where 'na=keep'");
    difference_settings("vocab=0123456789012345678901234567890123456789012345678901234567890123", "vocab=1", " where ", text);
    ck_assert_str_eq(text, "'vocab=012345678901234567890123456789012345678901...' where 'vocab=1'");
    difference_inputs("a b.csv 11\nc.csv 22\nd.csv 33\n", "c.csv 22\na b.csv 12\ne.csv 44\n", text);
    ck_assert_str_eq(text, "a b.csv has changed; d.csv is left out now; e.csv is added");
    difference_inputs("tokens/a rows=3 data=1 made=2\nb rows=1 data=1 made=1", "tokens/a rows=3 data=1 made=3\nb rows=1 data=1 made=1", text);
    ck_assert_str_eq(text, "tokens/a has changed");
    difference_inputs("a 1\nb 2\n", "b 2\na 1\n", text);
    ck_assert_str_eq(text, "they come in another order or number");
}
END_TEST

int main(void)
{
    return support_run("manifest", (const TTest *[]){comes_back, faulty_ones_are_refused, sealed_nonsense_never_crashes, files_are_checked, what_differs, NULL});
}
