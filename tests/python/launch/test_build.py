"""Building for another MPI: what lies in the cache is executed, and must be as it was built."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rankwise.cache import kept
from rankwise.errors import UnusableEnvironmentError
from rankwise.launch.build import TRACER, Part, build

_ONE = Part("one", "libone.so", "one", 1)
_LISTS = """cmake_minimum_required(VERSION 3.22)
project(one LANGUAGES CXX)
add_library(one MODULE one.cpp)
"""


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("rankwise.launch.installed.package_folder", lambda: tmp_path)
    sources = tmp_path / "kernel_sources"
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "librankwise_core.a").touch()
    sources.mkdir()
    (sources / "CMakeLists.txt").write_text(_LISTS)
    (sources / "one.cpp").write_text("int one() { return 1; }\n")
    return sources


def _built() -> Path:
    return build(_ONE, Path(str(shutil.which("g++"))))


def test_what_was_changed_or_could_have_been_is_built_anew(made: Path) -> None:
    built = _built()
    content = built.read_bytes()
    assert built.parent.stat().st_mode & 0o777 == 0o700 and built.stat().st_mode & 0o077 == 0
    at = built.stat().st_ino
    assert _built().stat().st_ino == at
    built.write_bytes(content + b"more")
    assert _built().read_bytes() == content
    built.chmod(0o766)
    assert _built().stat().st_mode & 0o022 == 0
    built.with_name("libone.so.sha256").unlink()
    at = built.stat().st_ino
    assert _built().stat().st_ino != at
    (made / "one.cpp").write_text("int one() { return 2; }\n")
    assert _built().parent != built.parent
    assert [one.about for one in kept()] == [shutil.which("g++")] * 2


def test_a_library_with_a_version_is_kept_itself_not_its_link(made: Path) -> None:
    shared = _LISTS.replace("MODULE", "SHARED") + "set_target_properties(one PROPERTIES VERSION 1.2.3 SOVERSION 1)\n"
    (made / "CMakeLists.txt").write_text(shared)
    built = _built()
    assert built.is_file() and not built.is_symlink()
    at = built.stat().st_ino
    assert _built().stat().st_ino == at


def test_a_compiler_by_another_path_builds_what_is_missing(made: Path, tmp_path: Path) -> None:
    first = _built()
    link = tmp_path / "g++"
    link.symlink_to(str(shutil.which("g++")))
    first.unlink()
    again = build(_ONE, link)
    assert again == first and again.is_file() and first.with_name("compiler").read_text() == f"{link}\n"


def test_what_does_not_compile_is_told_in_the_compilers_words(made: Path) -> None:
    (made / "one.cpp").write_text("int one() { return nothing; }\n")
    with pytest.raises(
        UnusableEnvironmentError, match=r"g\+\+ does not build one \(.*nothing.* was not declared.*: it must build C\+\+20"
    ):
        _built()


def test_a_wrapper_that_does_not_find_its_mpi_is_told_in_the_linkers_words(made: Path, tmp_path: Path) -> None:
    wrapper = tmp_path / "mpicxx"
    wrapper.write_text('#!/bin/sh\nexec g++ "$@" -lmpi_of_nowhere\n')
    wrapper.chmod(0o755)
    with pytest.raises(UnusableEnvironmentError, match=r"one \(\S*ld: cannot find -lmpi_of_nowhere: .*source its vars.sh"):
        build(_ONE, wrapper)


def test_without_cmake_the_mend_is_told(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = Path(str(shutil.which("g++")))
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UnusableEnvironmentError, match="without CMake: pip install cmake"):
        build(_ONE, compiler)


def test_another_users_folder_is_refused(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _built()
    monkeypatch.setattr("os.geteuid", lambda: 12345)
    with pytest.raises(UnusableEnvironmentError, match="another user's: set XDG_CACHE_HOME"):
        _built()


def test_what_was_not_installed_is_built_without_an_mpi_and_announced(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (made / "CMakeLists.txt").write_text(_LISTS.replace("one MODULE", "rankwise_observe MODULE"))
    built = build(TRACER)
    assert built.name == "librankwise_observe.so"
    assert "building the tracer (once, about 10 s on two cores)" in capsys.readouterr().err
    assert build(TRACER) == built and "building" not in capsys.readouterr().err
