# gen/ and templates/ travel inside the library: the table is made again whenever one of their files changes.
file(GLOB_RECURSE mlaf_gen_inputs CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/gen/*.lua ${CMAKE_SOURCE_DIR}/templates/*)
set(mlaf_gen_embedded ${CMAKE_BINARY_DIR}/gen_embedded.c)
add_custom_command(
  OUTPUT ${mlaf_gen_embedded}
  COMMAND ${MLAF_LUA} ${CMAKE_SOURCE_DIR}/tools/embed.lua ${CMAKE_SOURCE_DIR} ${mlaf_gen_embedded}
  DEPENDS ${CMAKE_SOURCE_DIR}/tools/embed.lua ${mlaf_gen_inputs}
  COMMENT "Embedding gen/ and templates/"
  VERBATIM)
target_sources(mlaf_gen PRIVATE ${mlaf_gen_embedded})
