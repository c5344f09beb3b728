# The library that C, C++ and Fortran programs link: librankwise, its header, a CMake package and a .pc file.
# It is never bundled with an MPI: consumers bring the one that it was built with. A wheel brings it for the MPI beside it,
# in the folders of that environment (lib, include), and once more for Python, which may have loaded that MPI's older ABI.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Functions that only call their plan, those for Fortran, and its interfaces are made of the header.
find_package(Python 3.9 REQUIRED COMPONENTS Interpreter)
set(header ${CMAKE_CURRENT_SOURCE_DIR}/include/rankwise/rankwise.h)
set(header_reader ${CMAKE_CURRENT_SOURCE_DIR}/python/rankwise/header.py)
set(made_of_header ${CMAKE_CURRENT_BINARY_DIR}/made)
file(MAKE_DIRECTORY ${made_of_header})
execute_process(COMMAND ${Python_EXECUTABLE} -I ${header_reader} ${header} ${made_of_header} COMMAND_ERROR_IS_FATAL ANY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header} ${header_reader})

file(GLOB api_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/api/*.cpp)
# rankwise_add_library(<name> <suffix of the MPI parts> <library target of the MPI>)
function(rankwise_add_library name suffix mpi)
  add_library(${name} SHARED ${api_sources})
  rankwise_compile_by_folder(${name})
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> PRIVATE ${PROJECT_SOURCE_DIR}/src ${made_of_header})
  # Callers compile against mpi.h, too; installed, they find it by the package (rankwise-config.cmake).
  target_link_libraries(${name}
    PUBLIC $<BUILD_INTERFACE:${mpi}> PRIVATE rankwise_mpi${suffix} rankwise_options)
  # Nothing is visible but the API, whatever the archives and templates within show; no C++ bindings of the MPI are needed, of
  # which we use none.
  target_link_options(${name} PRIVATE LINKER:--version-script=${PROJECT_SOURCE_DIR}/src/api/exports.map LINKER:--as-needed
    $<$<NOT:$<BOOL:${RANKWISE_SANITIZE}>>:LINKER:--no-undefined>)
endfunction()

rankwise_add_library(rankwise "" rankwise_mpi_library)
add_library(rankwise::rankwise ALIAS rankwise)
if(RANKWISE_SANITIZE)
  # The sanitizers' library must come first in the program that uses ours.
  target_link_options(rankwise INTERFACE -fsanitize=${sanitizers})
endif()
set(prefix ${CMAKE_INSTALL_PREFIX})
set(base "")
set(libdir ${CMAKE_INSTALL_LIBDIR})
set(includedir ${CMAKE_INSTALL_INCLUDEDIR})
if(SKBUILD)
  # Beside the MPI of the environment that the wheel is installed in; a library has one name only, for wheels hold no links.
  set(prefix ${SKBUILD_DATA_DIR})
  set(base ${SKBUILD_DATA_DIR}/)
  set(libdir lib)
  set(includedir include)
  set_target_properties(rankwise PROPERTIES INSTALL_RPATH "$ORIGIN")
else()
  set_target_properties(rankwise PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 0 INSTALL_RPATH_USE_LINK_PATH ON)
endif()
if(SKBUILD AND RANKWISE_MPI_ABI)
  rankwise_add_mpi_parts(_mpich rankwise_mpich_library)
  rankwise_add_library(rankwise_mpich _mpich rankwise_mpich_library)
  set_target_properties(rankwise_mpich PROPERTIES INSTALL_RPATH "${RANKWISE_MPI_INSTALL_RPATH}")
  install(TARGETS rankwise_mpich LIBRARY DESTINATION rankwise/lib)
endif()

# What those who build against it define: the MPI that it has, and that the C++ bindings, which MPI has no more, are left out.
# Not MPI_ABI, which only the wrapper that links this ABI may define: the same mpi.h serves MPICH's older one.
# And what is true of the constants of Fortran, and a symbol of libmpi, of this MPI only.
set(languages "C, C++ and Fortran")
set(fortran_fits .true.)
if(RANKWISE_MPI_ABI)
  set(definitions RANKWISE_FOR_MPI_ABI)
  set(languages "C and C++")
else()
  set(definitions OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  if(NOT RANKWISE_MPI_WRAPPER)
    set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_CXX)
    foreach(family OPEN_MPI MPICH_NAME)
      include(CheckCXXSymbolExists)
      check_cxx_symbol_exists(${family} mpi.h RANKWISE_HAS_${family})
    endforeach()
    unset(CMAKE_REQUIRED_LIBRARIES)
  endif()
  if(RANKWISE_HAS_OPEN_MPI)
    list(APPEND definitions RANKWISE_FOR_OPEN_MPI)
    set(fortran_fits MPI_COMM_WORLD==0)
    set(fortran_needs ompi_mpi_comm_world)
  elseif(RANKWISE_HAS_MPICH_NAME)
    list(APPEND definitions RANKWISE_FOR_MPICH)
    set(fortran_fits MPI_COMM_WORLD==1140850688)
    set(fortran_needs MPIR_Err_create_code)
  endif()
endif()
list(TRANSFORM definitions PREPEND -D OUTPUT_VARIABLE cflags)
list(JOIN cflags " " cflags)

# The Fortran module needs a Fortran compiler but no MPI of its own: it calls the library's C functions. A module is of one
# compiler, and so none is in a wheel.
if(RANKWISE_FORTRAN AND NOT SKBUILD)
  include(CheckLanguage)
  check_language(Fortran)
  if(CMAKE_Fortran_COMPILER)
    enable_language(Fortran)
    set(fortran_sources ${made_of_header}/rankwise_c.f90)
    foreach(module rankwise rankwise_halo rankwise_fft)
      list(APPEND fortran_sources ${CMAKE_CURRENT_SOURCE_DIR}/src/fortran/${module}.f90)
    endforeach()
    add_library(rankwise_fortran SHARED ${fortran_sources} src/fortran/arrays.cpp)
    add_library(rankwise::rankwise_fortran ALIAS rankwise_fortran)
    set(fortran_modules ${CMAKE_CURRENT_BINARY_DIR}/fortran)
    set_target_properties(rankwise_fortran PROPERTIES
      VERSION ${PROJECT_VERSION} SOVERSION 0 Fortran_MODULE_DIRECTORY ${fortran_modules}
      INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)
    target_link_options(rankwise_fortran PRIVATE LINKER:--as-needed)
    if(fortran_needs)
      # An object that needs the MPI itself: with the wrapper of another one, which does not name that library, linking fails.
      file(CONFIGURE OUTPUT ${made_of_header}/fits.c CONTENT
        "extern char @fortran_needs@;\nvoid* rankwise_fits_mpi = &@fortran_needs@;\n" @ONLY)
      add_library(rankwise_fits STATIC ${made_of_header}/fits.c)
      set_target_properties(rankwise_fits PROPERTIES POSITION_INDEPENDENT_CODE ON)
      install(TARGETS rankwise_fits ARCHIVE DESTINATION ${base}${libdir})
      set(fortran_require " -Wl,-u,rankwise_fits_mpi -lrankwise_fits")
    endif()
    target_include_directories(rankwise_fortran PUBLIC $<BUILD_INTERFACE:${fortran_modules}>)
    target_link_libraries(rankwise_fortran PUBLIC rankwise)
    install(TARGETS rankwise_fortran EXPORT rankwise-targets LIBRARY DESTINATION ${base}${libdir}
      INCLUDES DESTINATION ${includedir}/rankwise/fortran)
    install(FILES ${fortran_modules}/rankwise_c.mod ${fortran_modules}/rankwise.mod ${fortran_modules}/rankwise_halo.mod
      ${fortran_modules}/rankwise_fft.mod ${fortran_sources} DESTINATION ${base}${includedir}/rankwise/fortran)
  endif()
endif()

foreach(definition IN LISTS definitions)
  target_compile_definitions(rankwise INTERFACE $<INSTALL_INTERFACE:${definition}>)
endforeach()
install(TARGETS rankwise EXPORT rankwise-targets LIBRARY DESTINATION ${base}${libdir} INCLUDES DESTINATION ${includedir})
install(EXPORT rankwise-targets NAMESPACE rankwise:: DESTINATION ${base}${libdir}/cmake/rankwise)
if(SKBUILD)
  # A wheel's data lie in the build under an absolute path, which CMake takes for the place to be: it is where the file lies.
  install(CODE "
    file(GLOB files \"${base}${libdir}/cmake/rankwise/rankwise-targets*.cmake\")
    foreach(file IN LISTS files)
      file(READ \${file} text)
      string(REGEX REPLACE \"set\\\\(_IMPORT_PREFIX \\\"[^\\\"]+\\\"\\\\)\"
        \"get_filename_component(_IMPORT_PREFIX \\\"\\\${CMAKE_CURRENT_LIST_DIR}/../../..\\\" ABSOLUTE)\" text \"\${text}\")
      string(REPLACE \"${SKBUILD_DATA_DIR}\" \"\\\${_IMPORT_PREFIX}\" text \"\${text}\")
      file(WRITE \${file} \"\${text}\")
    endforeach()")
endif()
install(FILES include/rankwise/rankwise.h DESTINATION ${base}${includedir}/rankwise)
# Package and .pc file find all from where they lie, so that the tree may be installed or moved anywhere.
configure_package_config_file(cmake/rankwise-config.cmake.in rankwise-config.cmake
  INSTALL_DESTINATION ${base}${libdir}/cmake/rankwise INSTALL_PREFIX ${prefix} PATH_VARS libdir includedir)
write_basic_package_version_file(rankwise-config-version.cmake VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/rankwise-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/rankwise-config-version.cmake DESTINATION ${base}${libdir}/cmake/rankwise)
set(pc_prefix ${prefix})
if(NOT IS_ABSOLUTE ${libdir})
  file(RELATIVE_PATH pc_prefix /${libdir}/pkgconfig /)
  set(pc_prefix "\${pcfiledir}/${pc_prefix}")
endif()
set(pcs rankwise)
if(TARGET rankwise_fortran)
  list(APPEND pcs rankwise-fortran)
endif()
foreach(pc ${pcs})
  configure_file(cmake/${pc}.pc.in ${pc}.pc @ONLY)
endforeach()
list(TRANSFORM pcs PREPEND ${CMAKE_CURRENT_BINARY_DIR}/)
list(TRANSFORM pcs APPEND .pc)
install(FILES ${pcs} DESTINATION ${base}${libdir}/pkgconfig)
