fretsaw_test(preprocess SOURCES mpi/preprocess_test.c LINK fretsaw_csv_support RANKS 1 2 3 4 TIMEOUT 180)
fretsaw_test(preprocess_once SOURCES mpi/preprocess_once_test.c LINK fretsaw_csv_support RANKS 1 2 3 4)
fretsaw_test(preprocess_packed SOURCES mpi/preprocess_packed_test.c LINK fretsaw_csv_support RANKS 1 3)
fretsaw_test(preprocess_pandas SOURCES mpi/preprocess_pandas_test.c LINK fretsaw_csv_support RANKS 1 3)
