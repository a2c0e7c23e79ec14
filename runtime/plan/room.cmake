# tuning/models.tsv becomes a const table in the library; a malformed line fails the build with its number.
set(MLAF_MODELS_C ${CMAKE_CURRENT_BINARY_DIR}/models_table.c)
add_custom_command(
  OUTPUT ${MLAF_MODELS_C}
  COMMAND ${MLAF_LUA} ${CMAKE_SOURCE_DIR}/tools/models-table.lua ${CMAKE_SOURCE_DIR}/tuning/models.tsv ${MLAF_MODELS_C}
  DEPENDS ${CMAKE_SOURCE_DIR}/tuning/models.tsv ${CMAKE_SOURCE_DIR}/tools/models-table.lua
  VERBATIM)
target_sources(mlaf_plan PRIVATE ${MLAF_MODELS_C})
if("tune" IN_LIST MLAF_ROOMS AND EXISTS ${CMAKE_SOURCE_DIR}/runtime/tune/tune.h)
  target_compile_definitions(mlaf_plan PUBLIC MLAF_HAVE_TUNE) # without it effort MEASURE is refused
endif()
# libmlaforge.so: the sum of the rooms, exporting what include/ declares and nothing else (tests/abi.txt). The public
# functions live in those named first; the other rooms come in as far as those need them.
set(mlaf_shared_faces base ${MLAF_OPERATIONS} ${MLAF_FACES} layer plan tune)
set(mlaf_shared_rooms ${mlaf_shared_faces} op device compile gen db run check bundle emu hip)
set(mlaf_shared_complete TRUE)
foreach(needed IN LISTS mlaf_shared_rooms)
  if(NOT needed IN_LIST MLAF_ROOMS)
    set(mlaf_shared_complete FALSE)
  endif()
endforeach()
if(mlaf_shared_complete)
  add_library(mlaforge_shared SHARED)
  foreach(room IN LISTS mlaf_shared_faces)
    string(MAKE_C_IDENTIFIER ${room} target)
    target_sources(mlaforge_shared PRIVATE $<TARGET_OBJECTS:mlaf_${target}>)
  endforeach()
  target_link_libraries(mlaforge_shared PRIVATE mlaf_rooms)
  set_target_properties(mlaforge_shared PROPERTIES OUTPUT_NAME mlaforge VERSION ${PROJECT_VERSION} SOVERSION 0)
  # The Python package's compiled part: for every Python from 3.10 on, and the package does without it.
  find_program(MLAF_PYTHON NAMES python3)
  if(MLAF_PYTHON AND NOT MLAF_PYTHON_H)
    execute_process(COMMAND ${MLAF_PYTHON} -c "import sysconfig; print(sysconfig.get_paths()['include'])"
                    OUTPUT_VARIABLE python_include OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  find_path(MLAF_PYTHON_H Python.h HINTS ${python_include} DOC "Folder of Python.h, 3.10 or later")
  if(MLAF_PYTHON_H AND NOT MLAF_SANITIZE)
    add_library(mlaforge_fast MODULE ${CMAKE_SOURCE_DIR}/python/mlaforge/_fast.c ${CMAKE_SOURCE_DIR}/python/mlaforge/_fast_layer.c)
    target_include_directories(mlaforge_fast PRIVATE include ${MLAF_PYTHON_H})
    set_target_properties(mlaforge_fast PROPERTIES PREFIX "" OUTPUT_NAME _fast SUFFIX .abi3.so
                          LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  else()
    message(STATUS "No Python.h: the Python package will use ctypes alone (slower calls)")
  endif()
  if(NOT MLAF_SANITIZE)
    target_link_options(mlaforge_shared PRIVATE -Wl,--no-undefined) # sanitizer symbols come from the executable
  endif()
endif()
