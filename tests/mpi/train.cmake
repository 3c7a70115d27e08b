add_executable(train_make_data mpi/train_make_data.c mpi/train_data.c)
target_link_libraries(train_make_data PRIVATE fretsaw_store)
target_include_directories(train_make_data PRIVATE ${PROJECT_SOURCE_DIR}/tests)
fretsaw_test(train_reduce SOURCES mpi/train_reduce_test.c LINK fretsaw_support fretsaw_trainer RANKS 1 2 3 4 5 8)

add_executable(train_trace mpi/train_trace.c support/wrapped_backend.c)
target_link_libraries(train_trace PRIVATE fretsaw_trainer)
target_include_directories(train_trace PRIVATE ${PROJECT_SOURCE_DIR}/tests)

foreach(name same_bytes resume options errors plan checks trace)
  add_test(NAME train_${name} COMMAND ${PROJECT_SOURCE_DIR}/tests/mpi/train_${name}.sh ${CMAKE_BINARY_DIR}/bin $<TARGET_FILE:train_make_data>
           $<$<BOOL:${FRETSAW_MPI}>:mpi>)
  set_tests_properties(train_${name} PROPERTIES TIMEOUT 900 LABELS mpi ENVIRONMENT "${FRETSAW_TEST_ENVIRONMENT}")
endforeach()
set_tests_properties(train_options PROPERTIES LABELS "mpi;release-only") # many starts, which the others make under the sanitizers
fretsaw_test(train_oracle SOURCES mpi/train_oracle_test.c unit/model_case.c LINK fretsaw_support fretsaw_trainer LABELS mpi)
add_dependencies(test_train_oracle program_train)
