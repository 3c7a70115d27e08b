/* Tables for cleaning, generated (make_clean.py): Python's \w, and the character references of HTML as Python's html.unescape() takes them.
 *
 *     const clean_entity *e = bsearch(...clean_entities...);      // sorted by the bytes of the name
 *
 * Each is sorted by its first member.
 */
#ifndef FRETSAW_PREPROCESS_CLEAN_DATA_H
#define FRETSAW_PREPROCESS_CLEAN_DATA_H

#include <stddef.h>
#include <stdint.h>

typedef struct clean_range {
    uint32_t first, last;
} clean_range;
/* Numbers of &#...; that do not stand for the code point of that number. */
typedef struct clean_number {
    uint32_t first, last, becomes; /* 0: nothing */
} clean_number;
typedef struct clean_entity {
    const char *name, *text; /* without & and ; */
    int bare;                /* also known without its semicolon */
} clean_entity;

extern const clean_range clean_words[];
extern const size_t clean_words_count;
extern const clean_number clean_numbers[];
extern const size_t clean_numbers_count;
extern const clean_entity clean_entities[];
extern const size_t clean_entities_count;
extern const size_t clean_longest_bare; /* bytes of the longest name that is known without its semicolon */

#endif
