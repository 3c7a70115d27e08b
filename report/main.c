/* report: run folders in, a page out. */
#include "common/log.h"
#include "common/program.h"
#include "common/stop.h"
#include "report/page.h"

static status run(const option_list *words)
{
    page p;
    stop_release();
    TRY(report_settings_check(&report_settings, words));
    TRY(page_open(&report_settings, words, &p));
    status st = page_write(&p, report_settings.out);
    page_close(&p);
    if (st == STATUS_OK)
        log_info("%s is written: open it in a browser", report_settings.out);
    return st;
}

int main(int argc, char **argv)
{
    return program_main(&(program){.options = &report_program, .table = report_options, .run = run}, argc, argv);
}
