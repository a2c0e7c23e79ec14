# `cmake --install` installs the command, worker, library, headers, packages for CMake and pkg-config, man page, completion for
# shells, shipped tuning data, Python package. Nothing of it holds a path of this machine, so the tree may be moved as a whole;
# DESTDIR works as usual.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(MLAF_PYTHON_DIR lib/python3/dist-packages CACHE STRING "Where the Python package goes, under the prefix")
option(MLAF_INSTALL_STATIC "Also install libmlaforge.a" OFF)

install(TARGETS mlaforge RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS mlaforge-worker RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR})
set_target_properties(mlaforge_shared PROPERTIES EXPORT_NAME mlaforge)
target_include_directories(mlaforge_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS mlaforge_shared EXPORT mlaforgeTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/mlaforge DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

# --- the static library: all rooms in one archive; its own dependencies are named by the packages ---
if(MLAF_INSTALL_STATIC)
  set(objects)
  foreach(room IN LISTS room_targets)
    if(NOT room STREQUAL mlaf_cli)
      list(APPEND objects $<TARGET_OBJECTS:${room}>)
    endif()
  endforeach()
  add_library(mlaforge_static STATIC ${objects})
  set_target_properties(mlaforge_static PROPERTIES OUTPUT_NAME mlaforge EXPORT_NAME mlaforge_static
                        ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/static)
  target_include_directories(mlaforge_static INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(mlaforge_static INTERFACE PkgConfig::LUA PkgConfig::SQLITE PkgConfig::CRYPTO PkgConfig::CJSON
                        Threads::Threads ${CMAKE_DL_LIBS} m)
  install(TARGETS mlaforge_static EXPORT mlaforgeTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()

# --- packages ---
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/mlaforge)
install(EXPORT mlaforgeTargets NAMESPACE mlaforge:: DESTINATION ${config_dir})
configure_package_config_file(cmake/mlaforgeConfig.cmake.in ${CMAKE_BINARY_DIR}/mlaforgeConfig.cmake
                              INSTALL_DESTINATION ${config_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/mlaforgeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/mlaforgeConfig.cmake ${CMAKE_BINARY_DIR}/mlaforgeConfigVersion.cmake
        DESTINATION ${config_dir})
file(RELATIVE_PATH pc_up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /) # from the .pc file to the prefix
string(REGEX REPLACE "/$" "" pc_up "${pc_up}")
# Two packages: who links the shared library need not have what the static one needs, not even for --cflags.
foreach(package mlaforge mlaforge-static)
  if(package STREQUAL mlaforge OR MLAF_INSTALL_STATIC)
    configure_file(cmake/${package}.pc.in ${CMAKE_BINARY_DIR}/${package}.pc @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/${package}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  endif()
endforeach()

# --- man page, data, Python ---
set(man_page ${CMAKE_BINARY_DIR}/mlaforge.1)
add_custom_command(
  OUTPUT ${man_page}
  COMMAND ${MLAF_LUA} ${CMAKE_SOURCE_DIR}/tools/man.lua $<TARGET_FILE:mlaforge> ${man_page}
  DEPENDS mlaforge ${CMAKE_SOURCE_DIR}/tools/man.lua
  COMMENT "Man page from --help"
  VERBATIM)
add_custom_target(man ALL DEPENDS ${man_page})
install(FILES ${man_page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
add_custom_target(api-reference COMMAND ${CMAKE_SOURCE_DIR}/tools/api-reference.sh ${CMAKE_BINARY_DIR}/api-reference
                  COMMENT "API reference by doxygen" VERBATIM USES_TERMINAL)
# Completion, where each shell looks.
set(completion_bash bash-completion/completions/mlaforge)
set(completion_zsh zsh/site-functions/_mlaforge)
set(completion_fish fish/vendor_completions.d/mlaforge.fish)
set(completions)
foreach(shell bash zsh fish)
  set(file ${CMAKE_BINARY_DIR}/completion/${completion_${shell}})
  get_filename_component(folder ${completion_${shell}} DIRECTORY)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/completion/${folder})
  add_custom_command(OUTPUT ${file} COMMAND mlaforge completion ${shell} > ${file} DEPENDS mlaforge COMMENT "Completion for ${shell}"
                     VERBATIM)
  list(APPEND completions ${file})
  install(FILES ${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder})
endforeach()
add_custom_target(completion ALL DEPENDS ${completions})
install(DIRECTORY tuning/ DESTINATION ${CMAKE_INSTALL_DATADIR}/mlaforge/tuning
        FILES_MATCHING PATTERN "*.tsv" PATTERN "README.md")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY python/mlaforge DESTINATION ${MLAF_PYTHON_DIR} FILES_MATCHING PATTERN "*.py" PATTERN "jax_ffi.cc")
if(TARGET mlaforge_fast)
  install(TARGETS mlaforge_fast LIBRARY DESTINATION ${MLAF_PYTHON_DIR}/mlaforge)
endif()
