/* The options of report.
 *
 *     return program_main(&(program){.options = &report_program, .table = report_options, .run = run}, argc, argv);
 *     ... TRY(report_settings_check(&report_settings, words));
 */
#ifndef FRETSAW_REPORT_SETTINGS_H
#define FRETSAW_REPORT_SETTINGS_H

#include <stdint.h>

#include "common/options.h"

enum { REPORT_RUNS = 8 }; /* as many colours can be told apart */

typedef struct report_choice {
    const char *out;
    option_list predictions, input, csv, id_column, text_column;
    int delimiter;
    int64_t mistakes;
} report_choice;

extern report_choice report_settings;
extern const option report_options[];
extern const option_program report_program;

/* STATUS_USAGE says what is missing or does not go together. `runs` are the words behind the options. */
status report_settings_check(const report_choice *s, const option_list *runs);

#endif
