/* Cleaning: what each step does on known texts, their order, their names; and a filter for clean_reference.py, which compares with Python's own
 * re and html.
 *     clean STEPS < records > records        a record: u32 length (little-endian), then so many bytes of UTF-8 */
#include <stdio.h>

#include "common/hash.h"
#include "preprocess/clean.h"
#include "preprocess/tokenizer.h"
#include "support/support.h"

static clean_buffer buffer;

static void expect(unsigned steps, const char *text, const char *want)
{
    const char *out;
    size_t bytes;
    ck_ok(clean_text(steps, &buffer, text, strlen(text), &out, &bytes));
    ck_assert_msg(bytes == strlen(want) && memcmp(out, want, bytes) == 0, "'%s' became '%.*s', not '%s'", text, (int)bytes, out, want);
    ck_assert_int_eq(out != text, strcmp(text, want) != 0);
}

START_TEST(known)
{
    expect(0, "&amp; @a http://a 1.2.3.4 aaaa", "&amp; @a http://a 1.2.3.4 aaaa");
    expect(CLEAN_ALL, "", "");
    expect(CLEAN_ENTITIES, "a &lt;b&gt; &amp;amp; &notit; &notin; &#x41;&#66;&#128;&#0;&#xD800;&#1; &#; &x; &", "a <b> &amp; ¬it; ∉ AB€\xEF\xBF\xBD\xEF\xBF\xBD &#; &x; &");
    expect(CLEAN_ENTITIES, "&nLt;&nLt;&nLt;&nLt;", "≪⃒≪⃒≪⃒≪⃒");
    expect(CLEAN_ENTITIES, "&#99999999999999999999999;&AMP&ampere", "\xEF\xBF\xBD&&ere");
    expect(CLEAN_ENTITIES, "&lang x &alpha, &hearts", "&lang x &alpha, &hearts"); /* these are known with their semicolon alone */
    expect(CLEAN_URLS, "see HTTPS://x.org/a?b#c, (www.y.z) awww.so http:// www. _www.q", "see   (  awww.so http:// www. _ ");
    expect(CLEAN_URLS, "http://a\xE3\x80\x80see", " \xE3\x80\x80see");
    expect(CLEAN_MENTIONS, "@user: hi @@you a@b.c \xD1\x8F@\xC3\xA9t\xC3\xA9_1 @", " : hi @  a@b.c \xD1\x8F  @");
    expect(CLEAN_IPS, "1.2.3.4. 1234.1.1.1 1.1.1.1234 999.0.0.1.5 a10.0.0.1b 1.2.3", " . 1234.1.1.1 1.1.1.1234  .5 a b 1.2.3");
    expect(CLEAN_REPEATS, "cooool!!!! 10000 aa \xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9 AaA", "cool!! 10000 aa \xC3\xA9\xC3\xA9 AaA");
    expect(CLEAN_REPEATS, "\n\n\n\n\t\t\t", "\n\n\n\n\t\t");
    expect(CLEAN_ALL, "&commat;bob http&colon;//x 1&period;2.3.4 &#97;&#97;&#97;", "  aa");
}
END_TEST

START_TEST(names)
{
    unsigned steps;
    char name[CLEAN_NAME], unknown[] = "urls,tags";
    for (unsigned all = 0; all <= CLEAN_ALL; all++) {
        clean_name(all, name);
        ck_ok(clean_read(name, &steps));
        ck_assert_uint_eq(steps, all);
    }
    ck_assert_str_eq(name, "entities,urls,mentions,ips,repeats");
    ck_ok(clean_read("repeats,urls", &steps));
    ck_assert_uint_eq(steps, CLEAN_URLS | CLEAN_REPEATS);
    ck_fails(clean_read(unknown, &steps), STATUS_USAGE, "'tags'");
    ck_fails(clean_read("urls,", &steps), STATUS_USAGE, "''");
    ck_fails(clean_read_list(&(option_list){(char *[]){unknown}, 1}, &steps), STATUS_USAGE, "'urls,tags'");
    ck_ok(clean_read_list(&(option_list){(char *[]){(char[]){"none"}}, 1}, &steps));
    ck_assert_uint_eq(steps, 0);
}
END_TEST

/* The tokenizer repairs, cleans, then splits and joins; the identity says what was done. */
START_TEST(in_the_tokenizer)
{
    tokenizer *t, *plain;
    tokenizer_scratch *s;
    tokenizer_tokens k;
    char *text, *vocab = strdup(support_source("sample/model"));
    ck_ok(tokenizer_create(vocab, &(tokenizer_settings){.clean = CLEAN_ALL}, &t));
    ck_ok(tokenizer_scratch_create(t, &s));
    const char given[] = "  @a &lt;\xFF  sooo www.b ";
    ck_ok(tokenizer_encode(t, s, given, sizeof given - 1, &k));
    const char want[] = "<\xEF\xBF\xBD soo";
    ck_assert(k.cleaned && k.replaced == 1 && k.text_bytes == sizeof want - 1 && memcmp(k.text, want, sizeof want - 1) == 0);
    ck_assert_uint_eq(tokenizer_text_hash(&k), hash_xxh3(want, sizeof want - 1) & TOKENIZER_TEXT_HASH);
    ck_ok(tokenizer_prepare(t, s, " a  b ", 6, &k));
    ck_assert(!k.cleaned && k.count == 0 && k.text_bytes == 3 && memcmp(k.text, "a b", 3) == 0);
    ck_ok(tokenizer_encode(t, s, "@a", 2, &k));
    ck_assert(k.cleaned && k.count == 0 && k.text_bytes == 0);
    tokenizer_scratch_free(s);
    ck_ok(tokenizer_identity(t, &(tokenizer_row_rules){0}, &text));
    ck_assert_ptr_nonnull(strstr(text, "\nclean=entities,urls,mentions,ips,repeats\n"));
    free(text);
    ck_ok(tokenizer_create(vocab, NULL, &plain));
    ck_ok(tokenizer_identity(plain, &(tokenizer_row_rules){0}, &text));
    ck_assert_ptr_nonnull(strstr(text, "\nclean=none\n"));
    free(text);
    free(vocab);
    tokenizer_free(plain);
    tokenizer_free(t);
}
END_TEST

static int filter(const char *wanted)
{
    unsigned steps;
    uint32_t n;
    char *text = NULL;
    size_t room = 0;
    if (clean_read(wanted, &steps) != STATUS_OK)
        return 2;
    while (fread(&n, sizeof n, 1, stdin) == 1) {
        const char *out;
        size_t bytes;
        if (n > room && memory_grow(&text, room = n, "a text") != STATUS_OK)
            return 5;
        if (fread(text, 1, n, stdin) != n || clean_text(steps, &buffer, text, n, &out, &bytes) != STATUS_OK)
            return 3;
        n = (uint32_t)bytes;
        fwrite(&n, sizeof n, 1, stdout);
        fwrite(out, 1, bytes, stdout);
    }
    free(text);
    clean_free(&buffer);
    return fflush(stdout) == 0 ? 0 : 4;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return filter(argv[1]);
    int failed = support_run("cleaning", (const TTest *[]){known, names, in_the_tokenizer, NULL});
    clean_free(&buffer);
    return failed;
}
