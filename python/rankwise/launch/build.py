"""Building the kernels for another MPI than the default, on first use, into the user's cache."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from rankwise.errors import UnusableEnvironmentError
from rankwise.launch.process import output_of
from rankwise.progress import tell


def build_kernels(compiler: Path) -> Path:
    """Return kernels built with an MPI compiler wrapper, building them when sources or compiler have changed.

    Raises UnusableEnvironmentError with the compiler's words when they do not build.
    """
    from rankwise.cli.base import tell
    from rankwise.launch.mpi import package_folder

    sources_folder = package_folder() / "kernel_sources"
    files = sorted(path for path in sources_folder.rglob("*") if path.suffix in (".cpp", ".hpp"))
    if not files:
        raise UnusableEnvironmentError(f"the kernels' sources are missing ({sources_folder}): reinstall rankwise")
    digest = hashlib.sha256()
    digest.update(str(compiler.resolve()).encode())
    digest.update(output_of([str(compiler), "-show"])[1].encode())
    for path in files:
        digest.update(path.read_bytes())
    folder = cache_folder() / f"kernels-{digest.hexdigest()[:16]}"
    built = folder / "rankwise-kernels"
    if built.is_file():
        return built
    tell(f"building the kernels for {compiler} (once)")
    folder.mkdir(parents=True, exist_ok=True)
    # Built under another name and moved, so that an interrupted build leaves nothing that looks finished.
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        fresh = Path(scratch) / "rankwise-kernels"
        code, words = output_of(
            [
                str(compiler), "-std=c++20", "-O2", f"-I{sources_folder}",
                *(str(path) for path in files if path.suffix == ".cpp"),
                "-o", str(fresh), "-ldl",
            ],
            timeout_s=900,
        )  # fmt: skip
        if code != 0:
            raise UnusableEnvironmentError(
                f"{compiler} does not build the kernels ({' '.join(words.split())[-300:]}): "
                "it needs a C++20 compiler behind it, or unset RANKWISE_MPI"
            )
        os.replace(fresh, built)
    return built


def cache_folder() -> Path:
    """Return this program's folder in the user's cache."""
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(root) / "rankwise"
