"""Building for another MPI: what is compiled together; what lies in the cache is executed, and must be as it was built."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rankwise.errors import UnusableEnvironmentError
from rankwise.launch.build import _build, _units


def test_the_sources_of_a_folder_are_one_unit_but_not_what_stands_in_for_mpi(tmp_path: Path) -> None:
    sizes = {"grid/a.cpp": 10, "grid/a.hpp": 1000, "fft/b.cpp": 30, "fft/c.cpp": 5, "preload/d.cpp": 2, "preload/e.cpp": 1}
    files = []
    for name, size in sizes.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x" * size)
        files.append(path)
    units = [[f"{path.parent.name}/{path.name}" for path in unit] for unit in _units(files)]
    assert units == [["fft/b.cpp", "fft/c.cpp"], ["grid/a.cpp"], ["preload/d.cpp"], ["preload/e.cpp"]]


@pytest.mark.parametrize("count", [0, 1])
def test_without_sources_there_are_no_units(tmp_path: Path, count: int) -> None:
    header = tmp_path / "only.hpp"
    header.write_text("")
    assert _units([header] * count) == []


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    source = tmp_path / "sources" / "part" / "one.cpp"
    source.parent.mkdir(parents=True)
    source.write_text("int one() { return 1; }\n")
    return source


def _built(source: Path) -> Path:
    compiler = Path(str(shutil.which("g++")))
    return _build(compiler, [source], "one.so", ("-fPIC",), ("-shared",), "building one")


def test_what_was_changed_or_could_have_been_is_built_anew(made: Path) -> None:
    built = _built(made)
    content = built.read_bytes()
    assert built.parent.stat().st_mode & 0o777 == 0o700 and built.stat().st_mode & 0o077 == 0
    at = built.stat().st_ino
    assert _built(made).stat().st_ino == at
    built.write_bytes(content + b"more")
    assert _built(made).read_bytes() == content
    built.chmod(0o766)
    assert _built(made).stat().st_mode & 0o022 == 0
    built.with_name("one.so.sha256").unlink()
    at = built.stat().st_ino
    assert _built(made).stat().st_ino != at


def test_another_users_folder_is_refused(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _built(made)
    monkeypatch.setattr("os.geteuid", lambda: 12345)
    with pytest.raises(UnusableEnvironmentError, match="another user's: set XDG_CACHE_HOME"):
        _built(made)
