# Shipped tuning texts: installed beside the library, found in the source tree by a development build.
if(MLAF_BUILD_PATHS)
  set(mlaf_source_tuning ${CMAKE_SOURCE_DIR}/tuning)
endif()
target_compile_definitions(mlaf_db PRIVATE MLAF_SOURCE_TUNING="${mlaf_source_tuning}")
install(DIRECTORY ${CMAKE_SOURCE_DIR}/tuning/ DESTINATION share/mlaforge/tuning FILES_MATCHING PATTERN "*.tsv")

# tuning/known-hashes.txt becomes a const table in the library.
set(MLAF_KNOWN_HASHES_C ${CMAKE_CURRENT_BINARY_DIR}/known_hashes.c)
add_custom_command(
  OUTPUT ${MLAF_KNOWN_HASHES_C}
  COMMAND ${MLAF_LUA} ${CMAKE_SOURCE_DIR}/tools/known-hashes-table.lua ${CMAKE_SOURCE_DIR}/tuning/known-hashes.txt
          ${MLAF_KNOWN_HASHES_C}
  DEPENDS ${CMAKE_SOURCE_DIR}/tuning/known-hashes.txt ${CMAKE_SOURCE_DIR}/tools/known-hashes-table.lua
  VERBATIM)
target_sources(mlaf_db PRIVATE ${MLAF_KNOWN_HASHES_C})
