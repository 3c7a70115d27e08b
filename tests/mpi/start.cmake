if(FRETSAW_MPI)
  add_test(NAME train_binding COMMAND ${PROJECT_SOURCE_DIR}/tests/mpi/train_binding.sh ${CMAKE_BINARY_DIR}/bin $<TARGET_FILE:train_make_data> mpi)
  set_tests_properties(train_binding PROPERTIES TIMEOUT 120 LABELS mpi ENVIRONMENT "${FRETSAW_TEST_ENVIRONMENT}" SKIP_RETURN_CODE 77)
endif()
