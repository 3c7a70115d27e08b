/* Packed inputs on any number of ranks: the parts of the plain ones but for what names the source; faults told as of the plain ones; nothing left. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/comm.h"
#include "common/files.h"
#include "common/hash.h"
#include "store/manifest.h"
#include "store/rowfile.h"
#include "support/csv_trace.h"
#include "support/packed_case.h"
#include "support/stage_case.h"
#include "support/support.h"

enum { INPUTS = 3, PATH = 600, ROWS = 700, SPLIT = 10000 };
static char folder[PATH], plain[INPUTS][PATH], packed[INPUTS][PATH], out[2][PATH];
static char *plain_path[INPUTS], *packed_path[INPUTS];

static void make_paths(void)
{
    if (comm_rank() == 0)
        snprintf(folder, sizeof folder, "%s", support_scratch());
    comm_broadcast(folder, sizeof folder, 0);
    for (int i = 0; i < INPUTS; i++) { /* the same base names: what names the source is its hash alone */
        snprintf(plain[i], PATH, "%.500s/plain/in%d.csv", folder, i);
        snprintf(packed[i], PATH, "%.500s/packed/in%d.csv", folder, i);
        plain_path[i] = plain[i];
        packed_path[i] = packed[i];
    }
    snprintf(out[0], PATH, "%.500s/from-plain", folder);
    snprintf(out[1], PATH, "%.500s/from-packed", folder);
}

/* Input 0 as gzip, 1 as zstd, 2 as it is. `tail` is added to input 1. */
static void write_inputs(const char *tail)
{
    char name[PATH + 20];
    if (comm_rank() == 0) {
        for (int k = 0; k < 2; k++) {
            snprintf(name, sizeof name, "%.500s/%s", folder, k ? "plain" : "packed");
            ck_ok(file_make_folder(name));
        }
        for (int i = 0; i < INPUTS; i++) {
            char *text;
            size_t n;
            FILE *f = open_memstream(&text, &n);
            fputs("id,comment_text,toxic\n", f);
            for (int r = 0; r < ROWS; r++)
                fprintf(f, "%d,\"comment %llu, you\nare number %llu\",%d\n", r, (unsigned long long)support_random(),
                        (unsigned long long)support_below(99), r % 2);
            fputs(i == 1 ? tail : "", f);
            fclose(f);
            trace_write_file(plain[i], text, n);
            uint8_t *p = malloc(2 * n + 1000);
            size_t all = i == 2 ? n : packed_case(i ? PACKED_ZSTD : PACKED_GZIP, (uint8_t *)text, n, 3, p, NULL);
            trace_write_file(packed[i], i == 2 ? (uint8_t *)text : p, all);
            free(p);
            free(text);
        }
    }
    comm_barrier();
}

static status run_stage(bool from_packed, char **report)
{
    size_t n;
    stage_options o;
    stage_case(&o, from_packed ? packed_path : plain_path, INPUTS, out[from_packed]);
    o.split_bytes = SPLIT;
    o.rules.memory = 1 << 20;
    FILE *to = open_memstream(report, &n);
    status st = stage_run(&o, to);
    fclose(to);
    comm_barrier();
    return st;
}

static void same_rows(const char *name)
{
    char path[PATH + 100];
    rowfile *f[2];
    for (int k = 0; k < 2; k++) {
        snprintf(path, sizeof path, "%.500s/%.100s", out[k], name);
        ck_ok(rowfile_open(path, &f[k]));
    }
    int64_t rows = rowfile_rows(f[0]);
    ck_assert_int_eq(rows, rowfile_rows(f[1]));
    for (int64_t i = 0; i < rows; i++) {
        rowfile_row a, b;
        ck_ok(rowfile_read_row(f[0], i, &a));
        ck_ok(rowfile_read_row(f[1], i, &b));
        ck_assert(a.hash == b.hash && a.number == b.number && a.source == b.source && a.text_hash == b.text_hash);
    }
    const rowfile_meta *a = rowfile_get_meta(f[0]), *b = rowfile_get_meta(f[1]);
    for (int i = 0; i < INPUTS; i++) {
        char sha256[65];
        ck_assert_str_eq(a->source[i].name, b->source[i].name);
        ck_ok(hash_sha256_file(packed[i], sha256));
        ck_assert_str_eq(b->source[i].sha256, sha256);
    }
    rowfile_free(f[0]);
    rowfile_free(f[1]);
}

START_TEST(parts_are_those_of_the_plain_files)
{
    char *report[2], **name;
    size_t count;
    manifest m[2];
    make_paths();
    write_inputs("");
    for (int k = 0; k < 2 && comm_rank() == 0; k++) { /* what a killed run has left */
        char left[PATH + 40];
        snprintf(left, sizeof left, "%.500s/.unpacked", out[k]);
        ck_ok(file_make_folder(left));
        snprintf(left, sizeof left, "%.500s/.unpacked/input-00.csv", out[k]);
        trace_write_file(left, "junk", 4);
    }
    comm_barrier();
    for (int k = 0; k < 2; k++)
        ck_ok(run_stage(k, &report[k]));
    if (comm_rank() == 0) {
        ck_assert_ptr_nonnull(strchr(report[0], ':'));
        ck_assert_str_eq(strchr(report[0], ':'), strchr(report[1], ':')); /* behind the folder's name */
        ck_ok(manifest_read(out[0], &m[0]));
        ck_ok(manifest_read(out[1], &m[1]));
        ck_assert_str_eq(m[0].data_identity, m[1].data_identity);
        ck_assert_int_gt(m[0].files, 2 * INPUTS);
        ck_assert_int_eq(m[0].files, m[1].files);
        for (int k = 0; k < 2; k++) {
            ck_ok(file_list(out[k], &name, &count));
            ck_assert_uint_eq(count, (size_t)m[k].files + 1); /* and nothing else */
            file_free_names(name, count);
        }
        for (int64_t i = 0; i < m[0].files; i++) {
            ck_assert_str_eq(m[0].file[i].name, m[1].file[i].name);
            same_rows(m[0].file[i].name);
        }
        manifest_free(&m[0]);
        manifest_free(&m[1]);
    }
    free(report[0]);
    free(report[1]);
    ck_ok(run_stage(true, &report[1]));
    ck_assert(comm_rank() != 0 || strstr(report[1], "done already"));
    free(report[1]);
    comm_barrier();
}
END_TEST

START_TEST(faults_are_those_of_the_plain_files)
{
    char *report, place[2][200];
    make_paths();
    write_inputs("7,ragged\n8,fine,1\n");
    if (comm_rank() == 0)
        for (int k = 0; k < 2; k++)
            ck_ok(file_remove_tree(out[k]));
    comm_barrier();
    for (int k = 0; k < 2; k++) {
        ck_fails(run_stage(k, &report), STATUS_INPUT, "ragged record");
        snprintf(place[k], sizeof place[k], "%.190s", strstr(status_message(), "record "));
        free(report);
        ck_assert(!file_exists(out[k]));
    }
    ck_assert_str_eq(place[0], place[1]);
    ck_assert(strstr(status_message(), "packed/in1.csv (unpacked): record 701, byte ") != NULL);
    comm_barrier();

    /* Cut short, both of them: the first of the command line is told, with its byte. */
    uint64_t bytes = 0;
    char where[PATH];
    ck_ok(file_size(packed[0], &bytes));
    comm_barrier();
    for (int i = 0; i < 2 && comm_rank() == 0; i++)
        ck_assert_int_eq(truncate(packed[i], i ? 3000 : (off_t)bytes - 5), 0);
    comm_barrier();
    snprintf(where, sizeof where, "packed/in0.csv: byte %llu: the gzip data end here", (unsigned long long)bytes - 5);
    ck_fails(run_stage(true, &report), STATUS_INPUT, where);
    free(report);
    ck_assert(!file_exists(out[1]));
}
END_TEST

int main(int argc, char **argv)
{
    return support_run_ranks(argc, argv, "preprocess_packed",
                             (const TTest *[]){parts_are_those_of_the_plain_files, faults_are_those_of_the_plain_files, NULL});
}
