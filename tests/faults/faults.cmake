foreach(name signals)
  add_test(NAME faults_${name} COMMAND ${PROJECT_SOURCE_DIR}/tests/faults/${name}.sh ${CMAKE_BINARY_DIR}/bin $<TARGET_FILE:train_make_data>
           $<$<BOOL:${FRETSAW_MPI}>:mpi>)
  set_tests_properties(faults_${name} PROPERTIES TIMEOUT 180 LABELS mpi ENVIRONMENT "${FRETSAW_TEST_ENVIRONMENT}")
endforeach()

if(FRETSAW_MPI)
  add_test(NAME layouts COMMAND ${PROJECT_SOURCE_DIR}/tests/layouts.sh --short --build ${CMAKE_BINARY_DIR})
  set_tests_properties(layouts PROPERTIES TIMEOUT 300 LABELS "mpi;release-only" ENVIRONMENT "${FRETSAW_TEST_ENVIRONMENT}")
endif()

find_program(python3 python3)
if(python3)
  # By hand, every byte: tests/support/flips.py BIN MAKE_DATA --all
  add_test(NAME faults_flips COMMAND ${python3} ${PROJECT_SOURCE_DIR}/tests/support/flips.py ${CMAKE_BINARY_DIR}/bin $<TARGET_FILE:train_make_data> --sample 2)
  set_tests_properties(faults_flips PROPERTIES TIMEOUT 300 LABELS "pipeline" ENVIRONMENT "${FRETSAW_TEST_ENVIRONMENT}")
endif()
