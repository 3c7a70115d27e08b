fretsaw_test(options SOURCES unit/options_test.c LINK fretsaw_support fretsaw_common)
fretsaw_test(files SOURCES unit/files_test.c LINK fretsaw_support fretsaw_common)
fretsaw_test(comm SOURCES mpi/comm_test.c LINK fretsaw_support fretsaw_common RANKS 1 2 3 4)

add_executable(exit_program support/exit_program.c)
target_link_libraries(exit_program PRIVATE fretsaw_common)
add_test(NAME exit_codes COMMAND ${PROJECT_SOURCE_DIR}/tests/mpi/exit_codes.sh $<TARGET_FILE:exit_program> $<$<BOOL:${FRETSAW_MPI}>:mpi>)
set_tests_properties(exit_codes PROPERTIES TIMEOUT 120 LABELS "mpi;release-only" ENVIRONMENT "${FRETSAW_TEST_ENVIRONMENT}")

find_program(python3 python3)
if(python3)
  add_test(NAME sample_is_as_made COMMAND ${python3} ${PROJECT_SOURCE_DIR}/sample/make_sample.py --check)
  set_tests_properties(sample_is_as_made PROPERTIES LABELS unit)
endif()

# Every planted fault must still have its line: a change of the line takes the fault along.
add_test(NAME mutants_stand COMMAND bash ${PROJECT_SOURCE_DIR}/tests/mutants.sh --check)
set_tests_properties(mutants_stand PROPERTIES TIMEOUT 60 LABELS unit)

add_executable(reseal support/reseal.c)
target_link_libraries(reseal PRIVATE fretsaw_common)
add_test(NAME scripts COMMAND ${PROJECT_SOURCE_DIR}/tests/unit/scripts.sh ${PROJECT_SOURCE_DIR})
set_tests_properties(scripts PROPERTIES TIMEOUT 60 LABELS "unit;release-only")
