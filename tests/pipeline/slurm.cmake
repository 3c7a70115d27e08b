# More than one host, made up on this machine; skipped where that is not allowed (it needs root) or Slurm is not installed. They mostly wait, so
# they begin first and go on beside the others.
if(FRETSAW_MPI)
  foreach(part chains faults)
    add_test(NAME pipeline_slurm_${part} COMMAND ${PROJECT_SOURCE_DIR}/tests/pipeline/slurm.sh ${CMAKE_BINARY_DIR}/bin ${PROJECT_SOURCE_DIR} ${part})
  endforeach()
  set_tests_properties(pipeline_slurm_chains pipeline_slurm_faults PROPERTIES TIMEOUT 600 LABELS "pipeline;slurm;release-only"
    ENVIRONMENT "${FRETSAW_TEST_ENVIRONMENT}" SKIP_RETURN_CODE 77 COST 1000)
  add_test(NAME pipeline_two_hosts COMMAND ${PROJECT_SOURCE_DIR}/tests/pipeline/two_hosts.sh ${CMAKE_BINARY_DIR}/bin ${PROJECT_SOURCE_DIR})
  set_tests_properties(pipeline_two_hosts PROPERTIES TIMEOUT 300 LABELS "pipeline;slurm;release-only" ENVIRONMENT "${FRETSAW_TEST_ENVIRONMENT}"
    SKIP_RETURN_CODE 77 RUN_SERIAL ON)
endif()
