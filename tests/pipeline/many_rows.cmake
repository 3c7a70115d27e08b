# Twenty million rows; FRETSAW_MANY_ROWS makes it fewer.
add_test(NAME pipeline_many_rows COMMAND ${PROJECT_SOURCE_DIR}/tests/pipeline/many_rows.sh ${CMAKE_BINARY_DIR}/bin ${PROJECT_SOURCE_DIR}
         $<$<BOOL:${FRETSAW_MPI}>:mpi>)
set_tests_properties(pipeline_many_rows PROPERTIES TIMEOUT 1800 LABELS "pipeline;slow;release-only" ENVIRONMENT "${FRETSAW_TEST_ENVIRONMENT}" PROCESSORS 2)
