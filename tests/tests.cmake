# T0: what needs no built code. The C tests register themselves in CMakeLists.txt (label t1).
find_program(MLAF_LUA NAMES lua5.4 lua54 lua REQUIRED)
add_test(NAME lua/generator COMMAND ${MLAF_LUA} ${CMAKE_SOURCE_DIR}/tests/lua/run.lua)
add_test(NAME style COMMAND ${CMAKE_SOURCE_DIR}/tools/check-style.sh)
set_tests_properties(lua/generator style PROPERTIES LABELS t0 TIMEOUT 120
  ENVIRONMENT "MLAF_SOURCE_DIR=${CMAKE_SOURCE_DIR};MLAF_BUILD_DIR=${CMAKE_BINARY_DIR}")
