# zb_add_plugin(NAME gemmini KIND target|policy SOURCES a.cc [DEPS lib...] [VERSION 1.0.0] [DESCRIPTION text])
#
# Builds NAME.so and its manifest NAME.plugin.toml in ${CMAKE_BINARY_DIR}/plugins. The shared object exports exactly
# zb_plugin_query_v1, has no undefined symbols, and hides all it links statically, so that two plugins with the same
# header-only library never see each other's statics.
function(zb_add_plugin)
  cmake_parse_arguments(ARG "" "NAME;KIND;VERSION;DESCRIPTION;OUTPUT_DIRECTORY" "SOURCES;DEPS" ${ARGN})
  if(NOT ARG_VERSION)
    set(ARG_VERSION ${PROJECT_VERSION})
  endif()
  if(NOT ARG_OUTPUT_DIRECTORY)
    set(ARG_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/plugins)
  endif()
  set(export_map ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../plugin-api/abi/export.map)
  set(target zb_plugin_${ARG_NAME})
  add_library(${target} MODULE ${ARG_SOURCES})
  set_target_properties(${target} PROPERTIES
    PREFIX "" OUTPUT_NAME ${ARG_NAME} LIBRARY_OUTPUT_DIRECTORY ${ARG_OUTPUT_DIRECTORY} CXX_EXTENSIONS OFF
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    LINK_DEPENDS ${export_map})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${target} PRIVATE ZB_PLUGIN_VERSION="${ARG_VERSION}")
  target_link_libraries(${target} PRIVATE zb_warnings ${ARG_DEPS} zomboss::plugin_sdk)
  target_link_options(${target} PRIVATE
    -Wl,--version-script=${export_map} -Wl,--exclude-libs,ALL -Wl,-z,nodelete)
  if(NOT ZB_SANITIZE)  # sanitizer runtimes leave symbols to the host program
    target_link_options(${target} PRIVATE -Wl,-z,defs)
  endif()
  file(GENERATE OUTPUT ${ARG_OUTPUT_DIRECTORY}/${ARG_NAME}.plugin.toml CONTENT
"id = \"${ARG_NAME}\"
kind = \"${ARG_KIND}\"
version = \"${ARG_VERSION}\"
abi = \"1.0\"
file = \"${ARG_NAME}.so\"
description = \"${ARG_DESCRIPTION}\"
")
endfunction()
