fretsaw_test(auc_ranks SOURCES mpi/auc_ranks_test.c LINK fretsaw_support RANKS 1 2 3 4)
