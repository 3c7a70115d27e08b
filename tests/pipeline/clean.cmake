add_test(NAME pipeline_clean COMMAND ${PROJECT_SOURCE_DIR}/tests/pipeline/clean.sh ${CMAKE_BINARY_DIR}/bin ${PROJECT_SOURCE_DIR}
         $<$<BOOL:${FRETSAW_MPI}>:mpi>)
set_tests_properties(pipeline_clean PROPERTIES TIMEOUT 300 LABELS pipeline ENVIRONMENT "${FRETSAW_TEST_ENVIRONMENT}" PROCESSORS 2)
