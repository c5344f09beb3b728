"""The C library that Python's halos and FFTs call: for the MPI that mpi4py has loaded, installed or built on first use."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from rankwise.errors import InputError, RankwiseError, UnusableEnvironmentError

_CALLERS_FAULT = (1, 2, 3)  # the results ARGUMENT, USAGE and UNSUPPORTED


def call(library: ctypes.CDLL, name: str, *arguments: Any) -> None:
    """Call a function of the library, without `rankwise_` in its name; raise what its result stands for."""
    result = getattr(library, f"rankwise_{name}")(*arguments)
    if result != 0:
        library.rankwise_last_error.restype = ctypes.c_char_p
        words = library.rankwise_last_error().decode()
        raise InputError(words) if result in _CALLERS_FAULT else RankwiseError(words)


def library_of_all(comm: Any) -> ctypes.CDLL:
    """Return the library on every rank: one rank builds it before the others look for it."""
    error: RankwiseError | None = None
    if comm.Get_rank() == 0:
        try:
            load_library()
        except RankwiseError as caught:
            error = caught
    error = comm.bcast(error)
    if error is not None:
        raise error
    return load_library()


@cache
def load_library() -> ctypes.CDLL:
    """Return the library, built for the MPI that mpi4py has loaded."""
    from rankwise.launch.process import output_of

    loaded = _loaded_mpi()
    for path in _candidates(loaded):
        linked = {Path(word).resolve() for word in output_of(["ldd", str(path)])[1].split() if word.startswith("/")}
        if linked & loaded:
            try:
                return ctypes.CDLL(str(path))
            except OSError as error:
                raise UnusableEnvironmentError(f"the library cannot be loaded ({error}): reinstall rankwise") from None
    raise UnusableEnvironmentError(
        f"no mpicxx beside {', '.join(map(str, sorted(loaded))) or 'mpi4py'} builds the library for it: "
        "put the mpicxx of the MPI that mpi4py was built with on PATH, with a C++20 compiler behind it"
    )


def _candidates(loaded: set[Path]) -> Iterator[Path]:
    """Yield libraries that may have been built for a loaded MPI: those that were installed, then what compilers make of it."""
    from rankwise.launch.build import build_library
    from rankwise.launch.installed import package_folder

    installed = (package_folder() / "lib" / "librankwise_mpich.so", Path(sys.prefix) / "lib" / "librankwise.so")
    yield from (path for path in installed if path.is_file())
    for compiler in _compilers(loaded):
        try:
            yield build_library(compiler)
        except UnusableEnvironmentError:
            continue


def _loaded_mpi() -> set[Path]:
    """Return the MPI libraries in this process."""
    import mpi4py.MPI  # noqa: F401  (loads the library)

    with open("/proc/self/maps", encoding="utf-8") as maps:
        names = {line.split(maxsplit=5)[5].strip() for line in maps if line.count("/") > 1}
    return {Path(name).resolve() for name in names if Path(name).name.startswith(("libmpi.so", "libmpich.so", "libmpi_abi.so"))}


def _compilers(loaded: set[Path]) -> list[Path]:
    """Return the compiler wrappers that may belong to a library: those beside it first, then those on PATH."""
    folders = [str(parent / "bin") for path in sorted(loaded) for parent in path.parents[1:4]]
    names = ["mpicxx_abi"] if any("abi" in path.name for path in loaded) else ["mpicxx", "mpicxx.mpich", "mpicxx.openmpi"]
    places = [os.pathsep.join(folders), os.environ.get("PATH", os.defpath)]
    found = [shutil.which(name, path=place) for place in places for name in names]
    return list(dict.fromkeys(Path(path) for path in found if path is not None))
