# The library that C, C++ and Fortran programs link: librankwise, its header, a CMake package and a .pc file.
# Wheels go without it. It is never bundled with an MPI: consumers bring the one that it was built with.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(RANKWISE_LIBRARY_VERSION 0.1.0)

file(GLOB api_sources CONFIGURE_DEPENDS src/api/*.cpp)
add_library(rankwise SHARED ${api_sources})
add_library(rankwise::rankwise ALIAS rankwise)
rankwise_compile_by_folder(rankwise)
target_include_directories(rankwise PUBLIC
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_include_directories(rankwise PRIVATE src)
# Callers compile against mpi.h, too; installed, they find it by the package (rankwise-config.cmake).
target_link_libraries(rankwise
  PUBLIC $<BUILD_INTERFACE:rankwise_mpi_library>
  PRIVATE $<BUILD_INTERFACE:rankwise_mpi> $<BUILD_INTERFACE:rankwise_options>)
# Nothing is visible but the API, whatever the archives within show; no C++ bindings of the MPI are needed, of which we use none.
target_link_options(rankwise PRIVATE LINKER:--exclude-libs,ALL LINKER:--as-needed)
if(RANKWISE_SANITIZE)
  # The sanitizers' library must come first in the program that uses ours.
  target_link_options(rankwise INTERFACE $<BUILD_INTERFACE:-fsanitize=${sanitizers}>)
endif()
set_target_properties(rankwise PROPERTIES
  VERSION ${RANKWISE_LIBRARY_VERSION}
  SOVERSION 0
  INSTALL_RPATH_USE_LINK_PATH ON)

if(TARGET MPI::MPI_CXX)
  set(rankwise_mpi_abi OFF)
  set(rankwise_pc_cflags "-DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX")
else()
  set(rankwise_mpi_abi ON)
  set(rankwise_pc_cflags "-DMPI_ABI")
endif()

# The Fortran module needs a Fortran compiler but no MPI of its own: it calls the library's C functions.
if(RANKWISE_FORTRAN)
  include(CheckLanguage)
  check_language(Fortran)
  if(CMAKE_Fortran_COMPILER)
    enable_language(Fortran)
    set(fortran_sources src/fortran/rankwise.f90 src/fortran/rankwise_halo.f90 src/fortran/rankwise_fft.f90)
    add_library(rankwise_fortran SHARED ${fortran_sources} src/fortran/arrays.cpp)
    add_library(rankwise::rankwise_fortran ALIAS rankwise_fortran)
    set(fortran_modules ${CMAKE_CURRENT_BINARY_DIR}/fortran)
    set_target_properties(rankwise_fortran PROPERTIES
      VERSION ${RANKWISE_LIBRARY_VERSION} SOVERSION 0 Fortran_MODULE_DIRECTORY ${fortran_modules}
      INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)
    target_link_options(rankwise_fortran PRIVATE LINKER:--as-needed)
    target_include_directories(rankwise_fortran PUBLIC
      $<BUILD_INTERFACE:${fortran_modules}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/rankwise/fortran>)
    target_link_libraries(rankwise_fortran PUBLIC rankwise)
    install(TARGETS rankwise_fortran EXPORT rankwise-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(FILES ${fortran_modules}/rankwise.mod ${fortran_modules}/rankwise_halo.mod ${fortran_modules}/rankwise_fft.mod
      ${fortran_sources} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rankwise/fortran)
  endif()
endif()

install(TARGETS rankwise EXPORT rankwise-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/rankwise/rankwise.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rankwise)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rankwise)
install(EXPORT rankwise-targets NAMESPACE rankwise:: DESTINATION ${package_dir})
configure_package_config_file(cmake/rankwise-config.cmake.in rankwise-config.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(rankwise-config-version.cmake
  VERSION ${RANKWISE_LIBRARY_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/rankwise-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/rankwise-config-version.cmake DESTINATION ${package_dir})
# The .pc file finds its prefix from where it lies, so that the tree may be installed or moved anywhere.
file(RELATIVE_PATH rankwise_pc_to_prefix
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/rankwise.pc.in rankwise.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/rankwise.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
