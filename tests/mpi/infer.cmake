add_executable(make_run support/make_run.c)
target_link_libraries(make_run PRIVATE fretsaw_infer)
add_test(NAME infer_run COMMAND ${PROJECT_SOURCE_DIR}/tests/mpi/infer.sh ${CMAKE_BINARY_DIR}/bin $<TARGET_FILE:make_run> ${PROJECT_SOURCE_DIR}
  $<$<BOOL:${FRETSAW_MPI}>:mpi>)
set_tests_properties(infer_run PROPERTIES TIMEOUT 600 LABELS "mpi;pipeline" ENVIRONMENT "${FRETSAW_TEST_ENVIRONMENT}")
