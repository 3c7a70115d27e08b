add_test(NAME csv_pandas_peer COMMAND ${PROJECT_SOURCE_DIR}/tests/pipeline/csv_pandas.sh $<TARGET_FILE:csv_cells> ${PROJECT_SOURCE_DIR})
set_tests_properties(csv_pandas_peer PROPERTIES TIMEOUT 300 LABELS "pipeline;release-only" ENVIRONMENT "${FRETSAW_TEST_ENVIRONMENT}" SKIP_RETURN_CODE 77)
