/* In what two sets of rows differ, for a message: settings of tokenizers, lists of inputs.
 *
 *     char text[DIFFERENCE_TEXT];
 *     difference_settings(has, wanted, " where ", text);      // "'lower=no' where 'lower=yes', 'clean=urls' where nothing"
 *     difference_inputs(then, now, text);                     // "a.csv has changed; b.csv is left out now; c.csv is added"
 *
 * Local. Long values are cut; what has no room is left out.
 */
#ifndef FRETSAW_STORE_DIFFERENCE_H
#define FRETSAW_STORE_DIFFERENCE_H

enum { DIFFERENCE_TEXT = 800 };

/* Lines "key=value" of both texts. "" where they are the same, line for line, in whatever order. */
void difference_settings(const char *a, const char *b, const char *between, char text[DIFFERENCE_TEXT]);
/* Lines of a manifest's `inputs`: a name, then what tells its content. */
void difference_inputs(const char *then, const char *now, char text[DIFFERENCE_TEXT]);

#endif
