# A room is one folder of src/: one library and one test program.
#
#   farscale_room(NAME SOURCES a.cc b.cc TESTS a_test.cc TEST_PARTS 4 USES base trace LIBRARIES fmt::fmt)
#
# USES names rooms above this one; what a room uses is passed on to whoever uses the room. TEST_USES: rooms that its
# tests use besides. TEST_PARTS: in how many processes its tests run, where they take long. RUNS_BRIEFLY: the room takes
# options and writes results, in next to no time. Builds of the whole program optimise it less (up to a fifth off its time
# to compile), and scripts/check leaves its own tests to the night, since tests of the program see what it does.
# READS_BYTES: it reads bytes from outside, or shares memory; scripts/check tests these rooms under sanitizers every day
# and all others every night (FARSCALE_TEST_ROOMS).

add_library(farscale_options INTERFACE)
target_compile_options(farscale_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
                       -Woverloaded-virtual -Wimplicit-fallthrough)
if(FARSCALE_WERROR)
  target_compile_options(farscale_options INTERFACE -Werror)
endif()
if(FARSCALE_SANITIZE)
  # With sanitizers GCC 12 takes members of std::function and of regular expressions for uninitialized.
  target_compile_options(farscale_options INTERFACE -fsanitize=${FARSCALE_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  if(FARSCALE_SANITIZE MATCHES "address" AND NOT FARSCALE_FUZZ)
    # Whoever uses a null pointer is stopped by AddressSanitizer anyhow, and its check before every member call is a
    # fifth of the time to compile. The build for fuzzing, which reads what parsers are given, has these checks, too.
    target_compile_options(farscale_options INTERFACE -fno-sanitize=null,alignment)
  endif()
  target_link_options(farscale_options INTERFACE -fsanitize=${FARSCALE_SANITIZE})
endif()

# All files of a target are compiled as one, so that the headers and templates they share, and what GoogleTest needs once
# a file, are compiled once. GCC needs up to 1.5 GB for one of them, and a tenth of its time goes into collecting garbage
# if it begins at its usual 128 MB.
if(FARSCALE_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(farscale_options INTERFACE --param=ggc-min-heapsize=1000000)
endif()
function(farscale_compile_together)
  if(FARSCALE_UNITY)
    set_target_properties(${ARGN} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  endif()
endfunction()

# What is checked is the rooms, so that tests are compiled as fast as can be: without optimisation, without checks of
# every assertion, and with the large headers that all of them read compiled once. Under AddressSanitizer every room is
# a shared library that calls its own copies of inline functions; with one library of all, the linker could take the
# copies of the tests, which are compiled without checks.
set(FARSCALE_ROOM_KIND STATIC)
add_library(farscale_test_options INTERFACE)
target_compile_options(farscale_test_options INTERFACE -O0)
if(FARSCALE_SANITIZE)
  target_compile_definitions(farscale_test_options INTERFACE FARSCALE_SANITIZED)
endif()
if(FARSCALE_SANITIZE MATCHES "address" AND NOT FARSCALE_FUZZ)
  set(FARSCALE_ROOM_KIND SHARED)
  target_link_options(farscale_options INTERFACE -Wl,-Bsymbolic-functions)
  target_compile_options(farscale_test_options INTERFACE -fno-sanitize=all)
elseif(FARSCALE_SANITIZE)
  target_compile_options(farscale_test_options INTERFACE -fno-sanitize=undefined)
endif()

# The tests of NAME, whose executable is NAME_test. PARTS: how many processes share them, where they take long.
function(farscale_test_program name)
  farscale_program(${name}_test)
  # Last: of two options that contradict each other, the compiler follows the later one.
  target_link_libraries(${name}_test PRIVATE farscale_options TBB::tbb farscale_test_options)
  if(FARSCALE_UNITY)
    target_precompile_headers(${name}_test REUSE_FROM farscale_test_headers)
  endif()
  set(parts ${ARGN})
  if(NOT parts)
    add_test(NAME ${name} COMMAND ${name}_test)
    set_tests_properties(${name} PROPERTIES PROCESSORS 2)
    return()
  endif()
  foreach(part RANGE 1 ${parts})
    add_test(NAME ${name}.${part} COMMAND ${name}_test)
    math(EXPR shard "${part} - 1")
    set_tests_properties(${name}.${part} PROPERTIES PROCESSORS 2 ENVIRONMENT "GTEST_TOTAL_SHARDS=${parts};GTEST_SHARD_INDEX=${shard}")
  endforeach()
endfunction()

function(farscale_room_tests name sources uses parts)
  add_executable(${name}_test ${sources})
  target_link_libraries(${name}_test PRIVATE farscale_${name} ${uses} farscale_test_support GTest::gmock GTest::gtest_main)
  farscale_compile_together(${name}_test)
  farscale_test_program(${name} ${parts})
endfunction()

# What every program needs besides its own sources.
function(farscale_program name)
  if(FARSCALE_SANITIZE MATCHES "address|thread")
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/sanitizer_options.cc)
  endif()
endfunction()

# Large headers that most rooms read are compiled once.
if(FARSCALE_UNITY)
  file(WRITE ${PROJECT_BINARY_DIR}/room_headers.cc "")
  add_library(farscale_room_headers OBJECT ${PROJECT_BINARY_DIR}/room_headers.cc)
  target_link_libraries(farscale_room_headers PRIVATE fmt::fmt nlohmann_json::nlohmann_json farscale_options)
  if(FARSCALE_ROOM_KIND STREQUAL SHARED)
    set_target_properties(farscale_room_headers PROPERTIES POSITION_INDEPENDENT_CODE ON)
  endif()
  target_precompile_headers(farscale_room_headers PRIVATE <fmt/format.h> <nlohmann/json.hpp> <algorithm> <cmath>
                            <filesystem> <fstream> <functional> <map> <optional> <set> <sstream> <string> <variant> <vector>)
endif()

# Where the rooms that read bytes are all that is tested, the others are not built.
if(FARSCALE_TEST_ROOMS STREQUAL bytes)
  set(FARSCALE_LEFT_OUT EXCLUDE_FROM_ALL)
endif()
function(farscale_room name)
  cmake_parse_arguments(ROOM "RUNS_BRIEFLY;READS_BYTES" "TEST_PARTS" "SOURCES;TESTS;USES;TEST_USES;LIBRARIES" ${ARGN})
  list(TRANSFORM ROOM_USES PREPEND farscale_)
  list(TRANSFORM ROOM_TEST_USES PREPEND farscale_)
  set(is_tested ${FARSCALE_TESTS})
  if((FARSCALE_TEST_ROOMS STREQUAL others AND (ROOM_READS_BYTES OR ROOM_RUNS_BRIEFLY))
     OR (FARSCALE_TEST_ROOMS STREQUAL bytes AND NOT ROOM_READS_BYTES))
    set(is_tested OFF)
  endif()
  if(NOT ROOM_READS_BYTES)
    set(left_out ${FARSCALE_LEFT_OUT})
  endif()
  add_library(farscale_${name} ${FARSCALE_ROOM_KIND} ${left_out} ${ROOM_SOURCES})
  target_include_directories(farscale_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(farscale_${name} PUBLIC ${ROOM_USES} PRIVATE farscale_options ${ROOM_LIBRARIES})
  farscale_compile_together(farscale_${name})
  if(ROOM_RUNS_BRIEFLY AND FARSCALE_UNITY AND NOT FARSCALE_SANITIZE)
    target_compile_options(farscale_${name} PRIVATE -O1)
  endif()
  if(FARSCALE_UNITY AND "fmt::fmt" IN_LIST ROOM_LIBRARIES)
    target_precompile_headers(farscale_${name} REUSE_FROM farscale_room_headers)
  endif()
  if(ROOM_TESTS AND is_tested)
    farscale_room_tests(${name} "${ROOM_TESTS}" "${ROOM_TEST_USES}" "${ROOM_TEST_PARTS}")
  endif()
endfunction()
if(FARSCALE_TESTS)
  if(FARSCALE_UNITY)
    file(WRITE ${PROJECT_BINARY_DIR}/test_headers.cc "")
    add_library(farscale_test_headers OBJECT ${PROJECT_BINARY_DIR}/test_headers.cc)
    target_link_libraries(farscale_test_headers PRIVATE GTest::gmock farscale_options TBB::tbb farscale_test_options)
    target_precompile_headers(farscale_test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h> <algorithm> <cmath> <filesystem>
                              <fstream> <functional> <map> <numeric> <optional> <random> <sstream> <string> <vector>)
  endif()
endif()
