# The device's own kernels on the host. Without a sanitizer every access is watched for races and ranges; with one, the sanitizer looks.
# The thread sanitizer itself cannot: it takes a kernel's threads, which are turns of one thread here, for one.
if(CMAKE_CXX_COMPILER AND NOT FRETSAW_SANITIZE MATCHES thread)
  set(kernels fretsaw_kernels_watched)
  set(kernel_watch -fsanitize=thread)
  if(FRETSAW_SANITIZE)
    set(kernels fretsaw_kernels_host)
    set(kernel_watch -fsanitize=${FRETSAW_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  endif()
  add_library(fretsaw_cuda_case STATIC unit/cuda_case.c)
  target_link_libraries(fretsaw_cuda_case PUBLIC fretsaw_support fretsaw_cpu ${kernels})
  foreach(part attention norm linear head update)
    fretsaw_test(cuda_${part} SOURCES unit/cuda_${part}_test.c LINK fretsaw_cuda_case)
  endforeach()
  add_library(fretsaw_cuda_planted STATIC unit/cuda_planted.cu)
  set_source_files_properties(unit/cuda_planted.cu PROPERTIES LANGUAGE CXX)
  target_link_libraries(fretsaw_cuda_planted PRIVATE fretsaw_kernel_flags)
  target_include_directories(fretsaw_cuda_planted PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_options(fretsaw_cuda_planted PRIVATE -Wno-unused-but-set-variable ${kernel_watch})
  fretsaw_test(cuda_launch SOURCES unit/cuda_launch_test.c LINK fretsaw_cuda_planted fretsaw_cuda_case)
endif()

# The door to cuBLASLt over a stand-in: its own source and the library's header, none of the library.
if(FRETSAW_CUDA_FOUND)
  fretsaw_test(cuda_products SOURCES unit/cuda_products_test.c support/cublaslt_host.c support/gpu_host.c ${PROJECT_SOURCE_DIR}/model/cuda/product_cublas.c
               LINK fretsaw_support fretsaw_common)
  target_include_directories(test_cuda_products SYSTEM PRIVATE ${FRETSAW_CUBLASLT_INCLUDE})
endif()

# The door to cuDNN over a stand-in that is built under the library's name (model/cuda/CMakeLists.txt).
if(TARGET fretsaw_cudnn_host AND TARGET fretsaw_cuda_case)
  set(cuda ${PROJECT_SOURCE_DIR}/model/cuda)
  fretsaw_test(cuda_fused SOURCES unit/cuda_fused_test.c support/gpu_host.c ${cuda}/fused_cudnn.c ${cuda}/fused_plan.c
               LINK fretsaw_cuda_case fretsaw_common ${CMAKE_DL_LIBS})
  target_include_directories(test_cuda_fused SYSTEM PRIVATE ${FRETSAW_CUDNN_INCLUDE} ${FRETSAW_CUBLASLT_INCLUDE})
  set_target_properties(test_cuda_fused PROPERTIES BUILD_RPATH ${CMAKE_BINARY_DIR}/tests/cudnn)
  add_dependencies(test_cuda_fused fretsaw_cudnn_host)
  # And the plan over the real library, where there is one.
  add_library(fretsaw_libcuda_host SHARED support/libcuda_host.c)
  set_target_properties(fretsaw_libcuda_host PROPERTIES OUTPUT_NAME cuda SOVERSION 1 LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/libcuda)
  fretsaw_test(cuda_fused_plan SOURCES unit/cuda_fused_plan_test.c ${cuda}/fused_plan.c LINK fretsaw_support fretsaw_common ${CMAKE_DL_LIBS}
               LABELS "unit;release-only")
  target_compile_definitions(test_cuda_fused_plan PRIVATE FRETSAW_LIBCUDA_HOST="$<TARGET_FILE:fretsaw_libcuda_host>")
  target_include_directories(test_cuda_fused_plan SYSTEM PRIVATE ${FRETSAW_CUDNN_INCLUDE} ${FRETSAW_CUBLASLT_INCLUDE})
  add_dependencies(test_cuda_fused_plan fretsaw_libcuda_host)
endif()

# Which architectures are left to a CUDA that does not know all.
foreach(pair 12.4=75,90 12.9=75,90,100 13.0=75,90,100)
  string(REPLACE "=" ";" pair ${pair})
  list(GET pair 0 version)
  list(GET pair 1 known)
  add_test(NAME cuda_architectures_${version} COMMAND ${CMAKE_COMMAND} -D VERSION=${version} -D WANTED=75,90,100
           -P ${PROJECT_SOURCE_DIR}/cmake/CudaArchitectures.cmake)
  set_tests_properties(cuda_architectures_${version} PROPERTIES LABELS unit PASS_REGULAR_EXPRESSION "known: ${known}\n")
endforeach()

# What ptxas makes of the kernels: the table is of these sources and within limits; all compiled afresh by the slow test and the target cuda_all.
find_program(python3 python3)
find_program(FRETSAW_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES bin)
if(python3)
  set(ptxas ${python3} ${PROJECT_SOURCE_DIR}/model/cuda/ptxas.py)
  set(nvcc nvcc)
  if(FRETSAW_NVCC)
    set(nvcc ${FRETSAW_NVCC})
  endif()
  add_test(NAME cuda_table COMMAND ${ptxas} --table)
  set_tests_properties(cuda_table PROPERTIES LABELS "unit;release-only")
  add_test(NAME cuda_ptxas COMMAND ${ptxas} --check --nvcc ${nvcc} --jobs 2)
  set_tests_properties(cuda_ptxas PROPERTIES LABELS "unit;slow;release-only" SKIP_RETURN_CODE 77 TIMEOUT 3600)
  add_custom_target(cuda_all COMMAND ${ptxas} --write --nvcc ${nvcc} --jobs 2 --out ${CMAKE_BINARY_DIR}/cuda_all USES_TERMINAL VERBATIM)
endif()
