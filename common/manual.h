/* A program's options in two more forms than --help, from the same table: a page for man, and words for a shell's completion.
 *
 *     if (argc == 2 && manual_print(argv[1], &about, table)) return 0;      // before MPI, so that a build machine needs no launcher
 *
 * --help-man prints the page, --help-words a line an option: name, TAB, "none", "value", "path" or "choice", and the choices. Local.
 */
#ifndef FRETSAW_COMMON_MANUAL_H
#define FRETSAW_COMMON_MANUAL_H

#include "common/options.h"

/* True when `word` asked for one of the two, which is then on stdout. */
bool manual_print(const char *word, const option_program *program, const option *table);

#endif
