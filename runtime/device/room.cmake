# Only back ends whose room is in this build are in the registry.
foreach(backend_file hip/hip.c cuda/cuda.c emu/device.c)
  get_filename_component(backend ${backend_file} DIRECTORY)
  if(backend IN_LIST MLAF_ROOMS AND EXISTS ${CMAKE_SOURCE_DIR}/runtime/${backend_file})
    string(TOUPPER ${backend} backend_upper)
    target_compile_definitions(mlaf_device PRIVATE MLAF_HAVE_${backend_upper})
  endif()
endforeach()
