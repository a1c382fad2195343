# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# How a room is built: nigh_room(NAME SOURCES ... DEPENDS ... LINK ...) makes the static library nigh_NAME
# from src/NAME; nigh_test(NAME SOURCES ... DEPENDS ...) makes one GoogleTest program beside the code it tests.
# The sanitizers' presets compile a room's sources several at a time (CMAKE_UNITY_BUILD), in half the time; all others
# file by file, which finds the header that a file forgot to include. Tests have a precompiled header instead.
# nigh_together(TARGET): compiled together in every build, where libraries of headers take most of the time.

add_library(nigh_flags INTERFACE)
target_compile_features(nigh_flags INTERFACE cxx_std_20 c_std_11)
target_compile_options(nigh_flags INTERFACE
  $<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Werror;-fvisibility=hidden>
  $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>)
target_include_directories(nigh_flags INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
if(NIGH_SANITIZE)
  target_compile_options(nigh_flags INTERFACE -fsanitize=${NIGH_SANITIZE} -fno-omit-frame-pointer
                                              -fno-sanitize-recover=all)
  target_compile_definitions(nigh_flags INTERFACE NIGH_SANITIZED)  # tests of speed stand aside
  target_link_options(nigh_flags INTERFACE -fsanitize=${NIGH_SANITIZE})
endif()

# Kernels that are measured. In a sanitizer's build their many instances take minutes to optimize, and seconds to run as
# they are.
if(NIGH_SANITIZE)
  set(NIGH_KERNEL_OPTIMIZATION -O0)
else()
  set(NIGH_KERNEL_OPTIMIZATION -O3)
endif()

function(nigh_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  add_library(nigh_${name} STATIC ${ROOM_SOURCES})
  set_target_properties(nigh_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(nigh_${name} PUBLIC nigh_flags)
  foreach(room ${ROOM_DEPENDS})
    target_link_libraries(nigh_${name} PUBLIC nigh_${room})
  endforeach()
  target_link_libraries(nigh_${name} PUBLIC ${ROOM_LINK})
endfunction()

function(nigh_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
endfunction()

# Where most of the time of the sanitizers' tests goes: a simulation is run some hundred thousand times.
function(nigh_optimize_in_sanitizers)
  if(NIGH_SANITIZE)
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -O1)
  endif()
endfunction()

# Tests themselves, and the command, which runs once: a third of their compilation is saved by -O1.
function(nigh_optimize_little target)
  if(NOT NIGH_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
  endif()
endfunction()

# All of nigh_test and of the suites: what a sanitizer's tests need.
add_custom_target(nigh_test_programs)

# What every test program reads first, read once.
function(nigh_test_headers)
  set(empty ${CMAKE_BINARY_DIR}/test_headers.cpp)
  file(CONFIGURE OUTPUT ${empty} CONTENT "")
  add_library(nigh_test_headers OBJECT ${empty})
  set_target_properties(nigh_test_headers PROPERTIES UNITY_BUILD OFF)
  target_link_libraries(nigh_test_headers PRIVATE nigh_flags GTest::gtest)
  nigh_optimize_little(nigh_test_headers)
  target_precompile_headers(nigh_test_headers PRIVATE <gtest/gtest.h> <algorithm> <atomic> <chrono> <filesystem>
                            <functional> <map> <memory> <optional> <random> <set> <string> <thread> <vector>)
endfunction()

# TIMED: those that measure their own speed, as a filter of googletest (A.a:B.b); they run alone (label timing).
function(nigh_test name)
  if(NOT NIGH_TESTS)
    return()
  endif()
  if(NOT TARGET nigh_test_headers)
    nigh_test_headers()
  endif()
  cmake_parse_arguments(TEST "" "TIMED" "SOURCES;DEPENDS;LINK" ${ARGN})
  add_executable(${name} ${TEST_SOURCES})
  target_link_libraries(${name} PRIVATE nigh_flags GTest::gtest_main ${TEST_LINK})
  nigh_optimize_little(${name})
  target_precompile_headers(${name} REUSE_FROM nigh_test_headers)
  foreach(room ${TEST_DEPENDS})
    target_link_libraries(${name} PRIVATE nigh_${room})
  endforeach()
  target_compile_definitions(${name} PRIVATE NIGH_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                             NIGH_BINARY_DIR="${CMAKE_BINARY_DIR}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests UNITY_BUILD OFF)
  add_dependencies(nigh_test_programs ${name})
  set(rest "*")
  if(TEST_TIMED)
    set(rest "-${TEST_TIMED}")
    gtest_discover_tests(${name} TEST_FILTER ${TEST_TIMED} TEST_LIST ${name}_timed PROPERTIES LABELS timing
                         DISCOVERY_TIMEOUT 60)
  endif()
  gtest_discover_tests(${name} TEST_FILTER "${rest}" PROPERTIES LABELS unit DISCOVERY_TIMEOUT 60)
endfunction()
