/* A program that fails as it is told to: for the test of exit codes under every launcher. */
#include <unistd.h>

#include "common/comm.h"
#include "common/program.h"

static int64_t bad_rank, code;
static bool agree;
static const option table[] = {
    {.name = "bad-rank", .type = OPTION_INT, .field = &bad_rank, .fallback = "-1", .help = "rank that fails; -2: all"},
    {.name = "code", .type = OPTION_INT, .field = &code, .fallback = "3", .help = "its exit code"},
    {.name = "agree", .type = OPTION_FLAG, .field = &agree, .help = "all agree on the error first"},
    {0}};

static status run(const option_list *words)
{
    (void)words;
    status st = bad_rank == -2 || comm_rank() == bad_rank ? fail((status)code, "made to fail") : STATUS_OK;
    if (agree)
        return comm_agree(st);
    if (st != STATUS_OK)
        return st;
    if (bad_rank != -1)
        sleep(60); /* busy elsewhere: only an abort ends it */
    return STATUS_OK;
}

int main(int argc, char **argv)
{
    static const option_program about = {.name = "exit_program", .purpose = "fails as told", .usage = ""};
    return program_main(&(program){.options = &about, .table = table, .run = run}, argc, argv);
}
