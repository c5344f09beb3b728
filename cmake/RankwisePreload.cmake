# librankwise_preload.so, which gives unmodified programs the mapping (src/preload). It is compiled against one MPI's
# header and linked with no MPI: it finds that of the program in which it is loaded, and is harmless in any other. Nothing
# of it is visible but MPI's own names, and it brings its C++ library along, so that a program's own is left alone.

include(GNUInstallDirs)
# The part of the C API that makes mapped communicators.
set(preload_api communicator environment failure topology)
list(TRANSFORM preload_api PREPEND src/api/ OUTPUT_VARIABLE preload_api_files)
list(TRANSFORM preload_api_files APPEND .cpp OUTPUT_VARIABLE preload_api_sources)
file(GLOB preload_sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} src/preload/*.cpp src/cart/*.cpp src/mpi/*.cpp)
list(APPEND preload_sources ${preload_api_sources})
list(TRANSFORM preload_sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
set(RANKWISE_SOURCE_FOLDER ${CMAKE_CURRENT_SOURCE_DIR})

# rankwise_add_preload(<name> <include folders of the MPI> [<compile definitions>...])
function(rankwise_add_preload name folders)
  add_library(${name} SHARED ${preload_sources})
  rankwise_compile_by_folder(${name})
  target_include_directories(${name} PRIVATE ${RANKWISE_SOURCE_FOLDER}/src ${RANKWISE_SOURCE_FOLDER}/include)
  target_include_directories(${name} SYSTEM PRIVATE ${folders})
  target_compile_definitions(${name} PRIVATE ${ARGN})
  target_compile_options(${name} PRIVATE -include ${RANKWISE_SOURCE_FOLDER}/src/preload/late_mpi.hpp)
  target_link_libraries(${name} PRIVATE rankwise_core rankwise_options ${CMAKE_DL_LIBS})
  target_link_options(${name} PRIVATE -static-libstdc++ -static-libgcc LINKER:-z,lazy
    LINKER:--as-needed  # what a wrapper appends
    LINKER:--version-script=${RANKWISE_SOURCE_FOLDER}/src/preload/exports.map)
endfunction()

rankwise_add_preload(rankwise_preload
  $<TARGET_PROPERTY:rankwise_mpi_library,INTERFACE_INCLUDE_DIRECTORIES>
  $<TARGET_PROPERTY:rankwise_mpi_library,INTERFACE_COMPILE_DEFINITIONS>)
set(preload_folder ${CMAKE_INSTALL_LIBDIR})
if(SKBUILD)
  set(preload_folder rankwise/lib)
endif()
install(TARGETS rankwise_preload LIBRARY DESTINATION ${preload_folder})
if(RANKWISE_MPI_ABI)
  # One library for all MPIs of the older ABI.
  rankwise_add_preload(rankwise_preload_mpich $<TARGET_PROPERTY:rankwise_mpich_library,INTERFACE_INCLUDE_DIRECTORIES>)
  install(TARGETS rankwise_preload_mpich LIBRARY DESTINATION ${preload_folder})
endif()
