# Shipped tuning texts: installed beside the library, found in the source tree by a development build.
target_compile_definitions(mlaf_db PRIVATE MLAF_SOURCE_TUNING="${CMAKE_SOURCE_DIR}/tuning")
install(DIRECTORY ${CMAKE_SOURCE_DIR}/tuning/ DESTINATION share/mlaforge/tuning FILES_MATCHING PATTERN "*.tsv")
