# The emulator is what tests and tuning wait for: optimise it harder than the rest. No contraction (the ISA says where an
# fma is), no errno or traps (they stop the 64-lane loops from vectorising).
target_compile_options(mlaf_emu PRIVATE -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math)
if(CMAKE_C_COMPILER_ID MATCHES "Clang") # & and | of conditions, branch-free on purpose; a pragma that says what the options say
  target_compile_options(mlaf_emu PRIVATE -Wno-bitwise-instead-of-logical -Wno-bitwise-conditional-parentheses -Wno-unknown-pragmas)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_definitions(mlaf_emu PRIVATE EMU_HOST_X86)
  set_source_files_properties(runtime/emu/ops_valu_v3.c PROPERTIES COMPILE_OPTIONS "-march=x86-64-v3")
  set_source_files_properties(runtime/emu/ops_valu_v4.c PROPERTIES COMPILE_OPTIONS
                              "-march=x86-64-v4;-mprefer-vector-width=512")
  if(MLAF_SANITIZE) # only tests ask for it, where a host has more
    set_source_files_properties(runtime/emu/ops_valu_v1.c PROPERTIES COMPILE_OPTIONS "-O1")
  endif()
endif()
if(MLAF_SANITIZE) # what follows is for use by hand
  return()
endif()
if(MLAF_TESTS)
  add_executable(emu-bench tests/emu/bench_emu.c)
  target_include_directories(emu-bench PRIVATE tests/emu)
  target_link_libraries(emu-bench PRIVATE mlaf_rooms)
endif()
if(MLAF_TESTS) # the timing model against published figures: docs/lab/timing-model.md
  add_executable(model-report tests/emu/model_report_main.c tests/emu/model_report_points.c tests/emu/model_report_micro.c
                 tests/emu/model_report_aiter.c)
  target_include_directories(model-report PRIVATE tests/emu)
  target_link_libraries(model-report PRIVATE mlaf_rooms)
endif()
if(MLAF_TESTS) # AITER's MLA and attention kernels against fp64 references: docs/lab/emulator.md
  add_executable(aiter-check tests/emu/aiter_check_main.c)
  add_executable(aiter-attention tests/emu/aiter_attention_main.c)
  foreach(name aiter-check aiter-attention)
    target_include_directories(${name} PRIVATE tests/emu)
    target_link_libraries(${name} PRIVATE mlaf_rooms)
  endforeach()
endif()
if(MLAF_TESTS) # random HIP programs against the host's compiler: docs/lab/emulator.md
  add_executable(emu-random tests/emu/random_hip_main.c)
  target_include_directories(emu-random PRIVATE tests/emu)
  target_link_libraries(emu-random PRIVATE mlaf_rooms)
  target_compile_definitions(emu-random PRIVATE MLAF_TEST_CC="${CMAKE_C_COMPILER}")
endif()
