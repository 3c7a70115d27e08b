foreach(name signals)
  add_test(NAME faults_${name} COMMAND ${PROJECT_SOURCE_DIR}/tests/faults/${name}.sh ${CMAKE_BINARY_DIR}/bin $<TARGET_FILE:train_make_data>
           $<$<BOOL:${FRETSAW_MPI}>:mpi>)
  set_tests_properties(faults_${name} PROPERTIES TIMEOUT 180 LABELS mpi ENVIRONMENT "${FRETSAW_TEST_ENVIRONMENT}")
endforeach()
