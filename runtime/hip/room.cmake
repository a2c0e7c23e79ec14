# The hip tests run this back end against a HIP runtime of our own over the emulator: one with the properties layout of
# ROCm 6 and later, one with that of ROCm 5.
if(MLAF_TESTS AND "emu" IN_LIST MLAF_ROOMS AND EXISTS ${CMAKE_SOURCE_DIR}/tests/hip/fakehip.c)
  foreach(fake fakehip6 fakehip5)
    add_library(${fake} SHARED tests/hip/fakehip.c)
    target_include_directories(${fake} PRIVATE tests include runtime)
    target_link_libraries(${fake} PRIVATE mlaf_rooms)
    set_target_properties(${fake} PROPERTIES OUTPUT_NAME amdhip64_${fake}
                          LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fakehip)
  endforeach()
  target_compile_definitions(fakehip5 PRIVATE FAKEHIP_ROCM5)
endif()
