# The command itself; everything else of this room is in the library, so that tests can call it.
add_executable(mlaforge runtime/cli/mlaforge_main.c)
target_link_libraries(mlaforge PRIVATE mlaf_rooms)
set_target_properties(mlaforge PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
# `mlaforge embed` writes the loader out: its files, the operations' parts of it and the licence travel inside the command.
find_program(MLAF_LUA NAMES lua5.4 lua54 lua REQUIRED)
file(GLOB mlaf_embed_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/runtime/embed/*.[ch] ${CMAKE_SOURCE_DIR}/runtime/op/embed/*.[ch]
     ${CMAKE_SOURCE_DIR}/runtime/ops/*/embed/*.[ch])
set(mlaf_embed_text ${CMAKE_BINARY_DIR}/embedded_text.c)
add_custom_command(
  OUTPUT ${mlaf_embed_text}
  COMMAND ${MLAF_LUA} ${CMAKE_SOURCE_DIR}/tools/embed-text.lua ${mlaf_embed_text} mlaf_embed_license=${CMAKE_SOURCE_DIR}/LICENSE
          mlaf_peer_sets=${CMAKE_SOURCE_DIR}/tuning/peer-sets.tsv ${mlaf_embed_files}
  DEPENDS ${CMAKE_SOURCE_DIR}/tools/embed-text.lua ${CMAKE_SOURCE_DIR}/LICENSE ${CMAKE_SOURCE_DIR}/tuning/peer-sets.tsv
          ${mlaf_embed_files}
  COMMENT "Embedding the loader of mlaforge embed"
  VERBATIM)
target_sources(mlaf_cli PRIVATE ${mlaf_embed_text})
