fretsaw_test(preprocess SOURCES mpi/preprocess_test.c LINK fretsaw_csv_support RANKS 1 2 3 4 TIMEOUT 180)
fretsaw_test(preprocess_once SOURCES mpi/preprocess_once_test.c LINK fretsaw_csv_support RANKS 1 2 3 4)
fretsaw_test(preprocess_turns SOURCES mpi/preprocess_turns_test.c LINK fretsaw_csv_support RANKS 1 2 3 4)
fretsaw_test(preprocess_report SOURCES mpi/preprocess_report_test.c LINK fretsaw_csv_support RANKS 1 2 3)
fretsaw_test(preprocess_packed SOURCES mpi/preprocess_packed_test.c LINK fretsaw_csv_support RANKS 1 3)
fretsaw_test(preprocess_pandas SOURCES mpi/preprocess_pandas_test.c LINK fretsaw_csv_support RANKS 1 3)
add_test(NAME preprocess_direct COMMAND ${PROJECT_SOURCE_DIR}/tests/mpi/preprocess_direct.sh ${CMAKE_BINARY_DIR}/bin ${PROJECT_SOURCE_DIR}
         $<$<BOOL:${FRETSAW_MPI}>:mpi>)
set_tests_properties(preprocess_direct PROPERTIES TIMEOUT 400 LABELS mpi ENVIRONMENT "${FRETSAW_TEST_ENVIRONMENT}")
