"""Building the kernels for another MPI than the default, on first use, into the user's cache."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rankwise.errors import UnusableEnvironmentError
from rankwise.launch.process import output_of
from rankwise.progress import meter, tell

_SIMULATOR = "simgrid"  # the part of the sources that only a simulator loads
_TIMEOUT_S = 300


def build_kernels(compiler: Path) -> Path:
    """Return kernels built with an MPI compiler wrapper, building them when sources or compiler have changed.

    Raises UnusableEnvironmentError with the compiler's words when they do not build.
    """
    sources = [path for path in _sources() if path.parent.name != _SIMULATOR]
    return _build(compiler, sources, "rankwise-kernels", ("-ldl",), f"building the kernels for {compiler} (once)")


def build_platform(compiler: Path) -> Path:
    """Return the library by which SimGrid reads our platforms, built likewise with its compiler wrapper."""
    sources = [path for path in _sources() if path.parent.name == _SIMULATOR]
    return _build(compiler, sources, "platform.so", (), "building the platforms for SimGrid (once)")


def _sources() -> list[Path]:
    """Return all sources and headers that were installed."""
    from rankwise.launch.mpi import package_folder

    folder = package_folder() / "kernel_sources"
    files = sorted(path for path in folder.rglob("*") if path.suffix in (".cpp", ".hpp"))
    if not files:
        raise UnusableEnvironmentError(f"the kernels' sources are missing ({folder}): reinstall rankwise")
    return files


def _build(compiler: Path, files: Sequence[Path], name: str, libraries: Sequence[str], words: str) -> Path:
    folder = files[0].parent.parent
    digest = hashlib.sha256()
    digest.update(str(compiler.resolve()).encode())
    digest.update(output_of([str(compiler), "-show"])[1].encode())
    for path in files:
        digest.update(path.read_bytes())
    built = cache_folder() / f"kernels-{digest.hexdigest()[:16]}" / name
    if built.is_file():
        return built
    tell(words)
    built.parent.mkdir(parents=True, exist_ok=True)
    units = [path for path in files if path.suffix == ".cpp"]
    # Built under another name and moved, so that an interrupted build leaves nothing that looks finished.
    with tempfile.TemporaryDirectory(dir=built.parent) as scratch, meter("building", len(units)) as progress:

        def compile_unit(numbered: tuple[int, Path]) -> str:
            number, path = numbered
            made = str(Path(scratch) / f"{number}.o")
            _compile([str(compiler), "-std=c++20", "-O2", f"-I{folder}", "-c", str(path), "-o", made], compiler)
            progress.advance()
            return made

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = list(pool.map(compile_unit, enumerate(units)))
        fresh = Path(scratch) / name
        _compile([str(compiler), *objects, "-o", str(fresh), *libraries], compiler)
        os.replace(fresh, built)
    return built


def _compile(command: Sequence[str], compiler: Path) -> None:
    code, words = output_of(command, timeout_s=_TIMEOUT_S)
    if code != 0:
        raise UnusableEnvironmentError(
            f"{compiler} does not build the kernels ({' '.join(words.split())[-300:]}): "
            "it needs a C++20 compiler behind it, or unset RANKWISE_MPI"
        )


def cache_folder() -> Path:
    """Return this program's folder in the user's cache."""
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(root) / "rankwise"
