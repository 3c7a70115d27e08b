#include "report/settings.h"

#include "common/comm.h"
#include "common/files.h"
#include "preprocess/csv.h"

report_choice report_settings;

const option_program report_program = {
    .name = "report",
    .purpose = "makes one self-contained page of a run, or of several to compare them",
    .usage = "RUN...",
    .examples = "  report runs/one --out report.html\n"
                "  infer --run runs/one --input shards/valid --out valid.csv --predictions valid-scores.csv\n"
                "  report runs/one --predictions valid-scores.csv --out report.html      (ROC, scores, languages, mistakes as well)\n"
                "  report runs/one --predictions valid-scores.csv --csv validation.csv   (mistakes in their original words)\n"
                "  report runs/one runs/two --out compared.html\n"
                "The page needs no network and no other file. Files of a run: docs/records.md.\n",
};

#define FIELD(name) .field = &report_settings.name

const option report_options[] = {
    {.name = "out", .type = OPTION_TEXT, FIELD(out), .group = "Output", .unit = "FILE", .fallback = "report.html", .help = "the page to write"},
    {.name = "mistakes",
     .type = OPTION_INT,
     FIELD(mistakes),
     .fallback = "10",
     .min = 0,
     .max = 200,
     .group = "Output",
     .unit = "N",
     .help = "most confident mistakes shown, of each kind"},
    {.name = "predictions",
     .type = OPTION_LIST,
     FIELD(predictions),
     .group = "Rows",
     .unit = "FILE,...",
     .help = "scores of labelled rows as infer --predictions writes them, a file a run"},
    {.name = "input",
     .type = OPTION_LIST,
     FIELD(input),
     .group = "Rows",
     .unit = "FOLDER,...",
     .help = "the shards or parts that were scored, with their labels; else those the first run was validated on"},
    {.name = "csv",
     .type = OPTION_LIST,
     FIELD(csv),
     .group = "Rows",
     .unit = "FILE,...",
     .help = "the CSVs that they came from: mistakes are shown with their original texts, found by id"},
    {.name = "id-column",
     .type = OPTION_LIST,
     FIELD(id_column),
     .fallback = "id",
     .group = "Rows",
     .unit = "NAME,...",
     .help = "heading of the ids in --csv, the first that is there. This and the next: else as preprocess read the scored rows"},
    {.name = "text-column",
     .type = OPTION_LIST,
     FIELD(text_column),
     .fallback = "comment_text,content,text",
     .group = "Rows",
     .unit = "NAME,...",
     .help = "heading of the texts in --csv, the first that is there"},
    {.name = "delimiter",
     .type = OPTION_CHOICE,
     FIELD(delimiter),
     .fallback = "comma",
     .choices = CSV_DELIMITER_NAMES,
     .group = "Rows",
     .help = "what stands between the fields of --csv"},
    {0},
};

status report_settings_check(const report_choice *s, const option_list *runs)
{
    if (comm_size() > 1)
        return fail(STATUS_USAGE, "report runs as one process: start it without mpirun or srun");
    if (runs->count == 0)
        return fail(STATUS_USAGE, "name a run: report runs/one --out report.html");
    if (runs->count > REPORT_RUNS)
        return fail(STATUS_USAGE, "%zu runs are more than a page can tell apart; give at most %d", runs->count, REPORT_RUNS);
    if (s->predictions.count && s->predictions.count != runs->count)
        return fail(STATUS_USAGE, "--predictions has %zu files for %zu runs; give one a run, in the order of the runs", s->predictions.count,
                    runs->count);
    if (s->input.count && !s->predictions.count)
        return fail(STATUS_USAGE, "--input goes with --predictions: the scores of its rows");
    if (s->csv.count && !s->predictions.count)
        return fail(STATUS_USAGE, "--csv goes with --predictions: the texts of its mistakes");
    return file_check_output(s->out);
}
