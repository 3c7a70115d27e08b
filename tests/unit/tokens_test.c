/* The parts of the tokenizer one by one: repair of UTF-8, the vocabulary file, settings, identity, what encode() tells besides ids. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "common/files.h"
#include "common/hash.h"
#include "preprocess/tokenizer.h"
#include "preprocess/utf8.h"
#include "preprocess/vocabulary.h"
#include "support/support.h"

#define SPECIALS "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"

static char path[512];

static const char *write_file(const char *folder, const char *name, const char *text, size_t bytes)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(text, 1, bytes, f), bytes);
    ck_assert_int_eq(fclose(f), 0);
    return path;
}

static const char *write_vocabulary(const char *text)
{
    return write_file(support_scratch(), "vocab.txt", text, strlen(text));
}

/* ---- UTF-8 ---- */

/* By trying all code points' encodings: is some u[0..n-1] a whole one, or the beginning of one? */
static bool is_whole(const unsigned char *u, size_t n, bool *begins)
{
    char text[4];
    *begins = false;
    static const uint32_t ranges[][2] = {{0, 0x7F}, {0x80, 0x7FF}, {0x800, 0xD7FF}, {0xE000, 0xFFFF}, {0x10000, 0x10FFFF}};
    for (int r = 0; r < 5; r++) {
        uint32_t low = ranges[r][0], high = ranges[r][1];
        while (low < high) { /* encodings ascend with code points */
            uint32_t middle = low + (high - low) / 2;
            size_t bytes = utf8_put(middle, text);
            if (memcmp(text, u, bytes < n ? bytes : n) < 0)
                low = middle + 1;
            else
                high = middle;
        }
        size_t bytes = utf8_put(low, text);
        if (n <= bytes && memcmp(text, u, n) == 0) {
            *begins = true;
            return n == bytes;
        }
    }
    return false;
}

static size_t replace_slowly(const unsigned char *u, size_t n, char *out, int64_t *replaced)
{
    size_t written = 0;
    *replaced = 0;
    for (size_t i = 0; i < n;) {
        size_t take = 1;
        bool begins = false, whole = is_whole(u + i, 1, &begins);
        while (!whole && begins && i + take < n) {
            bool more;
            bool next = is_whole(u + i, take + 1, &more);
            if (!more && !next)
                break;
            take++;
            whole = next;
        }
        memcpy(out + written, whole ? (const char *)u + i : "\xEF\xBF\xBD", whole ? take : 3);
        written += whole ? take : 3;
        *replaced += !whole;
        i += take;
    }
    return written;
}

START_TEST(utf8_repair)
{
    static const unsigned char leads[] = {0x00, 0x41, 0x7F, 0x80, 0x9F, 0xA0, 0xBF, 0xC0, 0xC2, 0xDF, 0xE0,
                                          0xE1, 0xED, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5, 0xFF, 0x8F, 0x90};
    for (int round = 0; round < 20000; round++) {
        unsigned char text[40];
        char want[120], got[120];
        int64_t replaced, counted;
        size_t n = support_below(sizeof text);
        for (size_t i = 0; i < n; i++)
            text[i] = support_below(3) ? leads[support_below(sizeof leads)] : (unsigned char)support_below(256);
        size_t bytes = replace_slowly(text, n, want, &replaced);
        bool same = utf8_replaced_bytes((const char *)text, n, &counted) == bytes && counted == replaced &&
                    utf8_replace((const char *)text, n, got) == bytes && memcmp(got, want, bytes) == 0 &&
                    (utf8_valid_prefix((const char *)text, n) == n) == (replaced == 0);
        ck_assert_msg(same, "round %d of this seed", round);
    }
}
END_TEST

/* Valid text of `n` bytes at least; returns its bytes, at most three more. */
static size_t valid_text(unsigned char *to, size_t n)
{
    static const uint32_t from[] = {0, 0x80, 0x800, 0x10000, 0xD800 - 0x40, 0xE000, 0x10FFC0}, span[] = {0x80, 0x780, 0xD000, 0x100000, 0x40, 0x40, 0x40};
    size_t bytes = 0, most = 1 + support_below(7);
    while (bytes < n) {
        uint64_t kind = support_below(most);
        bytes += utf8_put((uint32_t)(from[kind] + support_below(span[kind])), (char *)to + bytes);
    }
    return bytes;
}

/* Texts long enough for whole vectors, with one fault: what every other byte says is that all is well. */
START_TEST(utf8_one_fault)
{
    static const char *const faults[] = {"\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xED\xBF\xBF", "\xF0\x80\x80\x80",
                                         "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xF7\xBF\xBF\xBF", "\xF8\x88\x80\x80\x80", "\xFF",
                                         "\xFE\x80", "\x80", "\xBF", "\xC2", "\xDF", "\xE1\x80", "\xEF", "\xF1\x80\x80", "\xF4\x80", "\xF0\x90"};
    for (int round = 0; round < 20000; round++) {
        unsigned char text[170];
        char want[600], got[600];
        int64_t replaced, counted;
        size_t n = valid_text(text, 35 + support_below(116)), at = support_below(n);
        ck_assert_msg(utf8_valid_prefix((char *)text, n) == n, "valid text, round %d of this seed", round);
        if (support_below(4) == 0) {
            text[at] = (unsigned char)support_below(256);
        } else {
            const char *fault = faults[support_below(sizeof faults / sizeof faults[0])];
            size_t bytes = strlen(fault);
            while (at < n && (text[at] & 0xC0) == 0x80)
                at++;
            memmove(text + at + bytes, text + at, n - at);
            memcpy(text + at, fault, bytes);
            n += bytes;
        }
        size_t bytes = replace_slowly(text, n, want, &replaced), valid = utf8_valid_prefix((char *)text, n);
        bool same = utf8_replaced_bytes((char *)text, n, &counted) == bytes && counted == replaced && utf8_replace((char *)text, n, got) == bytes &&
                    memcmp(got, want, bytes) == 0 && (valid == n) == (replaced == 0) && memcmp(want, text, valid) == 0 &&
                    (valid == n || memcmp(want + valid, "\xEF\xBF\xBD", 3) == 0);
        ck_assert_msg(same, "round %d of this seed: a fault at byte %zu of %zu", round, at, n);
    }
}
END_TEST

START_TEST(utf8_known)
{
    static const struct {
        const char *from, *to;
        int64_t replaced;
    } known[] = {{"a\xFF"
                  "b",
                  "a\xEF\xBF\xBD"
                  "b",
                  1},
                 {"\xE2\x82", "\xEF\xBF\xBD", 1},
                 {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD", 3},
                 {"\xF0\x90\x80x", "\xEF\xBF\xBDx", 1},
                 {"\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD", 2},
                 {"\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF", 0}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        char out[16];
        int64_t replaced;
        size_t n = utf8_replaced_bytes(known[i].from, strlen(known[i].from), &replaced);
        ck_assert_int_eq(replaced, known[i].replaced);
        ck_assert_uint_eq(utf8_replace(known[i].from, strlen(known[i].from), out), n);
        ck_assert_uint_eq(n, strlen(known[i].to));
        ck_assert_mem_eq(out, known[i].to, n);
    }
}
END_TEST

/* ---- the vocabulary ---- */

static uint32_t id_of(const vocabulary *v, const char *piece)
{
    uint32_t id = UINT32_MAX;
    vocabulary_find(v, piece, strlen(piece), &id);
    return id;
}

START_TEST(vocabulary_lines)
{
    vocabulary v;
    ck_ok(vocabulary_read(write_vocabulary(SPECIALS "a\xE2\x80\xA8"
                                                    "b\r\ntwin\n ##c \n\ntwin\rlast"),
                          &v));
    ck_assert_int_eq(v.count, 11);
    ck_assert_uint_eq(id_of(&v, "a\xE2\x80\xA8"
                                "b"),
                      5);
    ck_assert_uint_eq(id_of(&v, " ##c "), 7);
    ck_assert_uint_eq(id_of(&v, "twin"), 9);
    ck_assert_uint_eq(id_of(&v, "last"), 10);
    ck_assert_uint_eq(id_of(&v, "las"), UINT32_MAX);
    ck_assert_uint_eq(id_of(&v, "lasts"), UINT32_MAX);
    ck_assert_uint_eq(id_of(&v, ""), UINT32_MAX);
    ck_assert_ptr_null(vocabulary_piece(&v, 6));
    ck_assert_ptr_null(vocabulary_piece(&v, 11));
    ck_assert_uint_eq(vocabulary_piece(&v, 8)->bytes, 0);
    ck_assert_uint_eq(v.special[VOCABULARY_MASK], 4);
    vocabulary_free(&v);
}
END_TEST

START_TEST(vocabulary_refused)
{
    vocabulary v;
    ck_fails(vocabulary_read(write_vocabulary(""), &v), STATUS_INPUT, "empty");
    ck_fails(vocabulary_read(write_vocabulary("[PAD]\n[UNK]\n[CLS]\n[MASK]\na\n"), &v), STATUS_INPUT, "no line [SEP]");
    ck_fails(vocabulary_read(write_vocabulary("\xEF\xBB\xBF" SPECIALS), &v), STATUS_INPUT, "byte-order mark");
    ck_fails(vocabulary_read(write_vocabulary(SPECIALS "ok\nb\xFFz\n"), &v), STATUS_INPUT, "line 7, byte 35");
    ck_fails(vocabulary_read("/nowhere/vocab.txt", &v), STATUS_INPUT, "/nowhere/vocab.txt");
    tokenizer *t;
    ck_fails(tokenizer_create(support_scratch(), NULL, &t), STATUS_INPUT, "vocab.txt");
}
END_TEST

/* A large random vocabulary: every piece is found, others are not. */
START_TEST(trie_holds_all)
{
    enum { PIECES = 20000, LONGEST = 12 };
    static char text[PIECES * (LONGEST + 1) + 64];
    size_t n = strlen(SPECIALS);
    memcpy(text, SPECIALS, n);
    for (int i = 0; i < PIECES; i++) {
        for (uint64_t k = 1 + support_below(LONGEST); k > 0; k--)
            text[n++] = (char)('a' + support_below(support_below(2) ? 26 : 3));
        text[n++] = '\n';
    }
    vocabulary v;
    ck_ok(vocabulary_read(write_file(support_scratch(), "vocab.txt", text, n), &v));
    for (int64_t i = 0; i < v.count; i++) {
        const wordpiece_key *k = &v.piece[i];
        uint32_t id, none;
        bool right = vocabulary_find(&v, k->text, k->bytes, &id) && id == v.piece[id].id && id >= i && /* of equal lines the last one's */
                     v.piece[id].bytes == k->bytes && memcmp(v.piece[id].text, k->text, k->bytes) == 0 &&
                     !vocabulary_find(&v, k->text, k->bytes + 1, &none); /* with its line end */
        ck_assert_msg(right, "line %lld", (long long)i);
    }
    vocabulary_free(&v);
}
END_TEST

/* ---- settings and identity ---- */

static status create_with(const char *config, tokenizer_choice lower, const char *pieces, tokenizer **t)
{
    char folder[400], text[512];
    snprintf(folder, sizeof folder, "%s", support_scratch());
    int n = snprintf(text, sizeof text, SPECIALS "%s", pieces);
    write_file(folder, "vocab.txt", text, (size_t)n);
    if (config)
        write_file(folder, "tokenizer_config.json", config, strlen(config));
    return tokenizer_create(folder, &(tokenizer_settings){.lower_case = lower}, t);
}

START_TEST(lower_case_choice)
{
    static const struct {
        const char *config;
        tokenizer_choice asked;
        const char *pieces;
        bool lower;
    } known[] = {{"{\"do_lower_case\": false}", TOKENIZER_AUTO, "a\n", false},
                 {"{\"do_lower_case\": true}", TOKENIZER_AUTO, "A\n", true},
                 {"{\"do_lower_case\": false}", TOKENIZER_YES, "a\n", true},
                 {"{}", TOKENIZER_AUTO, "a\n[X]\n<S>\n", true},
                 {NULL, TOKENIZER_AUTO, "a\n", true},
                 {NULL, TOKENIZER_NO, "A\n", false}};
    tokenizer *t;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        ck_ok(create_with(known[i].config, known[i].asked, known[i].pieces, &t));
        ck_assert_int_eq(tokenizer_lower_case(t), known[i].lower);
        tokenizer_free(t);
    }
    ck_fails(create_with(NULL, TOKENIZER_AUTO, "A\n", &t), STATUS_INPUT, "--lower no");
    ck_fails(create_with("{\"do_lower_case\": 1}", TOKENIZER_AUTO, "a\n", &t), STATUS_INPUT, "\"do_lower_case\" is neither");
    ck_fails(create_with("[", TOKENIZER_AUTO, "a\n", &t), STATUS_INPUT, "not a JSON object");
    ck_fails(create_with("[]", TOKENIZER_AUTO, "a\n", &t), STATUS_INPUT, "not a JSON object");
    ck_fails(create_with("{\"sep_token\": \"</s>\"}", TOKENIZER_AUTO, "a\n", &t), STATUS_INPUT, "\"sep_token\" is not [SEP]");
    ck_fails(create_with("{\"do_basic_tokenize\": false}", TOKENIZER_AUTO, "a\n", &t), STATUS_INPUT, "do_basic_tokenize");
}
END_TEST

START_TEST(identity)
{
    tokenizer *t;
    char *text, want[512], sha[HASH_HEX];
    ck_ok(create_with("{\"do_lower_case\": true, \"strip_accents\": false}", TOKENIZER_AUTO, "a\n", &t));
    ck_ok(tokenizer_identity(t, &(tokenizer_row_rules){.max_tokens = 0, .na = "pandas", .fill = "no\nne\\"}, &text));
    ck_ok(hash_sha256_buffer(SPECIALS "a\n", strlen(SPECIALS "a\n"), sha));
    snprintf(want, sizeof want,
             "algorithm=wordpiece\ncjk=yes\nclean=none\nfill=no\\nne\\\\\nlower=yes\nmatch=python\nmax_tokens=none\nna=pandas\n"
             "strip_accents=no\nunicode=14.0.0\nvocab=%s\n",
             sha);
    ck_assert_str_eq(text, want);
    free(text);
    ck_ok(tokenizer_identity(t, &(tokenizer_row_rules){.max_tokens = 512, .na = "keep"}, &text));
    ck_assert_ptr_nonnull(strstr(text, "\nmax_tokens=512\nna=keep\n"));
    free(text);
    tokenizer_free(t);
    ck_ok(tokenizer_create(write_vocabulary(SPECIALS "a\n"), &(tokenizer_settings){.match = TOKENIZER_MATCH_RUST}, &t));
    ck_ok(tokenizer_identity(t, &(tokenizer_row_rules){0}, &text));
    ck_assert_ptr_nonnull(strstr(text, "\nmatch=rust\n"));
    free(text);
    tokenizer_free(t);
}
END_TEST

/* ---- encode ---- */

static tokenizer_tokens encode(const tokenizer *t, tokenizer_scratch *s, const char *text, size_t n)
{
    tokenizer_tokens k;
    ck_ok(tokenizer_encode(t, s, text, n, &k));
    return k;
}

START_TEST(what_encode_tells)
{
    tokenizer *t;
    tokenizer_scratch *s;
    ck_ok(create_with(NULL, TOKENIZER_YES, "a\nb\n##b\n", &t));
    ck_ok(tokenizer_scratch_create(t, &s));
    tokenizer_tokens k = encode(t, s, "\t AB  \xC2\xA0 zz [UNK]\n", 18);
    ck_assert_int_eq(k.count, 4);
    ck_assert_int_eq(k.unknown, 2);
    ck_assert_uint_eq(k.ids[0], 5);
    ck_assert_uint_eq(k.ids[1], 7);
    ck_assert_uint_eq(tokenizer_text_hash(&k), hash_xxh3("AB zz [UNK]", 11) & TOKENIZER_TEXT_HASH);
    k = encode(t, s, "a\xFF b", 4);
    ck_assert_int_eq(k.replaced, 1);
    ck_assert_int_eq(k.count, 2);
    ck_assert_uint_eq(tokenizer_text_hash(&k), hash_xxh3("a\xEF\xBF\xBD b", 6) & TOKENIZER_TEXT_HASH);
    k = encode(t, s, NULL, 0);
    ck_assert_int_eq(k.count, 0);
    ck_assert_uint_eq(tokenizer_text_hash(&k), hash_xxh3("", 0) & TOKENIZER_TEXT_HASH);
    tokenizer_scratch_free(s);
    tokenizer_free(t);
}
END_TEST

/* A text of many megabytes without a space, and one of words over the limit of 100 code points. */
START_TEST(long_texts)
{
    enum { BYTES = 8 << 20 };
    tokenizer *t;
    tokenizer_scratch *s;
    char *text;
    ck_ok(create_with(NULL, TOKENIZER_YES, "a\nb\n##b\n##a\n", &t));
    ck_ok(tokenizer_scratch_create(t, &s));
    ck_ok(memory_new(&text, BYTES, "a long text"));
    memset(text, 'a', BYTES);
    tokenizer_tokens k = encode(t, s, text, BYTES);
    ck_assert_int_eq(k.count, 1);
    ck_assert_int_eq(k.unknown, 1);
    k = encode(t, s, text, 100);
    ck_assert_int_eq(k.count, 100);
    k = encode(t, s, text, 101);
    ck_assert_int_eq(k.count, 1);
    memset(text, '.', BYTES);
    k = encode(t, s, text, BYTES);
    ck_assert_int_eq(k.count, BYTES);
    for (int i = 0; i + 1 < BYTES; i += 2)
        memcpy(text + i, i ? "\xCC\x81" : "ab", 2);
    k = encode(t, s, text, BYTES);
    ck_assert_int_eq(k.count, 2);
    free(text);
    tokenizer_scratch_free(s);
    tokenizer_free(t);
}
END_TEST

int main(void)
{
    return support_run("tokens", (const TTest *[]){utf8_repair, utf8_one_fault, utf8_known, vocabulary_lines, vocabulary_refused, trie_holds_all,
                                                   lower_case_choice, identity, what_encode_tells, long_texts, NULL});
}
