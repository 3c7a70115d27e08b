# Builds the static program once more, for which FRETSAW_STATIC_PROGRAM can name one that is there.
add_test(NAME pipeline_kaggle COMMAND ${PROJECT_SOURCE_DIR}/tests/pipeline/kaggle.sh ${CMAKE_BINARY_DIR}/bin $<TARGET_FILE:make_run> ${PROJECT_SOURCE_DIR})
set_tests_properties(pipeline_kaggle PROPERTIES TIMEOUT 1200 LABELS "pipeline;slow;release-only" ENVIRONMENT "${FRETSAW_TEST_ENVIRONMENT}"
  SKIP_RETURN_CODE 77 PROCESSORS 2)
