# The helper functions that every CMakeLists.txt here uses. Targets only; no directory properties.

# zb_warnings: the compile flags of all our own code.
add_library(zb_warnings INTERFACE)
target_compile_features(zb_warnings INTERFACE cxx_std_20 c_std_11)
target_compile_options(zb_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Werror -fvisibility=hidden
  $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>
  # GCC 12 at -O3 sees overlaps inside std::string that are not there (GCC bug 105651).
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique -Wno-restrict>)
if(ZB_SANITIZE)
  target_compile_options(zb_warnings INTERFACE -fsanitize=${ZB_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(zb_warnings INTERFACE -fsanitize=${ZB_SANITIZE})
endif()

# zb_library(NAME SOURCES a.cc b.cc [DEPS public...] [PRIVATE_DEPS private...])
# A static library zomboss_NAME (alias zomboss::NAME). Includes are written from the repository root.
function(zb_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(zomboss_${name} STATIC ${ARG_SOURCES})
  add_library(zomboss::${name} ALIAS zomboss_${name})
  set_target_properties(zomboss_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF)
  target_include_directories(zomboss_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(zomboss_${name} PUBLIC ${ARG_DEPS} PRIVATE zb_warnings ${ARG_PRIVATE_DEPS})
endfunction()

# zb_test(NAME SOURCES a_test.cc [DEPS ...] [LABELS unit] [TIMEOUT 120] [DEFINES ...])
# One gtest program; every TEST is one ctest test named NAME.Suite.Case.
function(zb_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS;LABELS;DEFINES" ${ARGN})
  if(NOT ZB_BUILD_TESTS)
    return()
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE
    ZB_SOURCE_DIR="${PROJECT_SOURCE_DIR}" ZB_BINARY_DIR="${PROJECT_BINARY_DIR}"
    ZB_GOLDEN_DIR="${ZOMBOSS_GOLDEN_DIR}" ${ARG_DEFINES})
  target_link_libraries(${name} PRIVATE zb_warnings ${ARG_DEPS} GTest::gtest_main)
  include(GoogleTest)
  gtest_discover_tests(${name} TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT})
endfunction()

# zb_benchmark(NAME SOURCES a_benchmark.cc [DEPS ...]): one Google Benchmark program, not run by ctest.
function(zb_benchmark name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  if(NOT ZB_BUILD_BENCHMARKS)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE ZB_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    ZB_BINARY_DIR="${PROJECT_BINARY_DIR}" ZB_GOLDEN_DIR="${ZOMBOSS_GOLDEN_DIR}")
  target_link_libraries(${name} PRIVATE zb_warnings ${ARG_DEPS} benchmark::benchmark_main)
endfunction()
