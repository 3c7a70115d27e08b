# More than one host, made up on this machine; skipped where that is not allowed (it needs root) or Slurm is not installed.
if(FRETSAW_MPI)
  foreach(name slurm two_hosts)
    add_test(NAME pipeline_${name} COMMAND ${PROJECT_SOURCE_DIR}/tests/pipeline/${name}.sh ${CMAKE_BINARY_DIR}/bin ${PROJECT_SOURCE_DIR})
    set_tests_properties(pipeline_${name} PROPERTIES TIMEOUT 300 LABELS "pipeline;slurm;release-only" ENVIRONMENT "${FRETSAW_TEST_ENVIRONMENT}"
      SKIP_RETURN_CODE 77 RUN_SERIAL ON)
  endforeach()
endif()
