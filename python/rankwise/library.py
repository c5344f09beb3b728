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
from rankwise.header import Header, Variable

_CALLERS_FAULT = (1, 2, 3)  # the results ARGUMENT, USAGE and UNSUPPORTED
_VALUES: dict[str, Any] = {
    "int": ctypes.c_int, "rankwise_fint": ctypes.c_int, "size_t": ctypes.c_size_t, "ptrdiff_t": ctypes.c_ssize_t,
    "int64_t": ctypes.c_int64, "double": ctypes.c_double,
}  # fmt: skip


@cache
def header() -> Header:
    from rankwise.launch.installed import package_folder

    return Header(package_folder() / "kernel_sources" / "include" / "rankwise" / "rankwise.h")


@cache
def struct(name: str) -> type[ctypes.Structure]:
    """Return a struct of rankwise.h."""

    def kind(member: Variable) -> Any:
        one = _VALUES.get(member.kind, ctypes.c_void_p)
        return one if member.length is None else one * int(header().constants.get(member.length, member.length))

    return type(name, (ctypes.Structure,), {"_fields_": [(member.name, kind(member)) for member in header().structs[name]]})


def options(name: str, **values: Any) -> Any:
    """Return a struct of options with these values; all others are 0."""
    kind = struct(name)
    return kind(struct_size=ctypes.sizeof(kind), **values)


def number_of(what: str, value: str, enumeration: str) -> int:
    """Return the number of a name of an enumeration of rankwise.h: "two-step". Raises InputError; what: for its words."""
    choices = header().choices[enumeration]
    prefix = os.path.commonprefix(list(choices)).rpartition("_")[0]
    numbers = {key.removeprefix(f"{prefix}_").lower().replace("_", "-"): number for key, number in choices.items()}
    if value not in numbers:
        raise InputError(f"{what} is {value!r}: take one of {', '.join(numbers)}")
    return numbers[value]


def call(library: ctypes.CDLL, name: str, *arguments: Any) -> None:
    """Call a function of the library, without `rankwise_` in its name; raise what its result stands for."""
    function = getattr(library, f"rankwise_{name}")
    if function.argtypes is None:
        parameters = header().functions[f"rankwise_{name}"].parameters
        function.argtypes = [
            ctypes.c_void_p if parameter.length is not None else _VALUES.get(parameter.kind, ctypes.c_void_p)
            for parameter in parameters
        ]
    result = function(*arguments)
    if result != 0:
        library.rankwise_last_error.restype = ctypes.c_char_p
        words = library.rankwise_last_error().decode()
        raise InputError(words) if result in _CALLERS_FAULT else RankwiseError(words)


class Plan:
    """What a handle of the library stands for; making it is collective. family: "halo", as in the functions' names."""

    def __init__(self, comm: Any, family: str) -> None:
        self._handle = ctypes.c_void_p()
        self._library = library_of_all(comm)
        self._family = family

    def explain(self) -> str:
        """Return what was chosen and why, with this rank's messages or boxes and bytes."""
        text = ctypes.create_string_buffer(8192)
        self._call("explain", self._handle, text, len(text), None)
        return text.value.decode()

    def free(self) -> None:
        """Free the plan; collective. Nothing happens the second time."""
        self._call("destroy", ctypes.byref(self._handle))

    def _test(self) -> bool:
        done = ctypes.c_int()
        self._call("test", self._handle, ctypes.byref(done))
        return bool(done.value)

    def _call(self, name: str, *arguments: Any) -> None:
        call(self._library, f"{self._family}_{name}", *arguments)


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
        f"no mpicxx next to {', '.join(map(str, sorted(loaded))) or 'mpi4py'} builds the library for it: "
        "put the mpicxx of the MPI that mpi4py was built with on PATH, with a C++20 compiler behind it"
    )


def _candidates(loaded: set[Path]) -> Iterator[Path]:
    """Yield libraries that may have been built for a loaded MPI: those that were installed, then what compilers make of it."""
    from rankwise.launch.build import LIBRARY, build
    from rankwise.launch.installed import package_folder

    installed = (package_folder() / "lib" / "librankwise_mpich.so", Path(sys.prefix) / "lib" / "librankwise.so")
    yield from (path for path in installed if path.is_file())
    for compiler in _compilers(loaded):
        try:
            yield build(LIBRARY, compiler)
        except UnusableEnvironmentError:
            continue


def _loaded_mpi() -> set[Path]:
    """Return the MPI libraries in this process."""
    import mpi4py.MPI  # noqa: F401  (loads the library)

    with open("/proc/self/maps", encoding="utf-8") as maps:
        names = {line.split(maxsplit=5)[5].strip() for line in maps if line.count("/") > 1}
    return {Path(name).resolve() for name in names if Path(name).name.startswith(("libmpi.so", "libmpich.so", "libmpi_abi.so"))}


def _compilers(loaded: set[Path]) -> list[Path]:
    """Return the compiler wrappers that may belong to a library: those next to it first, then those on PATH."""
    folders = [str(parent / "bin") for path in sorted(loaded) for parent in path.parents[1:4]]
    names = ["mpicxx_abi"] if any("abi" in path.name for path in loaded) else ["mpicxx", "mpicxx.mpich", "mpicxx.openmpi"]
    places = [os.pathsep.join(folders), os.environ.get("PATH", os.defpath)]
    found = [shutil.which(name, path=place) for place in places for name in names]
    return list(dict.fromkeys(Path(path) for path in found if path is not None))
