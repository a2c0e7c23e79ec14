# Shipped tuning texts: installed beside the library, found in the source tree by a development build.
if(MLAF_BUILD_PATHS)
  set(mlaf_source_tuning ${CMAKE_SOURCE_DIR}/tuning)
endif()
target_compile_definitions(mlaf_db PRIVATE MLAF_SOURCE_TUNING="${mlaf_source_tuning}")
install(DIRECTORY ${CMAKE_SOURCE_DIR}/tuning/ DESTINATION share/mlaforge/tuning FILES_MATCHING PATTERN "*.tsv")
