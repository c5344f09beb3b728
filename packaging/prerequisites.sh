#!/bin/sh
# What the system must have before anything is built, and what only the system can give the tests:
#   prerequisites.sh           one line and exit code 1 where something is missing or too old
#   prerequisites.sh optional  one line: what cannot be tested here, and the command that installs it
#   prerequisites.sh packages  Debian's packages of all that
PYTHON=${PYTHON:-python3}
PATH=$PATH:/usr/sbin:/sbin

# What, what tells that it is there (programs, libraries), Debian's packages.
optional() {
  cat <<'TABLE'
simulate:smpicxx:libsimgrid-dev
Slurm:slurmctld munged:slurm-wlm munge
nodes in namespaces:ip:iproute2
hwloc:lstopo-no-graphics:hwloc
MPICH of the system:mpicxx.mpich mpiexec.mpich:libmpich-dev mpich
Open MPI:mpicxx.openmpi mpiexec.openmpi:libopenmpi-dev openmpi-bin
LAMMPS:lmp:lammps
meep:meep:meep-openmpi
mpb:mpb-mpi:mpb-mpi
pages in a browser:chromium:chromium fonts-dejavu-core
Fortran:gfortran:gfortran
pkg-config:pkg-config:pkgconf
FFTW of the system:libfftw3.so.3 libfftw3f.so.3:libfftw3-double3 libfftw3-single3
cachegrind:valgrind:valgrind
TABLE
}

has() {
  for one in $1; do
    case $one in
      lib*) ldconfig -p | grep -q "$one" || return 1 ;;
      *) command -v "$one" > /dev/null || return 1 ;;
    esac
  done
}

missing="" packages=""
lack() {
  missing="$missing${missing:+, }$1"
  packages="$packages $2"
}

case ${1:-required} in
  packages)
    optional | cut -d: -f3
    exit
    ;;
  optional)
    while IFS=: read -r what signs package; do
      has "$signs" || lack "$what ($package)" "$package"
    done <<TABLE
$(optional)
TABLE
    [ -z "$missing" ] || echo "not tested here: $missing; install with: apt-get install$packages"
    exit
    ;;
  required) ;;
  *)
    echo "usage: prerequisites.sh [optional|packages]" >&2
    exit 2
    ;;
esac

if ! "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then
  lack "Python 3.11 or newer ($PYTHON is $("$PYTHON" -V 2> /dev/null || echo missing))" "python3 python3-dev python3-venv"
else
  "$PYTHON" -c 'import venv, ensurepip' 2> /dev/null || lack "Python's venv" python3-venv
  "$PYTHON" -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2> /dev/null ||
    lack "Python's headers" python3-dev
fi
compiler=${CXX:-c++}
if ! said=$($compiler -std=c++20 -fsyntax-only -x c++ - 2>&1 <<'SOURCE'
#if defined(__clang__) ? __clang_major__ < 16 : __GNUC__ < 12
#error too old
#endif
#include <concepts>
#include <ranges>
#include <span>
SOURCE
); then
  case $said in
    *"not found"*) lack "a C++ compiler" g++ ;;
    *) lack "a C++20 compiler (g++ 12, clang 16 or newer; $compiler is $($compiler -dumpversion))" g++ ;;
  esac
fi
if ! command -v cmake > /dev/null; then
  lack "CMake" cmake
elif ! printf '3.22\n%s\n' "$(cmake --version | sed -n '1s/.* //p')" | sort -CV; then
  lack "CMake 3.22 or newer" cmake
fi
command -v git > /dev/null || lack "git" git
[ -z "$missing" ] && exit
echo "rankwise: missing: $missing; install with: apt-get install$packages (elsewhere: README.md)" >&2
exit 1
