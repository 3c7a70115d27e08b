# bench/gpu.sh on the twin of the device back end, so that it works on the day there is a device.
if(TARGET fretsaw_twin AND FRETSAW_BENCH)
  set(stand_in "")
  if(TARGET fretsaw_cudnn_host)
    set(stand_in ";FRETSAW_STAND_IN=cudnn")
  endif()
  foreach(part lost hangs whole)
    add_test(NAME gpu_script_${part} COMMAND ${PROJECT_SOURCE_DIR}/tests/pipeline/gpu.sh ${CMAKE_BINARY_DIR} ${PROJECT_SOURCE_DIR} ${part})
    set_tests_properties(gpu_script_${part} PROPERTIES TIMEOUT 900 LABELS "pipeline;release-only$<$<STREQUAL:${part},whole>:;slow>"
      ENVIRONMENT "${FRETSAW_TEST_ENVIRONMENT};FRETSAW_DEVICE_LIBRARY=$<TARGET_FILE:fretsaw_twin>${stand_in}")
  endforeach()
endif()
# PyTorch's ways beside it, on this machine's processor, where there is PyTorch (FRETSAW_PEERS).
if(FRETSAW_BENCH AND DEFINED ENV{FRETSAW_PEERS})
  add_test(NAME gpu_torch COMMAND $ENV{FRETSAW_PEERS} ${PROJECT_SOURCE_DIR}/tests/pipeline/gpu_torch.py ${PROJECT_SOURCE_DIR})
  set_tests_properties(gpu_torch PROPERTIES TIMEOUT 300 LABELS "pipeline;release-only" SKIP_RETURN_CODE 77)
endif()
# The stored steps that a device is compared with are those of the CPU back end today.
if(FRETSAW_BENCH)
  add_test(NAME gpu_step COMMAND bash -c "work=$(mktemp -d) && ${PROJECT_SOURCE_DIR}/bench/gpu_step.sh ${CMAKE_BINARY_DIR} $work --device cpu | cmp - ${PROJECT_SOURCE_DIR}/bench/gpu_step.txt; code=$?; rm -rf $work; exit $code")
  set_tests_properties(gpu_step PROPERTIES TIMEOUT 1200 LABELS "pipeline;slow;release-only" ENVIRONMENT "${FRETSAW_TEST_ENVIRONMENT}")
endif()
