/* train_make_data FOLDER NAME rows labels files seed vocabulary longest unlabelled */
#include <stdio.h>
#include <stdlib.h>

#include "mpi/train_data.h"

int main(int argc, char **argv)
{
    int64_t v[7] = {0};
    if (argc != 10)
        return 2;
    for (int i = 0; i < 7; i++)
        v[i] = strtoll(argv[i + 3], NULL, 10);
    status st = train_data_write(argv[1], argv[2], &(train_data){v[0], v[1], v[2], v[3], v[4], v[5], v[6]});
    if (st != STATUS_OK)
        fprintf(stderr, "%s\n", status_message());
    return st;
}
