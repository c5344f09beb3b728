"""Building for another MPI: what is compiled together."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankwise.launch.build import _units


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
