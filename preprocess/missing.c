#include "preprocess/missing.h"

#include <string.h>

bool missing_is_word(const char *text, size_t n)
{
    static const char *const words[] = {"#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
                                        "<NA>", "N/A",      "NA",  "NULL",    "NaN",      "None", "n/a",  "nan",    "null"};
    enum { SHORTEST = 2, LONGEST = 8 };
    if (n == 0)
        return true;
    if (n < SHORTEST || n > LONGEST || !strchr("#-1<Nn", text[0])) /* nearly every label and text */
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == n && memcmp(words[i], text, n) == 0)
            return true;
    return false;
}

bool missing_is_old_word(const char *text, size_t n)
{
    return missing_is_word(text, n) && !(n == 4 && memcmp(text, "None", n) == 0);
}
