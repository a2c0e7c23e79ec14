# tuning/models.tsv becomes a const table in the library; a malformed line fails the build with its number.
add_executable(embed-models ${CMAKE_SOURCE_DIR}/tools/embed-models.c)
set(MLAF_MODELS_C ${CMAKE_CURRENT_BINARY_DIR}/models_table.c)
add_custom_command(
  OUTPUT ${MLAF_MODELS_C}
  COMMAND embed-models ${CMAKE_SOURCE_DIR}/tuning/models.tsv ${MLAF_MODELS_C}
  DEPENDS ${CMAKE_SOURCE_DIR}/tuning/models.tsv embed-models
  VERBATIM)
target_sources(mlaf_core PRIVATE ${MLAF_MODELS_C})
if("tune" IN_LIST MLAF_ROOMS AND EXISTS ${CMAKE_SOURCE_DIR}/runtime/tune/tune.h)
  target_compile_definitions(mlaf_core PUBLIC MLAF_HAVE_TUNE) # without it effort MEASURE is refused
endif()
