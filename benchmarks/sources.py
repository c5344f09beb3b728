"""Public programs that benchmarks are run with: a folder that is here, or a clone of what is published. None of it is kept."""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Iterable
from pathlib import Path

_PUBLISHED = {
    "cloverleaf": "https://github.com/UK-MAC/CloverLeaf_ref",
    "comd": "https://github.com/ECP-copa/CoMD",
    "hpccg": "https://github.com/Mantevo/HPCCG",
    "lulesh": "https://github.com/LLNL/LULESH",
    "miniamr": "https://github.com/Mantevo/miniAMR",
    "minighost": "https://github.com/Mantevo/miniGhost",
    "prk": "https://github.com/ParRes/Kernels",
}
_COMD_WORDS = "Variant VARIANT HOSTNAME KERNEL_NAME KERNEL_RELEASE PROCESSOR COMPILER COMPILER_VERSION CFLAGS LDFLAGS"


def add_arguments(parser: argparse.ArgumentParser, names: Iterable[str]) -> None:
    parser.add_argument("--clone", action="store_true", help="fetch the sources of programs that have no folder")
    for name in names:
        parser.add_argument(f"--{name}", help="a folder of its sources, or whence git clones them")


def folder_of(name: str, given: argparse.Namespace, into: Path) -> Path | None:
    """Where a program's sources are, cloned into a folder where they must be; None: not asked for."""
    place = getattr(given, name) or (_PUBLISHED[name] if given.clone else None)
    if place is None or Path(place).is_dir():
        return place and Path(place).resolve()
    clone = into / name
    if not clone.exists():
        subprocess.run(["git", "clone", "--quiet", "--depth", "1", place, clone], check=True)
    return clone


def comd(folder: Path, into: Path) -> tuple[list[Path], list[str]]:
    """The files of CoMD and the flags that they are compiled with; a header that its Makefile writes is put into a folder."""
    (into / "CoMD_info.h").write_text("".join(f'#define CoMD_{word} "-"\n' for word in _COMD_WORDS.split()))
    return sorted((folder / "src-mpi").glob("*.c")), ["-DDOUBLE", "-DDO_MPI", f"-I{into}"]
