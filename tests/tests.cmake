# T0: what needs no built code, in seconds. The C tests register themselves in CMakeLists.txt (label t1).
find_program(MLAF_LUA NAMES lua5.4 lua54 lua REQUIRED)
foreach(part 1 2) # a core each
  add_test(NAME lua/generator_${part} COMMAND ${MLAF_LUA} ${CMAKE_SOURCE_DIR}/tests/lua/run.lua --part ${part}/2)
endforeach()
add_test(NAME style COMMAND ${CMAKE_SOURCE_DIR}/tools/check-style.sh)
add_test(NAME rooms COMMAND ${MLAF_LUA} ${CMAKE_SOURCE_DIR}/tools/rooms.lua)
set_tests_properties(lua/generator_1 lua/generator_2 style rooms PROPERTIES LABELS t0
  ENVIRONMENT "MLAF_SOURCE_DIR=${CMAKE_SOURCE_DIR};MLAF_BUILD_DIR=${CMAKE_BINARY_DIR}")
# The checks of which T0 looks at a share, in full.
add_test(NAME lua/generator_full COMMAND ${MLAF_LUA} ${CMAKE_SOURCE_DIR}/tests/lua/run.lua --full)
# Every kernel of a covering set of problems, rendered in full.
add_test(NAME lua/sweep COMMAND ${MLAF_LUA} ${CMAKE_SOURCE_DIR}/tests/lua/sweep.lua)
# The protocol check of every ring that plans make, in full. All three are Lua's own interpreter: slow, so that they run once, not
# under the sanitizers too.
add_test(NAME lua/protocol COMMAND ${MLAF_LUA} ${CMAKE_SOURCE_DIR}/tests/lua/protocol_full.lua)
set_tests_properties(lua/generator_full lua/sweep lua/protocol PROPERTIES LABELS "t1;slow" ENVIRONMENT "MLAF_SOURCE_DIR=${CMAKE_SOURCE_DIR}")

# A locale whose decimal point is a comma, for any test: LD_PRELOAD=<this> MLAF_COMMA_DIR=<a folder> ctest (tools/test.sh does it).
add_library(mlaf_comma MODULE ${CMAKE_SOURCE_DIR}/tests/base/comma_preload.c)
set_target_properties(mlaf_comma PROPERTIES OUTPUT_NAME comma PREFIX lib)
target_compile_options(mlaf_comma PRIVATE -fno-sanitize=all)
target_link_options(mlaf_comma PRIVATE -fno-sanitize=all)
target_include_directories(mlaf_comma PRIVATE ${CMAKE_SOURCE_DIR}/tests)

# Needs two rooms at once, so that neither can be built alone with it.
if("gen" IN_LIST MLAF_ROOMS AND "compile" IN_LIST MLAF_ROOMS)
  add_executable(gen_resources ${CMAKE_SOURCE_DIR}/tests/gen/resources.c)
  target_include_directories(gen_resources PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_link_libraries(gen_resources PRIVATE mlaf_rooms PkgConfig::CMOCKA)
  add_test(NAME gen/resources COMMAND gen_resources)
  add_test(NAME gen/resources_nvidia COMMAND gen_resources nvidia)
  set_tests_properties(gen/resources gen/resources_nvidia PROPERTIES LABELS t1
    ENVIRONMENT "MLAF_SOURCE_DIR=${CMAKE_SOURCE_DIR};MLAF_BUILD_DIR=${CMAKE_BINARY_DIR}")
endif()

# Most tests want code objects, and the same ones as other tests. A worker that remembers what was compiled in this build serves them,
# and compiles the faster; where compiles are what a test disturbs it remembers nothing. The compiler's own tests and what is
# installed have the real one.
if(TARGET mlaforge-worker)
  get_target_property(worker_sources mlaforge-worker SOURCES)
  list(TRANSFORM worker_sources PREPEND ${CMAKE_SOURCE_DIR}/)
  list(TRANSFORM worker_sources REPLACE ".*/worker_main\\.c" ${CMAKE_SOURCE_DIR}/tests/compile/memo_worker.c)
  add_executable(memo-worker ${worker_sources})
  target_include_directories(memo-worker PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/runtime)
  target_compile_definitions(memo-worker PRIVATE WORKER_SOURCES="${CMAKE_SOURCE_DIR}/runtime/compile" MEMO_DIR="${CMAKE_BINARY_DIR}/compile-memo")
  target_compile_options(memo-worker PRIVATE -fno-sanitize=all)
  target_link_libraries(memo-worker PRIVATE ${CMAKE_DL_LIBS} Threads::Threads)
  set_target_properties(memo-worker PROPERTIES LINK_OPTIONS "")
endif()

# The program by which tools/same-code.lua and tools/rehash.lua compile.
if("compile" IN_LIST MLAF_ROOMS)
  add_executable(compile-texts ${CMAKE_SOURCE_DIR}/tools/compile-texts.c)
  target_link_libraries(compile-texts PRIVATE mlaf_rooms)
endif()

# The timing model: extrapolation from a sample of workgroups, and the report against published figures.
if(TARGET mlaf_emu AND TARGET mlaf_gen AND TARGET mlaf_plan)
  # A program of tests/kernels over its rig; what is behind the source is further sources.
  function(add_rig_program name source)
    add_executable(${name} ${CMAKE_SOURCE_DIR}/tests/kernels/${source}.c ${CMAKE_SOURCE_DIR}/tests/kernels/rig.c ${ARGN})
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests ${CMAKE_SOURCE_DIR}/tests/emu)
    target_link_libraries(${name} PRIVATE mlaf_rooms_emu PkgConfig::CMOCKA)
  endfunction()
  add_rig_program(test_extrapolation test_extrapolation)
  add_rig_program(test_ragged test_ragged)
  add_rig_program(test_model_report test_model_report ${CMAKE_SOURCE_DIR}/tests/emu/model_report_points.c
                  ${CMAKE_SOURCE_DIR}/tests/emu/model_report_micro.c)
  foreach(test IN ITEMS extrapolation ragged model_report)
    add_test(NAME kernels/test_${test} COMMAND test_${test})
  endforeach()
  # About numbers of the model: what it reads and writes emu/test_emu_timing and cli/test_cli_run show under the sanitizers.
  set_tests_properties(kernels/test_extrapolation PROPERTIES LABELS "t1;slow")
  set_tests_properties(kernels/test_ragged PROPERTIES LABELS t1)
  set_tests_properties(kernels/test_model_report PROPERTIES LABELS "t1;slow"
    ENVIRONMENT "MLAF_SOURCE_DIR=${CMAKE_SOURCE_DIR}")
  add_rig_program(emu-times emu_times_main)
  add_rig_program(emu-ragged ragged_times_main)
  set_target_properties(emu-times emu-ragged PROPERTIES EXCLUDE_FROM_ALL TRUE)
endif()

# Tests of what other projects compile, as `mlaforge embed` writes it out, beside the library over a fake driver. test_fitted: both launch the
# same, test_ops: of every operation; test_tables: block tables, by both, with nothing but a bundle; test_other_op: an operation that
# is none of the library's.
if(TARGET fakecuda AND MLAF_EMBED_SOURCES)
  add_library(embedded_loader STATIC ${MLAF_EMBED_SOURCES})
  add_dependencies(embedded_loader embed-files)
  target_include_directories(embedded_loader PUBLIC ${MLAF_EMBED})
  target_link_libraries(embedded_loader PUBLIC ${CMAKE_DL_LIBS} m)
  file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/embed/test_*.c)
  foreach(source IN LISTS tests)
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
    target_link_libraries(${name} PRIVATE embedded_loader mlaf_rooms PkgConfig::CMOCKA)
    add_test(NAME embed/${name} COMMAND ${name})
    set_tests_properties(embed/${name} PROPERTIES LABELS t1 ENVIRONMENT "MLAF_BUILD_DIR=${CMAKE_BINARY_DIR}")
  endforeach()
endif()

# Tests of what users of the other kinds do with a build: install it, embed it, call it from Python. Not with sanitizers: programs
# that are built without them would have to load their run-time first.
if(TARGET mlaforge_shared AND TARGET mlaforge AND TARGET fakehip6 AND NOT MLAF_SANITIZE)
  add_test(NAME install/install COMMAND ${CMAKE_SOURCE_DIR}/tests/install/install.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
  add_test(NAME embed/embed_copy COMMAND ${CMAKE_SOURCE_DIR}/tests/embed/embed_copy.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
  add_test(NAME cli/ship_tuning COMMAND ${CMAKE_SOURCE_DIR}/tests/cli/ship_tuning.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
  set_tests_properties(install/install embed/embed_copy cli/ship_tuning PROPERTIES LABELS t1)
  # Modelled times that are shipped are those of today's emulator: six rows of tuning/gfx942.tsv, one of 128 heads and long contexts.
  add_test(NAME cli/shipped_times COMMAND ${MLAF_LUA} ${CMAKE_SOURCE_DIR}/tools/retime.lua $<TARGET_FILE:mlaforge>
    ${CMAKE_SOURCE_DIR}/tuning/gfx942.tsv --within 5 --from 7 --every 13)
  set_tests_properties(cli/shipped_times PROPERTIES LABELS t1
    ENVIRONMENT "MLAF_TUNING_DIR=/nonexistent;MLAF_CACHE_DIR=${CMAKE_BINARY_DIR}/test-cache;MLAF_DB=${CMAKE_BINARY_DIR}/shipped_times.db")
  add_test(NAME cli/completion COMMAND bash ${CMAKE_SOURCE_DIR}/tests/cli/completion.sh $<TARGET_FILE:mlaforge>)
  set_tests_properties(cli/completion PROPERTIES LABELS t1)
  find_program(MLAF_PYTHON NAMES python3)
  if(MLAF_PYTHON)
    add_test(NAME install/package COMMAND ${CMAKE_SOURCE_DIR}/tests/install/package.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
    set_tests_properties(install/package PROPERTIES LABELS "t1;slow")
    set(python_env
      "MLAF_LIBRARY=${CMAKE_BINARY_DIR}/libmlaforge.so.0;PYTHONPATH=${CMAKE_SOURCE_DIR}/python:${CMAKE_SOURCE_DIR}/tests/python;PYTHONDONTWRITEBYTECODE=1;MLAF_CACHE_DIR=${CMAKE_BINARY_DIR}/test-cache")
    # python/NAME: modules of tests/FOLDER by unittest, over the library of this build.
    function(add_python_test name folder)
      add_test(NAME python/${name} COMMAND ${MLAF_PYTHON} -m unittest ${ARGN} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}/tests/${folder})
      set_tests_properties(python/${name} PROPERTIES LABELS t1 ENVIRONMENT "${python_env}")
    endfunction()
    add_python_test(wrappers python test_wrappers test_ragged test_concat_q test_sparse test_host_arrays test_entries)
    add_python_test(torch_ops python test_torch_ops test_flashinfer test_engines test_engine_steps test_jax)
    add_python_test(batch_invariant python test_batch_invariant)
    # Operations' own: tests/ops/OPERATION/test_*.py.
    file(GLOB tests CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/tests/ops ${CMAKE_SOURCE_DIR}/tests/ops/*/test_*.py)
    foreach(source IN LISTS tests)
      string(REGEX MATCH "^([^/]+)/test_(.*)\\.py$" found ${source})
      add_python_test(${CMAKE_MATCH_1}_${CMAKE_MATCH_2} ops/${CMAKE_MATCH_1} test_${CMAKE_MATCH_2})
    endforeach()
    foreach(test IN ITEMS layer_calls layer_cache_8 layer_index_calls chunked_calls threads_calls)
      add_python_test(${test} layer test_${test})
    endforeach()
    add_test(NAME python/layer_example COMMAND ${MLAF_PYTHON} ${CMAKE_SOURCE_DIR}/examples/layer/layer.py 24)
    add_test(NAME python/context_split_example COMMAND ${MLAF_PYTHON} ${CMAKE_SOURCE_DIR}/examples/context-split/context_split.py
             --transport none --tokens 300 --ranks 3 --interleave 16 --q-len 2)
    set_tests_properties(python/layer_example python/context_split_example PROPERTIES LABELS t1
      ENVIRONMENT "${python_env};MLAF_DEVICE=emu:gfx942;MLAF_DB=${CMAKE_BINARY_DIR}/no.db")
    add_test(NAME python/bench_cases COMMAND ${MLAF_PYTHON} -m unittest test_bench_cases
             WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}/tests/python)
    set_tests_properties(python/bench_cases PROPERTIES LABELS t0 ENVIRONMENT "PYTHONDONTWRITEBYTECODE=1")
    if(TARGET fakecuda)
      add_python_test(capture_nvrtc python test_capture)
      set(on_fakecuda python/capture_nvrtc)
      if(TARGET mlaforge_fast)
        add_python_test(host_cost_nvrtc python test_host_cost)
        list(APPEND on_fakecuda python/host_cost_nvrtc)
      endif()
      set_tests_properties(${on_fakecuda} PROPERTIES ENVIRONMENT
        "${python_env};MLAF_CUDA_LIBRARY=$<TARGET_FILE:fakecuda>;FAKECUDA_ANY=1")
    endif()
  endif()
endif()

# Examples in C, as a user's programs: against the shared library alone, on the emulator.
if(TARGET mlaforge_shared AND NOT MLAF_SANITIZE)
  function(add_example name source)
    add_executable(example-${name} ${CMAKE_SOURCE_DIR}/examples/${source}/main.c)
    target_include_directories(example-${name} PRIVATE ${CMAKE_SOURCE_DIR}/include)
    target_link_libraries(example-${name} PRIVATE mlaforge_shared Threads::Threads m ${CMAKE_DL_LIBS})
  endfunction()
  function(add_example_test name)
    add_test(NAME ${name} COMMAND ${ARGN})
    set_tests_properties(${name} PROPERTIES LABELS t1
      ENVIRONMENT "MLAF_DEVICE=emu:gfx942;MLAF_DB=${CMAKE_BINARY_DIR}/no.db;MLAF_CACHE_DIR=${CMAKE_BINARY_DIR}/test-cache")
  endfunction()
  add_example(layer layer) # the toy model of MLA layers
  add_example_test(layer/example example-layer)
  add_example(engine engine_c) # a decoding loop with a paged cache that is too small
  add_example_test(layer/example_engine example-engine)
  # A context split over ranks, its shards one after another: tokens one by one and in runs, drafts, ranks without tokens.
  add_example(context-split context-split)
  foreach(case IN ITEMS "500 2 1 1" "300 3 16 4" "70 8 64 3" "5 8 1 5")
    string(REGEX MATCH "(.*) (.*) (.*) (.*)" all ${case})
    add_example_test(context_split/example_${CMAKE_MATCH_1}_over_${CMAKE_MATCH_2} example-context-split --transport none
      --tokens ${CMAKE_MATCH_1} --ranks ${CMAKE_MATCH_2} --interleave ${CMAKE_MATCH_3} --q-len ${CMAKE_MATCH_4})
  endforeach()
endif()

# Programs to run by hand, on a real GPU.
if(TARGET mlaforge_shared)
  foreach(name execute call)
    add_executable(${name}-overhead EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/tests/gpu/${name}_overhead.c)
    target_include_directories(${name}-overhead PRIVATE include)
    target_link_libraries(${name}-overhead PRIVATE mlaforge_shared ${CMAKE_DL_LIBS})
  endforeach()
endif()
if(TARGET mlaf_plan AND TARGET mlaf_gen AND TARGET mlaf_cuda)
  foreach(name late-tables soak-streams)
    string(REPLACE - _ source ${name})
    add_executable(${name} EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/tests/gpu/${source}.c)
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
    target_link_libraries(${name} PRIVATE mlaf_rooms)
  endforeach()
endif()

# Kernels of each operation whose arguments are a table: a test for each list.
if(TARGET test_table_kernels)
  file(GLOB lists CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/ops/*/kernels.tsv)
  foreach(list IN LISTS lists)
    get_filename_component(folder ${list} DIRECTORY)
    get_filename_component(operation ${folder} NAME)
    add_test(NAME ops/${operation}/kernels COMMAND test_table_kernels ${operation})
    set_tests_properties(ops/${operation}/kernels PROPERTIES LABELS t1
      ENVIRONMENT "MLAF_SOURCE_DIR=${CMAKE_SOURCE_DIR};MLAF_BUILD_DIR=${CMAKE_BINARY_DIR}")
  endforeach()
endif()

# Long by nature: every command several times over.
if(TARGET test_full_disk)
  set_tests_properties(cli/test_full_disk PROPERTIES LABELS "t1;slow")
endif()

# The longest begin first, so that none is left alone at the end: CTest sorts by cost, CPU seconds about, of two idle cores.
set(costs kernels/test_model_report 60 cli/test_cli_run 45 plan/test_alloc 38 kernels/test_kernels 31 python/batch_invariant 30
    emu/test_emu_turns 30 gen/resources_nvidia 28 python/layer_index_calls 27 cli/test_full_disk 26 gen/resources 26
    lua/protocol 25 cli/test_cli_signals 23 compile/test_compile 22 kernels/test_ragged 21 ops/mla_index/kernels 20
    kernels/test_mutants 18 emu/coverage 16 install/package 16 lua/sweep 15 bundle/test_bundle 15 python/wrappers 15
    ops/mla_gather_kv_b/kernels 15 cli/test_cli_alloc 14 gen/test_gen 14 plan/test_plan 14 kernels/test_extrapolation 14
    layer/test_layer 14 ops/mla_decode/test_cache 14 ops/mla_decode/test_index_lists 14 ops/mla_prefill/kernels 13
    ops/mla_append/kernels 12 lua/generator_full 12 python/layer_cache_8 12 ops/mla_index_append/kernels 12
    cli/test_cli_layer 12 ops/mla_v_out/test_projection_kernels 11 cli/test_cli_files 11 python/torch_ops 10 cli/test_cli_kill 9
    emu/test_emu_random 9 plan/test_library 9 ops/mla_v_out/test_projection_fp8 9 layer/test_threads 9 cli/test_cli_serve 8
    cli/test_cli_face 8 ops/mla_dequant/kernels 8 cli/test_profile 8 layer/test_layer_many 8 layer/test_extreme_numbers 8
    compile/test_code_faults 6 compile/test_code_cache 3)
get_property(all DIRECTORY PROPERTY TESTS)
while(costs)
  list(POP_FRONT costs test cost)
  if(test IN_LIST all)
    set_tests_properties(${test} PROPERTIES COST ${cost})
  endif()
endwhile()

# Tests of what only NVRTC makes, and of what a CUDA toolkit's stub of the driver shows.
if(TARGET test_bundle)
  add_test(NAME bundle/test_bundle_nvidia COMMAND test_bundle nvidia)
  set_tests_properties(bundle/test_bundle_nvidia PROPERTIES LABELS t1
    ENVIRONMENT "MLAF_SOURCE_DIR=${CMAKE_SOURCE_DIR};MLAF_BUILD_DIR=${CMAKE_BINARY_DIR}")
endif()
file(GLOB stub /usr/local/cuda*/lib*/stubs/libcuda.so /usr/local/cuda*/targets/*/lib/stubs/libcuda.so
     /usr/lib/x86_64-linux-gnu/stubs/libcuda.so)
if(stub AND TARGET test_cuda)
  list(GET stub 0 stub)
  add_test(NAME cuda/stub COMMAND test_cuda stub ${stub})
  set_tests_properties(cuda/stub PROPERTIES LABELS t1)
endif()

# Tests fail without their compiler. Whoever builds without hiprtc and comgr leaves these out: ctest -LE rocm; without NVRTC: -LE nvrtc.
get_property(all DIRECTORY PROPERTY TESTS)
foreach(test IN LISTS all)
  if(test MATCHES "^(emu|kernels|install|python|hip)/|^compile/test_co|^check/test_(ceilings|soak|toy)|^plan/test_(alloc|latency|plan|refused)|^ops/[a-z_0-9]+/(test_([a-z_]+_)?(launch|kernels)|kernels$)|^bundle/test_(bundle(_tables)?|manifest_changed)$" OR
     test MATCHES "^cli/test_(cli_alloc|cli_files|cli_signals|cli_kill|cli_run|cli_serve|full_disk|profile)|^cli/ship(_tuning|ped_times)|^tune/test_tune_api|^gen/resources$|^embed/embed_copy|test_nvrtc|bundle_nvidia")
    set_property(TEST ${test} APPEND PROPERTY LABELS rocm)
  endif()
  if(TARGET memo-worker AND NOT test MATCHES "^install/|^compile/test_(compile|nvrtc|code_meta)$")
    set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT "MLAF_WORKER=$<TARGET_FILE:memo-worker>")
    if(test MATCHES "^compile/|kill|signals")
      set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT MEMO_FORGET=1)
    endif()
  endif()
  if(test MATCHES "nvrtc|nvidia")
    set_property(TEST ${test} APPEND PROPERTY LABELS nvrtc)
  endif()
  # CTest's limit is of the wall clock, which runs on while a busy machine does something else: it is for what stands still. What
  # runs on and on is stopped by its CPU time (tools/test.sh, tests/limit.h).
  set_tests_properties(${test} PROPERTIES TIMEOUT 14400)
endforeach()
