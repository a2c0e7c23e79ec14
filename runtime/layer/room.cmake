# tuning/layer-stages.tsv becomes a const table in the library; a malformed line fails the build with its number.
set(MLAF_LAYER_STAGES_C ${CMAKE_CURRENT_BINARY_DIR}/layer_stages_table.c)
add_custom_command(
  OUTPUT ${MLAF_LAYER_STAGES_C}
  COMMAND ${MLAF_LUA} ${CMAKE_SOURCE_DIR}/tools/layer-stages.lua ${CMAKE_SOURCE_DIR}/tuning/layer-stages.tsv ${MLAF_LAYER_STAGES_C}
  DEPENDS ${CMAKE_SOURCE_DIR}/tuning/layer-stages.tsv ${CMAKE_SOURCE_DIR}/tools/layer-stages.lua
  VERBATIM)
target_sources(mlaf_layer PRIVATE ${MLAF_LAYER_STAGES_C})
