"""Section 5.2.1 of czechowski2012 counted again: cachegrind on FFTW gives what the package keeps, and A with it."""

import importlib.util
import shutil
from ctypes.util import find_library
from pathlib import Path

import pytest

from rankwise.papers.czechowski2012_claims import Numbers, constants, counted_misses

MISSES = Path(__file__).parents[3] / "benchmarks/fft_misses.py"


@pytest.mark.valgrind
def test_a_comes_out_of_counters_again(tmp_path: Path) -> None:
    if not (shutil.which("valgrind") and shutil.which("cc") and find_library("fftw3")):
        pytest.skip("needs valgrind, a C compiler and FFTW (Debian: apt-get install valgrind gcc libfftw3-double3)")
    spec = importlib.util.spec_from_file_location("fft_misses", MISSES)
    assert spec and spec.loader
    spec.loader.exec_module(misses := importlib.util.module_from_spec(spec))
    kept = counted_misses()[0]
    names = ("loads_missed", "stores_missed", "flops")
    found = misses.count(misses.build(tmp_path), tmp_path, kept["cache_bytes"], kept["n"].bit_length() - 1)
    # Another FFTW or another compiler may plan and lay out otherwise, not by much.
    assert dict(zip(names, found, strict=True)) == pytest.approx({name: kept[name] for name in names}, rel=0.05)
    (again,) = constants(Numbers([{**kept, **dict(zip(names, found, strict=True))}]), "loads_missed")
    assert again == pytest.approx(6.3, rel=0.25)  # sections 3.1.2 and 5.2.1
