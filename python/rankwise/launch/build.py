"""Building on first use, into the user's cache: what ranks run for another MPI than the default, and the libraries that
'make quick' leaves out."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rankwise.cache import COMPILER, cache_folder
from rankwise.errors import UnusableEnvironmentError
from rankwise.files import locked, write_whole
from rankwise.launch.process import Child, output_of
from rankwise.progress import Meter, meter, tell

_TIMEOUT_S = 300  # without a word
_COMPILERS_WORDS = re.compile(r"error: (?!ld returned)|cannot find|undefined reference")
_DONE = re.compile(r"\[ *(\d+)%\]|\[(\d+)/(\d+)\]")  # how CMake's makefiles and Ninja say how far they are


@dataclass(frozen=True)
class Part:
    """A target of the installed CMakeLists.txt, the file that comes of it, its name in messages, and how long it takes to
    compile on two cores."""

    target: str
    file: str
    what: str
    about_s: int
    needs_mpi: bool = True


KERNELS = Part("rankwise-kernels", "rankwise-kernels", "the kernels", 30)
PLATFORM = Part("rankwise_platform", "librankwise_platform.so", "the platforms of simulations", 5)
PRELOAD = Part("rankwise_preload", "librankwise_preload.so", "the preload library", 15)
PRELOAD_MPICH = Part("rankwise_preload_mpich", "librankwise_preload_mpich.so", "the preload library of MPICH's older ABI", 15)
LIBRARY = Part("rankwise", "librankwise.so", "halos and FFTs", 40)
TRACER = Part("rankwise_observe", "librankwise_observe.so", "the tracer", 10, needs_mpi=False)


def has_kernels(compiler: Path) -> bool:
    """Tell whether the kernels were built for a compiler before."""
    return _is_as_built(_folder(compiler) / KERNELS.file)


def build(part: Part, compiler: Path | None = None) -> Path:
    """Return what comes of a target of the installed CMakeLists.txt, built on top of the core that was installed; again when
    sources or compiler have changed.

    ``compiler``: an MPI's wrapper; None: the default MPI. What is built for one MPI shares a folder in the cache, and so what
    its targets have in common. Raises UnusableEnvironmentError with the compiler's words where it does not build.
    """
    kept = _folder(compiler)
    built = kept / part.file
    _own_folder(kept)
    if _is_as_built(built):
        return built
    whose = f" for {compiler or 'the default MPI'}" if compiler or part.needs_mpi else ""
    tell(f"building {part.what}{whose} (once, about {part.about_s} s on two cores)")
    cmake = shutil.which("cmake", path=os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)]))
    if cmake is None:
        raise UnusableEnvironmentError(
            f"{part.what} cannot be built{whose} without CMake: pip install cmake"
            f"{', or unset RANKWISE_MPI' if compiler else ''}"
        )
    with (kept / "lock").open("ab") as lock:
        locked(lock, wait=True)
        if _is_as_built(built):  # by another process, meanwhile
            return built
        made = kept / "build"
        about = f"{compiler or sys.prefix}\n"
        if (kept / COMPILER).is_file() and (kept / COMPILER).read_text(encoding="utf-8") != about:
            # The same compiler by another path: CMake would begin anew without our options.
            shutil.rmtree(made, ignore_errors=True)
        write_whole(kept / COMPILER, about)
        with meter(f"building {part.what}", 100) as progress:
            # SimGrid's wrapper compiles programs for its simulator; this lets CMake's trials of it be programs of this machine.
            pretend = {"SMPI_PRETEND_CC": "1"}
            complain = f"{compiler or 'the compiler'} does not build {part.what}"
            _run([cmake, "-S", _installed()[0], "-B", made, *_options(compiler, part)], pretend, complain, progress)
            parallel = os.cpu_count() or 1
            _run([cmake, "--build", made, "--target", part.target, "--parallel", parallel], {}, complain, progress)
        # Moved when it is whole, so that an interrupted build leaves nothing that looks finished.
        # A library's name may be a link to the file of its version.
        (path,) = ((folder / part.file).resolve() for folder in (made, made / "lib") if (folder / part.file).is_file())
        os.chmod(path, 0o700)
        write_whole(_sum_of(built), _checksum(path))
        os.replace(path, built)
    return built


def _options(compiler: Path | None, part: Part) -> list[str]:
    """Return CMake's options of a build."""
    options: dict[str, object] = {
        "CMAKE_BUILD_TYPE": "Release", "RANKWISE_CORE": _installed()[1], "RANKWISE_UNITY": "ON", "RANKWISE_FORTRAN": "OFF",
        "RANKWISE_KERNELS": "ON" if part.needs_mpi else "OFF", "Python_EXECUTABLE": sys.executable,
    }  # fmt: skip
    if compiler is not None:
        options |= {"CMAKE_CXX_COMPILER": compiler, "RANKWISE_MPI_WRAPPER": "ON"}
    else:
        options["RANKWISE_MPICXX_ABI"] = _default_wrapper()
    return [f"-D{key}={value}" for key, value in options.items()]


def _default_wrapper() -> Path:
    """Return where pip puts the default MPI's wrapper for the standard ABI."""
    return Path(sysconfig.get_path("scripts")) / "mpicxx_abi"


def _installed() -> tuple[Path, Path]:
    """Return the installed sources and the core that was compiled from them. Raises UnusableEnvironmentError."""
    from rankwise.launch.installed import package_folder

    sources, core = package_folder() / "kernel_sources", package_folder() / "lib" / "librankwise_core.a"
    if not (sources / "CMakeLists.txt").is_file() or not core.is_file():
        raise UnusableEnvironmentError(f"the kernels' sources are missing ({sources}): reinstall rankwise")
    return sources, core


def _folder(compiler: Path | None) -> Path:
    """Return where builds are kept: by the machine, the compiler, its MPI's header, and all that is compiled."""
    sources, core = _installed()
    wrapper = compiler or _default_wrapper()
    shown = output_of([str(wrapper), "-show"])[1]
    digest = hashlib.sha256(f"{platform.machine()} {wrapper.resolve()} {shown}".encode())
    headers = [Path(folder) / "mpi.h" for folder in re.findall(r'-I"?([^"\s]+)', shown)]
    for path in (*headers, core, *sorted(sources.rglob("*"))):
        if path.is_file():
            digest.update(path.read_bytes())
    return cache_folder() / f"mpi-{digest.hexdigest()[:16]}"


def _own_folder(folder: Path) -> None:
    """Make a folder that only its owner enters; what lies there is executed. Raises UnusableEnvironmentError."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.lstat().st_uid == os.geteuid() and not folder.is_symlink():
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


def _run(command: Sequence[object], more: Mapping[str, str], complain: str, progress: Meter) -> None:
    """Run a step of a build and pass on how far it is. Raises UnusableEnvironmentError: ``complain``, and why."""
    said: list[str] = []
    done = 0
    with Child([str(word) for word in command], more) as child:
        for line in child.lines(_TIMEOUT_S):
            said.append(line)
            if (found := _DONE.match(line)) is not None:
                percent = int(found[1]) if found[1] else 100 * int(found[2]) // int(found[3])
                progress.advance(max(0, percent - done))
                done = max(done, percent)
        code = child.wait()
        said += child.complaints()
    if code != 0:
        errors = [line for line in said if _COMPILERS_WORDS.search(line)]
        errors = errors or [line for line in said if "error" in line.lower()] or said[-1:]
        why = " ".join(" / ".join(errors[:3]).split())[:300]
        raise UnusableEnvironmentError(
            f"{complain} ({why}): it must build C++20 as it is called here (Intel MPI: source its vars.sh before), or unset "
            "RANKWISE_MPI"
        )
