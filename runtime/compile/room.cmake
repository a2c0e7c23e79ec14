# The compile worker. Self-contained (libc only, no sanitizer): it is started through the loader of whatever ROCm is
# found, whose libc need not be the one the rest of the build uses.
add_executable(mlaforge-worker runtime/compile/worker_main.c runtime/compile/rocm.c runtime/compile/elf.c
                               runtime/compile/nvrtc.c runtime/compile/rtc_text.c
                               runtime/compile/wire.c runtime/compile/scratch.c runtime/base/text.c runtime/base/error.c
                               runtime/base/numbers.c runtime/base/os_error.c)
target_include_directories(mlaforge-worker PRIVATE include runtime)
target_link_libraries(mlaforge-worker PRIVATE ${CMAKE_DL_LIBS} Threads::Threads)
set_target_properties(mlaforge-worker PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR} LINK_OPTIONS "")
if(MLAF_SANITIZE)
  target_compile_options(mlaforge-worker PRIVATE -fno-sanitize=all)
endif()

# Paths of the build, by which a development build finds its worker and what tools/setup.sh unpacked; an installed library looks
# beside itself first.
option(MLAF_BUILD_PATHS "The library may look for worker and ROCm where it was built (packagers: OFF)" ON)
if(MLAF_BUILD_PATHS)
  target_compile_definitions(mlaf_compile PRIVATE MLAF_BUILD_WORKER="${CMAKE_BINARY_DIR}/mlaforge-worker"
                                                  MLAF_BUILD_DEPS="${CMAKE_SOURCE_DIR}/.deps")
endif()
add_dependencies(mlaf_compile mlaforge-worker)
