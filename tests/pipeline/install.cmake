if(FRETSAW_MPI)
  add_test(NAME pipeline_front COMMAND ${PROJECT_SOURCE_DIR}/tests/pipeline/front.sh ${CMAKE_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  set_tests_properties(pipeline_front PROPERTIES TIMEOUT 200 LABELS "pipeline;release-only" ENVIRONMENT "${FRETSAW_TEST_ENVIRONMENT}")

  # In plain Debian roots, with packages from the network; FRETSAW_DEBIAN_ROOT (a tar) saves making the root.
  add_test(NAME pipeline_package COMMAND ${PROJECT_SOURCE_DIR}/tests/pipeline/package.sh ${CMAKE_BINARY_DIR} ${PROJECT_SOURCE_DIR})
  set_tests_properties(pipeline_package PROPERTIES TIMEOUT 900 LABELS "pipeline;slow;release-only" SKIP_RETURN_CODE 77)
  foreach(kind docker apptainer docs)
    add_test(NAME pipeline_image_${kind} COMMAND ${PROJECT_SOURCE_DIR}/tests/pipeline/images.sh ${PROJECT_SOURCE_DIR} ${kind})
    set_tests_properties(pipeline_image_${kind} PROPERTIES TIMEOUT 1800 LABELS "pipeline;slow;release-only" SKIP_RETURN_CODE 77)
  endforeach()
endif()
