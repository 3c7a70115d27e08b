add_test(NAME pipeline_python COMMAND ${PROJECT_SOURCE_DIR}/tests/pipeline/python.sh ${CMAKE_BINARY_DIR}/bin $<TARGET_FILE:make_run> ${PROJECT_SOURCE_DIR})
set_tests_properties(pipeline_python PROPERTIES TIMEOUT 600 LABELS "pipeline;release-only" ENVIRONMENT "${FRETSAW_TEST_ENVIRONMENT}"
  SKIP_RETURN_CODE 77)
