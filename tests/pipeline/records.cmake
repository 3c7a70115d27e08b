add_test(NAME records_events COMMAND ${PROJECT_SOURCE_DIR}/tests/pipeline/events.sh ${CMAKE_BINARY_DIR}/bin $<TARGET_FILE:train_make_data>
  $<$<BOOL:${FRETSAW_MPI}>:mpi>)
set_tests_properties(records_events PROPERTIES TIMEOUT 120 LABELS "pipeline" ENVIRONMENT "${FRETSAW_TEST_ENVIRONMENT}")
