# Finds the MPI that the kernels are built with and defines the target rankwise_mpi_library.
#
# In this order: that of the compiler, where it is a wrapper; CMake's own variables (MPI_CXX_COMPILER, MPI_HOME), a system MPI
# when the environment says RANKWISE_MPI=system or names its mpicxx, and otherwise the MPICH that pip installs, through the MPI-5 standard ABI
# (RANKWISE_MPI_ABI is then ON). libmpi is never bundled: the installed executable finds the library of the environment that
# it is installed in.

add_library(rankwise_mpi_library INTERFACE)
set(RANKWISE_MPI_ABI OFF)

if(NOT RANKWISE_MPI_WRAPPER AND "$ENV{RANKWISE_MPI}" MATCHES "/" AND NOT DEFINED MPI_CXX_COMPILER AND NOT DEFINED MPI_HOME)
  set(MPI_CXX_COMPILER "$ENV{RANKWISE_MPI}")
elseif(NOT RANKWISE_MPI_WRAPPER AND "$ENV{RANKWISE_MPI}" STREQUAL "system" AND NOT DEFINED MPI_CXX_COMPILER AND NOT DEFINED MPI_HOME)
  # An MPI that pip installed (in an isolated build it stands first on PATH) is not the system's.
  string(REPLACE ":" ";" path_folders "$ENV{PATH}")
  foreach(folder IN LISTS path_folders)
    set(pips "")
    file(GLOB records "${folder}/../lib*/python*/site-packages/*mpi*.dist-info/RECORD")
    foreach(record IN LISTS records)
      file(STRINGS "${record}" line REGEX "bin/mpicxx,")
      string(APPEND pips "${line}")
    endforeach()
    if(NOT pips AND EXISTS "${folder}/mpicxx")
      set(MPI_CXX_COMPILER "${folder}/mpicxx")
      break()
    endif()
  endforeach()
  if(NOT MPI_CXX_COMPILER)
    message(FATAL_ERROR
      "RANKWISE_MPI=system, but no mpicxx is on PATH: install an MPI with its compiler (Debian: libmpich-dev), or unset RANKWISE_MPI.")
  endif()
endif()

if(RANKWISE_MPI_WRAPPER)
  # Without the C++ bindings, which MPI has no more.
  target_compile_definitions(rankwise_mpi_library INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
elseif(DEFINED MPI_CXX_COMPILER OR DEFINED MPI_HOME)
  set(MPI_CXX_SKIP_MPICXX TRUE)  # the C++ bindings, which MPI has no more
  find_package(MPI REQUIRED COMPONENTS CXX)
  target_link_libraries(rankwise_mpi_library INTERFACE MPI::MPI_CXX)
  # The system's library is found where it was linked.
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
  set(RANKWISE_MPI_INSTALL_RPATH "")
  set_property(GLOBAL PROPERTY RANKWISE_MPIEXEC "${MPIEXEC_EXECUTABLE}")
  message(STATUS "rankwise kernels: system MPI ${MPI_CXX_COMPILER}")
else()
  set(RANKWISE_MPI_ABI ON)
  find_package(Python 3.11 REQUIRED COMPONENTS Interpreter)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -c "import sysconfig; print(sysconfig.get_path('scripts'))"
    OUTPUT_VARIABLE python_scripts OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  # In an isolated build pip puts the build requirements' scripts on PATH: look there first.
  find_program(RANKWISE_MPICXX_ABI mpicxx_abi PATHS "${python_scripts}")
  if(NOT RANKWISE_MPICXX_ABI)
    message(FATAL_ERROR
      "No mpicxx_abi found: install the default MPI with 'pip install mpich', or set RANKWISE_MPI=system to build with the MPI on PATH.")
  endif()
  get_filename_component(mpi_prefix "${RANKWISE_MPICXX_ABI}" DIRECTORY)
  get_filename_component(mpi_prefix "${mpi_prefix}" DIRECTORY)
  target_include_directories(rankwise_mpi_library SYSTEM INTERFACE "${mpi_prefix}/include")
  target_compile_definitions(rankwise_mpi_library INTERFACE MPI_ABI)
  target_link_libraries(rankwise_mpi_library INTERFACE "${mpi_prefix}/lib/libmpi_abi.so")
  # The same MPI's older ABI, which many MPIs share (Debian's MPICH, Intel's, Cray's).
  add_library(rankwise_mpich_library INTERFACE)
  target_include_directories(rankwise_mpich_library SYSTEM INTERFACE "${mpi_prefix}/include")
  target_link_libraries(rankwise_mpich_library INTERFACE "${mpi_prefix}/lib/libmpi.so")
  # <prefix>/lib/pythonX.Y/site-packages/rankwise/bin -> <prefix>/lib, and the layout of pip install --target.
  set(RANKWISE_MPI_INSTALL_RPATH "$ORIGIN/../../../..;$ORIGIN/../../lib")
  set_property(GLOBAL PROPERTY RANKWISE_MPIEXEC "${mpi_prefix}/bin/mpiexec")
  message(STATUS "rankwise kernels: MPI-5 ABI of ${mpi_prefix}")
endif()
