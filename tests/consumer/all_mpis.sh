#!/usr/bin/env bash
# Builds rankwise for each MPI that is here, on the core of the installed package, and the consumers against each: C11, C++17,
# C++20, mpif.h, use mpi and mpi_f08, by find_package and by pkg-config; then uses each as a user does: quick, measure,
# validate, observe, preload. About five minutes an MPI on two idle cores.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${PYTHON:-.venv/bin/python}
core=$($python -c 'from rankwise.launch.installed import package_folder; print(package_folder() / "lib" / "librankwise_core.a")')

try() {  # name, mpicc, mpicxx, mpiexec, the mpicc of another MPI, whether with Fortran
  [ -x "$2" ] || { echo "$1: not here"; return; }
  echo "== $1"
  cmake -S . -B "build/consumer/$1" -DRANKWISE_PYTHON=OFF -DRANKWISE_UNITY=ON -DRANKWISE_FORTRAN="${6:-ON}" -DRANKWISE_CORE="$core" -DMPI_CXX_COMPILER="$3" > "build/consumer/$1.txt"
  cmake --build "build/consumer/$1" --parallel 2 >> "build/consumer/$1.txt"
  RANKWISE_MPI="$3" $python tests/consumer/use.py "$2" "$4"
  $python tests/consumer/build_and_run.py --build "build/consumer/$1" --cmake cmake --mpicc "$2" --mpiexec "$4" --other "$5"
}

mkdir -p build/consumer
bin=$PWD/$(dirname "$python")
[[ $python = /* ]] && bin=$(dirname "$python")
try mpich-pip "$bin/mpicc" "$bin/mpicxx" "$bin/mpiexec" /usr/bin/mpicc.openmpi
try mpich-debian /usr/bin/mpicc.mpich /usr/bin/mpicxx.mpich /usr/bin/mpiexec.mpich /usr/bin/mpicc.openmpi
try openmpi4-debian /usr/bin/mpicc.openmpi /usr/bin/mpicxx.openmpi /usr/bin/mpiexec.openmpi /usr/bin/mpicc.mpich
five=$PWD/build/mpis/openmpi5
export OPAL_PREFIX=$five
try openmpi5-pip "$five/bin/mpicc" "$five/bin/mpicxx" "$five/bin/mpiexec" /usr/bin/mpicc.mpich
unset OPAL_PREFIX
export I_MPI_ROOT=$PWD/build/mpis/intel
export LD_LIBRARY_PATH=$I_MPI_ROOT/lib
# Pip's has no mpifort.
try intel-pip "$I_MPI_ROOT/bin/mpicc" "$I_MPI_ROOT/bin/mpicxx" "$I_MPI_ROOT/bin/mpiexec" /usr/bin/mpicc.openmpi OFF
