"""What is kept between commands in the user's cache: builds for other MPIs, what
was learnt about transforms."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from rankwise.errors import RankwiseError
from rankwise.records import Record, key, record

COMPILER = "compiler"  # a file in a build's folder: the MPI compiler that it was built with
# By the beginning of a name; all of it can be made again.
_KINDS = {
    "mpi-": "build",
    "collective-": "steps of collectives",
    "fft-": "transforms",
    "vega-": "charts of an older version",
    "halo.": "tried steps",
    "kernels-": "build of an older version",
}


@record
class Kept(Record):
    """One entry of the cache: its size in bytes, and for how long nobody has used it."""

    path: Path = key("path of the entry")
    kind: str = key("kind of the entry")
    about: str = key("the compiler that it was built with, or the name of its file")
    size_bytes: int = key("size of the entry")
    unused_s: float = key("for how long nobody has used the entry")
    stale: bool = key("whether nothing uses the entry any more: of an older version, or built for what is gone")


def cache_folder() -> Path:
    """Return this program's folder in the user's cache."""
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(root) / "rankwise"


def kept() -> list[Kept]:
    """Return what lies in the cache, the largest first."""
    folder = cache_folder()
    paths = [path for path in folder.iterdir() if _kind(path)] if folder.is_dir() else []
    return sorted((_kept(path) for path in paths), key=lambda one: -one.size_bytes)


def clear(entries: Sequence[Kept]) -> Sequence[Kept]:
    """Remove entries; return them. Raises RankwiseError."""
    removed = entries
    for one in removed:
        try:
            shutil.rmtree(one.path) if one.path.is_dir() and not one.path.is_symlink() else one.path.unlink()
        except OSError as error:
            raise RankwiseError(f"{one.path} cannot be removed ({error.strerror}): remove it by hand") from None
    return removed


def _kind(path: Path) -> str:
    return next((kind for begin, kind in _KINDS.items() if path.name.startswith(begin)), "")


def _kept(path: Path) -> Kept:
    files = [file for file in (path, *path.rglob("*")) if file.is_file() and not file.is_symlink()]
    seen = [file.stat() for file in files]
    compiler = path / COMPILER
    about = compiler.read_text(encoding="utf-8", errors="replace").strip() if compiler.is_file() else path.name
    used_s = max((max(one.st_mtime, one.st_atime) for one in seen), default=path.stat().st_mtime)
    stale = "older version" in _kind(path) or (compiler.is_file() and not Path(about).exists())
    return Kept(path, _kind(path), about, sum(one.st_size for one in seen), max(0.0, time.time() - used_s), stale)


def knowledge_folder() -> Path | None:
    """Return the folder of what was learnt about transforms on this machine (as src/fft/library.cpp); None: none is kept."""
    given = os.environ.get("RANKWISE_FFT_KNOWLEDGE")
    if given is not None:
        return Path(given) if given else None
    lines = []
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if not line:
                break
            if line.startswith(("model name", "CPU part", "cache size")):
                lines.append(line + "\n")
    except OSError:
        pass
    digest = 0xCBF29CE484222325
    for byte in ("".join(lines) + str(os.sysconf("SC_NPROCESSORS_CONF"))).encode():
        digest = (digest ^ byte) * 0x100000001B3 % 2**64
    return cache_folder() / f"fft-{digest:016x}"


def wisdom_arguments(precision: str) -> list[str]:
    """Return the kernel's arguments that let it keep what the local library learns while it plans."""
    folder = knowledge_folder()
    return [] if folder is None else ["--knowledge", str(folder / f"wisdom-{precision}")]
