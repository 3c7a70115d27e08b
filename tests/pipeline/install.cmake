if(FRETSAW_MPI)
  add_test(NAME pipeline_front COMMAND ${PROJECT_SOURCE_DIR}/tests/pipeline/front.sh ${CMAKE_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  set_tests_properties(pipeline_front PROPERTIES TIMEOUT 200 LABELS "pipeline;release-only" ENVIRONMENT "${FRETSAW_TEST_ENVIRONMENT}")
endif()
