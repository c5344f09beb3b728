"""3-D FFTs of numpy arrays under real ranks: random cases against numpy's, the example, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from breadth import ROOT, TIMES

CHECKS = """
import numpy as np
from mpi4py import MPI
import rankwise
from rankwise.errors import InputError

world = MPI.COMM_WORLD


def refused(call, words):
    try:
        call()
    except InputError as error:
        assert words in str(error), error
    else:
        raise AssertionError(words)


fft = rankwise.Fft(world, (8, 6, 4), effort="model")
field, spectrum = fft.arrays()
assert "3-D FFT of 8x6x4 complex values, double precision, 1 field" in fft.explain(), fft.explain()
assert field.shape == fft.in_box.size == (4, 6, 4) and spectrum.shape == (8, 3, 4)
refused(lambda: fft.forward(spectrum, spectrum), "array has shape (8, 3, 4)")
# What is wrong on one rank is an error on both.
wrong = field if world.rank else field.astype(np.complex64)
refused(lambda: fft.forward(wrong, spectrum), "type complex64" if world.rank == 0 else "rank 0: in ")
refused(lambda: fft.forward(field[::-1], spectrum), "gaps or another order")
refused(lambda: fft.backward([1], field), "no numpy array")
refused(fft.end, "nothing to end")
fft.forward(field, spectrum)
fft.free()
fft.free()
refused(lambda: fft.forward(field, spectrum), "NULL")
refused(lambda: rankwise.Fft(world, (8, 6)), "three axes")
refused(lambda: rankwise.Fft(world, (8, 6, 4), order="any"), "transposed, natural")
refused(lambda: rankwise.Fft(world, (8, 0, 4)), "0 points")
refused(lambda: rankwise.Fft(world, (8, 6, 4), in_box=((0, 0, 0), (8, 6, 4))), "overlap")
print("well")
"""


@pytest.mark.mpi
def test_poisson_and_arguments(python_ranks: Callable[..., str]) -> None:
    assert python_ranks(2, ROOT / "examples" / "poisson.py", "15") == "poisson 15: off by less than 1e-12\n"
    assert python_ranks(2, "-c", CHECKS).count("well") == 2


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [2, 3] if TIMES == 1 else [1, 2, 3, 4, 5, 6])
def test_random_cases_equal_numpy(python_ranks: Callable[..., str], ranks: int) -> None:
    """RANKWISE_TEST_TIMES=7 makes 420 of them on 1 to 6 ranks."""
    cases = 10 * TIMES
    assert python_ranks(ranks, ROOT / "tests" / "python" / "fft_cases.py", "1", str(cases)).startswith(
        f"{cases} cases on {ranks}"
    )
