add_test(NAME records_events COMMAND ${PROJECT_SOURCE_DIR}/tests/pipeline/events.sh ${CMAKE_BINARY_DIR}/bin $<TARGET_FILE:train_make_data>
  $<$<BOOL:${FRETSAW_MPI}>:mpi>)
set_tests_properties(records_events PROPERTIES TIMEOUT 120 LABELS "pipeline" ENVIRONMENT "${FRETSAW_TEST_ENVIRONMENT}")
foreach(kind "" browser)
  set(name records_report${kind})
  add_test(NAME ${name} COMMAND ${PROJECT_SOURCE_DIR}/tests/pipeline/report.sh ${CMAKE_BINARY_DIR}/bin $<TARGET_FILE:train_make_data> solo ${kind})
  set_tests_properties(${name} PROPERTIES TIMEOUT 900 LABELS "pipeline$<$<BOOL:${kind}>:;slow>" ENVIRONMENT "${FRETSAW_TEST_ENVIRONMENT}" SKIP_RETURN_CODE 77)
endforeach()
