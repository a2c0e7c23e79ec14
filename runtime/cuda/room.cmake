# Reads cubins with the ELF reader of the compile room, which must be in the build too.
# The CUDA tests run this back end against a driver of our own over host memory.
if(MLAF_TESTS AND EXISTS ${CMAKE_SOURCE_DIR}/tests/cuda/fakecuda.c)
  add_library(fakecuda SHARED tests/cuda/fakecuda.c tests/cuda/fake_whole.c tests/cuda/fake_fitted.c
              tests/cuda/fake_tables.c)
  target_include_directories(fakecuda PRIVATE tests runtime include ${MLAF_GENERATED})
  target_link_libraries(fakecuda PRIVATE m)
  set_target_properties(fakecuda PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fakecuda)
endif()
