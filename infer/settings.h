/* The options of infer.
 *
 *     static settings s;      // filled by options_parse through settings_table
 *     TRY(settings_check(&s));
 */
#ifndef FRETSAW_INFER_SETTINGS_H
#define FRETSAW_INFER_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/options.h"

typedef struct settings {
    option_list runs, weights;
    option_list input;
    option_list csv;
    option_list id_column, text_column, lang_column;
    bool id_given, lang_given;
    int dialect, delimiter;
    const char *sample, *out, *predictions, *report, *folder;
    int64_t decimals;
    bool decimals_given;
    int64_t stub_below;
    const char *truth;
    option_list truth_columns;
    double unlabelled;
    bool unlabelled_given;
    option_list blend, blend_weights;
    const char *validate;
    option_list verify;
    int64_t micro_tokens, block_rows, threads, data_memory, time_limit, grace;
    int cpu, device, type, attention;
    bool share_device, profile;
} settings;

typedef enum settings_mode { MODE_PREDICT, MODE_BLEND, MODE_VALIDATE, MODE_VERIFY } settings_mode;

extern settings infer_settings;
extern const option infer_options[];
extern const option_program infer_program;

/* What is asked for, once the options go together: STATUS_USAGE says which do not. */
status settings_check(const settings *s, settings_mode *mode);

#endif
