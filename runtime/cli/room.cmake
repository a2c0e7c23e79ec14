# The command itself; everything else of this room is in the library, so that tests can call it.
add_executable(mlaforge runtime/cli/mlaforge_main.c)
target_link_libraries(mlaforge PRIVATE mlaf_rooms)
set_target_properties(mlaforge PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
install(TARGETS mlaforge RUNTIME DESTINATION bin)
