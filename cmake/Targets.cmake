# Warnings, arithmetic flags and the two kinds of target that every folder defines.
add_library(fretsaw_flags INTERFACE)
target_compile_definitions(fretsaw_flags INTERFACE _GNU_SOURCE FRETSAW_VERSION="${PROJECT_VERSION}")
target_include_directories(fretsaw_flags INTERFACE ${PROJECT_SOURCE_DIR})
set(fretsaw_warnings -Wall -Wextra -Werror -Wshadow $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes> $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes> -Wvla
  -Wpointer-arith -Wwrite-strings -ffp-contract=off -fno-math-errno -fno-unsafe-math-optimizations -fno-strict-aliasing)
foreach(flag ${fretsaw_warnings}) # nvcc has words of its own (model/cuda/kernels)
  target_compile_options(fretsaw_flags INTERFACE $<$<NOT:$<COMPILE_LANGUAGE:CUDA>>:${flag}>)
endforeach()
target_link_libraries(fretsaw_flags INTERFACE Threads::Threads m)
if(FRETSAW_STATIC) # HDF5 and libcrypto name calls that a static C library warns of; no program here comes to them
  target_compile_definitions(fretsaw_flags INTERFACE FRETSAW_STATIC)
  target_link_options(fretsaw_flags INTERFACE -static)
endif()
if(FRETSAW_SANITIZE)
  # Unoptimized, GCC leaves vzeroupper out, and the plain kernels after any of AVX are 50 times slower.
  foreach(flag -O2 -fsanitize=${FRETSAW_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    string(REPLACE "," "$<COMMA>" flag ${flag})
    target_compile_options(fretsaw_flags INTERFACE $<$<NOT:$<COMPILE_LANGUAGE:CUDA>>:${flag}>)
  endforeach()
  target_link_options(fretsaw_flags INTERFACE -fsanitize=${FRETSAW_SANITIZE})
endif()

# fretsaw_library(NAME SOURCES... LINK targets...): a static library of one folder.
function(fretsaw_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC fretsaw_flags ${arg_LINK})
endfunction()

# fretsaw_program(NAME SOURCES... LINK targets...): one of the programs, target program_NAME; installed to lib/fretsaw/bin.
function(fretsaw_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_executable(program_${name} ${arg_SOURCES})
  set_target_properties(program_${name} PROPERTIES OUTPUT_NAME ${name})
  target_link_libraries(program_${name} PRIVATE fretsaw_flags ${arg_LINK})
  install(TARGETS program_${name} RUNTIME DESTINATION lib/fretsaw/bin)
endfunction()

# fretsaw_test(NAME SOURCES... LINK targets... [LABELS ...] [TIMEOUT s] [RANKS 1 2 ...]): a Check program under CTest.
# With RANKS it runs once bare for 1 and under mpirun for each other number of ranks.
function(fretsaw_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LINK;LABELS;RANKS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(FRETSAW_SANITIZE) # several times slower
    math(EXPR arg_TIMEOUT "6 * ${arg_TIMEOUT}")
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  add_executable(test_${name} ${arg_SOURCES})
  target_link_libraries(test_${name} PRIVATE fretsaw_flags ${arg_LINK} PkgConfig::check)
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  set_target_properties(test_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(NOT arg_RANKS)
    add_test(NAME ${name} COMMAND test_${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}" ENVIRONMENT "${FRETSAW_TEST_ENVIRONMENT}"
      SKIP_RETURN_CODE 77)
  endif()
  foreach(ranks ${arg_RANKS})
    if(ranks EQUAL 1)
      add_test(NAME ${name}_np1 COMMAND test_${name})
    elseif(FRETSAW_MPI)
      add_test(NAME ${name}_np${ranks} COMMAND ${MPIEXEC_EXECUTABLE} -np ${ranks} $<TARGET_FILE:test_${name}>)
    else()
      continue()
    endif()
    set_tests_properties(${name}_np${ranks} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "mpi;${arg_LABELS}"
      ENVIRONMENT "${FRETSAW_TEST_ENVIRONMENT}" SKIP_RETURN_CODE 77)
  endforeach()
endfunction()

set(FRETSAW_TEST_ENVIRONMENT OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
  OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1 FRETSAW_SOURCE=${PROJECT_SOURCE_DIR} FRETSAW_BIN=${CMAKE_BINARY_DIR}/bin
  ASAN_OPTIONS=detect_leaks=0)
