add_test(NAME pipeline_sample COMMAND ${PROJECT_SOURCE_DIR}/tests/pipeline/sample.sh ${CMAKE_BINARY_DIR}/bin ${PROJECT_SOURCE_DIR}
  $<$<BOOL:${FRETSAW_MPI}>:mpi>)
set_tests_properties(pipeline_sample PROPERTIES TIMEOUT 600 LABELS "pipeline;release-only" ENVIRONMENT "${FRETSAW_TEST_ENVIRONMENT}" PROCESSORS 2)
foreach(name verify notebook columns)
  add_test(NAME pipeline_${name} COMMAND ${PROJECT_SOURCE_DIR}/tests/pipeline/${name}.sh ${CMAKE_BINARY_DIR}/bin ${PROJECT_SOURCE_DIR}
           $<$<BOOL:${FRETSAW_MPI}>:mpi>)
  set_tests_properties(pipeline_${name} PROPERTIES TIMEOUT 300 LABELS pipeline ENVIRONMENT "${FRETSAW_TEST_ENVIRONMENT}" PROCESSORS 2)
endforeach()
add_test(NAME pipeline_progress COMMAND ${PROJECT_SOURCE_DIR}/tests/pipeline/progress.sh ${PROJECT_SOURCE_DIR})
set_tests_properties(pipeline_progress PROPERTIES TIMEOUT 100 LABELS "pipeline;release-only")
