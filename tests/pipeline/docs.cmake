foreach(part words commands)
  add_test(NAME pipeline_docs_${part} COMMAND ${PROJECT_SOURCE_DIR}/tests/pipeline/docs.sh ${CMAKE_BINARY_DIR}/bin ${PROJECT_SOURCE_DIR} ${part}
           $<$<TARGET_EXISTS:fretsaw_twin>:$<TARGET_FILE:fretsaw_twin>>)
  set_tests_properties(pipeline_docs_${part} PROPERTIES TIMEOUT 900 LABELS "pipeline;release-only" ENVIRONMENT "${FRETSAW_TEST_ENVIRONMENT}")
endforeach()
