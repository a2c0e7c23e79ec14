# The command itself; everything else of this room is in the library, so that tests can call it.
add_executable(mlaforge runtime/cli/mlaforge_main.c)
target_link_libraries(mlaforge PRIVATE mlaf_rooms)
set_target_properties(mlaforge PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
# `mlaforge embed` writes the loader out: its files, the library's that go with it and the licence travel inside the command.
set(MLAF_EMBED ${CMAKE_BINARY_DIR}/embed)
file(MAKE_DIRECTORY ${MLAF_EMBED})
execute_process(COMMAND ${MLAF_LUA} ${CMAKE_SOURCE_DIR}/tools/embed-files.lua ${CMAKE_SOURCE_DIR} ${MLAF_GENERATED} --sources
                OUTPUT_VARIABLE mlaf_embed_names OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "\n" ";" mlaf_embed_names "${mlaf_embed_names}")
list(TRANSFORM mlaf_embed_names PREPEND ${MLAF_EMBED}/ OUTPUT_VARIABLE MLAF_EMBED_SOURCES)
file(GLOB mlaf_embed_lists CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/runtime/ops/*/embed.lua
     ${CMAKE_SOURCE_DIR}/gen/ops/*/args.lua)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${mlaf_embed_lists} tools/embed-files.lua)
file(GLOB mlaf_embed_inputs CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/runtime/embed/*.[ch] ${CMAKE_SOURCE_DIR}/runtime/op/*.[ch]
     ${CMAKE_SOURCE_DIR}/runtime/op/embed/*.[ch] ${CMAKE_SOURCE_DIR}/runtime/ops/*/*.[ch]
     ${CMAKE_SOURCE_DIR}/runtime/ops/*/embed/*.[ch] ${CMAKE_SOURCE_DIR}/runtime/device/*.h ${CMAKE_SOURCE_DIR}/include/mlaforge/*.h
     ${CMAKE_SOURCE_DIR}/gen/ops/*/fields.lua ${MLAF_GENERATED}/ops/*/*.[ch])
add_custom_command(
  OUTPUT ${MLAF_EMBED}/index.txt
  BYPRODUCTS ${MLAF_EMBED_SOURCES}
  COMMAND ${MLAF_LUA} ${CMAKE_SOURCE_DIR}/tools/embed-files.lua ${CMAKE_SOURCE_DIR} ${MLAF_GENERATED} ${MLAF_EMBED}
  DEPENDS ${CMAKE_SOURCE_DIR}/tools/embed-files.lua ${CMAKE_SOURCE_DIR}/tools/limits.lua ${mlaf_embed_lists} ${mlaf_embed_inputs}
  COMMENT "Writing the files of mlaforge embed"
  VERBATIM)
add_custom_target(embed-files DEPENDS ${MLAF_EMBED}/index.txt)
set(mlaf_embed_text ${CMAKE_BINARY_DIR}/embedded_text.c)
add_custom_command(
  OUTPUT ${mlaf_embed_text}
  COMMAND ${MLAF_LUA} ${CMAKE_SOURCE_DIR}/tools/embed-text.lua ${mlaf_embed_text} ${MLAF_EMBED}
          mlaf_embed_license=${CMAKE_SOURCE_DIR}/LICENSE mlaf_peer_sets=${CMAKE_SOURCE_DIR}/tuning/peer-sets.tsv
  DEPENDS ${CMAKE_SOURCE_DIR}/tools/embed-text.lua ${CMAKE_SOURCE_DIR}/LICENSE ${CMAKE_SOURCE_DIR}/tuning/peer-sets.tsv
          ${MLAF_EMBED}/index.txt
  COMMENT "Embedding the files of mlaforge embed"
  VERBATIM)
target_sources(mlaf_cli PRIVATE ${mlaf_embed_text})
add_dependencies(mlaf_cli embed-files)
