# A room is one folder of src/: one static library and one test program.
#
#   farscale_room(NAME SOURCES a.cc b.cc TESTS a_test.cc USES base trace LIBRARIES fmt::fmt)
#
# USES names rooms above this one; what a room uses is passed on to whoever uses the room.

add_library(farscale_options INTERFACE)
target_compile_options(farscale_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
                       -Woverloaded-virtual -Wimplicit-fallthrough)
if(FARSCALE_WERROR)
  target_compile_options(farscale_options INTERFACE -Werror)
endif()
if(FARSCALE_SANITIZE)
  target_compile_options(farscale_options INTERFACE -fsanitize=${FARSCALE_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(farscale_options INTERFACE -fsanitize=${FARSCALE_SANITIZE})
endif()

# Several files are compiled as one, so that the headers they share are read once.
function(farscale_compile_together)
  if(FARSCALE_UNITY)
    set_target_properties(${ARGN} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
  endif()
endfunction()

# What every program needs besides its own sources.
function(farscale_program name)
  if(FARSCALE_SANITIZE MATCHES "address|thread")
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/sanitizer_options.cc)
  endif()
endfunction()

function(farscale_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;TESTS;USES;LIBRARIES" ${ARGN})
  list(TRANSFORM ROOM_USES PREPEND farscale_)
  add_library(farscale_${name} STATIC ${ROOM_SOURCES})
  target_include_directories(farscale_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(farscale_${name} PUBLIC ${ROOM_USES} PRIVATE farscale_options ${ROOM_LIBRARIES})
  farscale_compile_together(farscale_${name})
  if(FARSCALE_TESTS AND ROOM_TESTS)
    add_executable(${name}_test ${ROOM_TESTS})
    target_link_libraries(${name}_test PRIVATE farscale_${name} farscale_test_support farscale_options
                          GTest::gmock GTest::gtest_main)
    farscale_program(${name}_test)
    if(FARSCALE_SANITIZE)
      # What is checked is the rooms. Checking every assertion of their tests, too, takes three times as long to compile.
      set_source_files_properties(${ROOM_TESTS} PROPERTIES COMPILE_OPTIONS "-O0;-fno-sanitize=undefined")
    endif()
    gtest_discover_tests(${name}_test TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60)
  endif()
endfunction()
if(FARSCALE_TESTS)
  include(GoogleTest)
endif()
