"""Building what ranks run for another MPI than the default, on first use, into the user's cache."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType

from rankwise.errors import UnusableEnvironmentError
from rankwise.launch.process import output_of
from rankwise.progress import meter, tell

_TIMEOUT_S = 300
# The folders of the installed sources that each product is made of.
_KERNELS = ("grid", "halo", "schedule", "mpi", "exchange", "measure", "fft", "kernels")
_PLATFORM = ("simgrid",)
_PRELOAD = ("grid", "halo", "mapping", "mpi", "cart", "api", "preload", "rankwise")
_LIBRARY = ("grid", "schedule", "cost", "profile", "decide", "halo", "mpi", "exchange", "fft", "api", "rankwise")
# Of some folders a product takes these files only.
_KERNELS_ONLY = {"exchange": ("content", "executor", "neighborhood", "stencil_exchange", "timed"), "halo": ("copy",)}
_PRELOAD_ONLY = {"api": ("agreement", "cart", "communicator", "environment", "failure", "graph"), "halo": ("copy",)}
_LIBRARY_ONLY = {
    "api": (
        "agreement",
        "communicator",
        "environment",
        "failure",
        "fft",
        "halo",
        "handles",
        "fortran_handles",
        "known_machine",
        "results",
        "versioned",
    ),
    "decide": ("few.cpp", "few.hpp", "few_nodes", "fft_judge", "halo_judge"),
    "exchange": ("carrier", "courier", "executor", "halo_mover", "halo_window", "relay_carrier", "shared_memory", "trial"),
    "fft": (
        "block_exchange",
        "buffer",
        "decomposition",
        "knowledge",
        "library",
        "long_blocks",
        "memory",
        "node_exchange",
        "redistribution",
        "stages",
        "transform",
    ),
    "halo": ("copy", "epochs", "reach", "relay", "halo"),
    "mpi": ("error", "simulated", "wait"),
}
_ALONE = ("preload",)  # what takes the place of MPI's functions must not see MPI's declarations of them


def build_kernels(compiler: Path) -> Path:
    """Return kernels built with an MPI compiler wrapper, building them when sources or compiler have changed.

    Raises UnusableEnvironmentError with the compiler's words when they do not build.
    """
    words = f"building the kernels for {compiler} (once)"
    return _build(compiler, _sources(_KERNELS, _KERNELS_ONLY), "rankwise-kernels", (), ("-ldl",), words)


def build_platform(compiler: Path) -> Path:
    """Return the library by which SimGrid reads our platforms, built likewise with its compiler wrapper."""
    return _build(compiler, _sources(_PLATFORM), "platform.so", (), (), "building the platforms for SimGrid (once)")


def build_preload(compiler: Path) -> Path:
    """Return librankwise_preload.so, built likewise; as in cmake/RankwisePreload.cmake it is linked with no MPI."""
    files = _sources(_PRELOAD, _PRELOAD_ONLY)
    folder = files[0].parent.parent / "preload"
    flags = ("-fPIC", "-fvisibility=hidden", "-include", str(folder / "late_mpi.hpp"))
    link = (
        "-shared", "-static-libstdc++", "-static-libgcc", "-Wl,-z,lazy", f"-Wl,--version-script={folder / 'exports.map'}",
        "-ldl", "-Wl,--as-needed",  # what a wrapper appends
    )  # fmt: skip
    return _build(compiler, files, "librankwise_preload.so", flags, link, f"building the preload library for {compiler} (once)")


def build_library(compiler: Path) -> Path:
    """Return the library of halos and FFTs that Python loads, built likewise."""
    flags = ("-fPIC", "-fvisibility=hidden")
    words = f"building halos and FFTs for {compiler} (once)"
    return _build(compiler, _sources(_LIBRARY, _LIBRARY_ONLY), "librankwise.so", flags, ("-shared", "-ldl"), words)


def _sources(parts: Sequence[str], only: Mapping[str, Sequence[str]] = MappingProxyType({})) -> list[Path]:
    """Return all sources and headers of these parts that were installed; of those in `only` what begins with its names."""
    from rankwise.launch.mpi import package_folder

    folder = package_folder() / "kernel_sources"
    files = sorted(path for part in parts for path in (folder / part).iterdir()) if folder.is_dir() else []
    files = [path for path in files if path.name.startswith(tuple(only.get(path.parent.name, ("",))))]
    if not files:
        raise UnusableEnvironmentError(f"the kernels' sources are missing ({folder}): reinstall rankwise")
    return files


def _build(compiler: Path, files: Sequence[Path], name: str, flags: Sequence[str], link: Sequence[str], words: str) -> Path:
    folder = files[0].parent.parent
    digest = hashlib.sha256()
    digest.update(str(compiler.resolve()).encode())
    digest.update(output_of([str(compiler), "-show"])[1].encode())
    for path in files:
        digest.update(path.read_bytes())
    built = cache_folder() / f"kernels-{digest.hexdigest()[:16]}" / name
    _own_folder(built.parent)
    if _is_as_built(built):
        return built
    tell(words)
    units = _units(files)
    # Built under another name and moved, so that an interrupted build leaves nothing that looks finished.
    with tempfile.TemporaryDirectory(dir=built.parent) as scratch, meter("building", len(units)) as progress:

        def compile_unit(numbered: tuple[int, Sequence[Path]]) -> str:
            number, together = numbered
            made = Path(scratch) / f"{number}.o"
            before = [word for path in together[:-1] for word in ("-include", str(path))]
            last = str(together[-1])
            _compile(
                [str(compiler), "-std=c++20", "-O2", f"-I{folder}", *flags, *before, "-c", last, "-o", str(made)], compiler
            )
            progress.advance()
            return str(made)

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = list(pool.map(compile_unit, enumerate(units)))
        fresh = Path(scratch) / name
        _compile([str(compiler), *objects, "-o", str(fresh), *link], compiler)
        os.chmod(fresh, 0o700)
        (Path(scratch) / "sum").write_text(_checksum(fresh), encoding="ascii")
        os.replace(Path(scratch) / "sum", _sum_of(built))
        os.replace(fresh, built)
    return built


def _own_folder(folder: Path) -> None:
    """Make a folder that only its owner enters; what lies there is executed. Raises UnusableEnvironmentError."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.stat().st_uid == os.geteuid():
            folder.chmod(0o700)
            return
    except OSError as error:
        raise UnusableEnvironmentError(
            f"{folder} cannot be made ({error.strerror}): set XDG_CACHE_HOME to a folder of your own"
        ) from None
    raise UnusableEnvironmentError(f"{folder} is another user's: set XDG_CACHE_HOME to a folder of your own")


def _is_as_built(built: Path) -> bool:
    """Tell whether a file is ours and as it was built: nobody else may write
    to it, and its checksum is the one that was kept."""
    try:
        about, kept = built.stat(), _sum_of(built).read_text(encoding="ascii")
        return about.st_uid == os.geteuid() and not about.st_mode & 0o022 and kept == _checksum(built)
    except (OSError, UnicodeDecodeError):
        return False


def _sum_of(built: Path) -> Path:
    return built.with_name(f"{built.name}.sha256")


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _units(files: Sequence[Path]) -> list[Sequence[Path]]:
    """Return the sources that are compiled as one: those of a folder, which takes half the time of one after the other."""
    of_folder: dict[str, list[Path]] = {}
    for path in files:
        if path.suffix == ".cpp":
            together = path.name if path.parent.name in _ALONE else ""
            of_folder.setdefault(f"{path.parent.name}/{together}", []).append(path)
    # The largest first, so that none is left over at the end.
    return sorted(of_folder.values(), key=lambda unit: -sum(path.stat().st_size for path in unit))


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
