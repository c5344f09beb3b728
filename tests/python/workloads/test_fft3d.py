"""The 3-D FFT against numpy's, its rows, the model's arithmetic, and calibration, on real ranks."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankwise.engines.fft_lengths import _loads_missed
from rankwise.engines.placement import profile_placement
from rankwise.engines.predict import predict_rows
from rankwise.errors import InputError
from rankwise.launch.mpi import Mpi, stream_kernel
from rankwise.machine.fft_rates import FftRates
from rankwise.machine.profile import Profile
from rankwise.measure.imports import import_profile
from rankwise.workloads.base import Row, Site
from rankwise.workloads.fft3d import WORKLOAD, FftOptions, fewest_bytes
from rankwise.workloads.fft3d_case import FftCase, fitting_grids

RATES = {
    "library": "fftw-3.3.10",
    "created": "2026-01-01T00:00:00+00:00",
    "rates": [
        {
            "ranks": 2, "oversubscribed": False, "triad_bytes_per_s": 1e10,
            "points": [
                {"n": 32, "bytes_per_rank": 2.0**18, "flop_per_s": 8e9, "shuffle_bytes_per_s": 4e9,
                    "exchange_bytes_per_s": 2e9},
                {"n": 128, "bytes_per_rank": 2.0**24, "flop_per_s": 2e9, "shuffle_bytes_per_s": 4e9,
                    "exchange_bytes_per_s": 1e9},
            ],
        }
    ],
    "counted": [{"n": 96, "lines": 8192, "cache_bytes": 2**20, "a": 1.0, "method": "valgrind cachegrind, loads"}],
}  # fmt: skip


def values(mpi: Mpi, ranks: int, *arguments: str) -> dict[str, Any]:
    records = stream_kernel(mpi, ["fft3d-values", "--planning", "estimate", *arguments], ranks, True, "transforming")
    return next(record for record in records if record["record"] == "values")


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("n", "grid", "options"),
    [
        ((8, 12, 10), (1, 1), ("--order", "natural")),
        ((7, 13, 11), (2, 2), ()),
        ((9, 4, 15), (2, 1), ("--order", "natural", "--method", "pairwise")),
        ((16, 6, 5), (1, 2), ("--method", "pairwise")),
        ((1, 3, 8), (1, 2), ()),
        ((6, 10, 9), (3, 1), ("--precision", "single")),
    ],
)
def test_complex_values_are_numpys(mpi: Mpi, n: tuple[int, int, int], grid: tuple[int, int], options: tuple[str, ...]) -> None:
    record = values(mpi, math.prod(grid), "--n", ",".join(map(str, n)), "--grid", ",".join(map(str, grid)), *options)
    field, spectrum, back = (np.asarray(record[name]).view(np.complex128).reshape(n) for name in ("field", "spectrum", "back"))
    assert np.abs(field).std() > 0.1
    # Eight digits are printed, single precision has seven.
    tolerance = 1e-5 if "single" in options else 1e-7
    expected = np.fft.fftn(field)
    assert np.abs(spectrum - expected).max() < tolerance * np.abs(expected).max()
    assert np.abs(back / field.size - field).max() < tolerance


@pytest.mark.mpi
@pytest.mark.parametrize(("n", "grid"), [((8, 12, 10), (1, 1)), ((7, 5, 9), (2, 1)), ((5, 6, 8), (1, 3)), ((4, 4, 7), (2, 2))])
@pytest.mark.parametrize("order", ["natural", "transposed"])
def test_real_values_are_numpys(mpi: Mpi, n: tuple[int, int, int], grid: tuple[int, int], order: str) -> None:
    record = values(
        mpi, math.prod(grid), "--n", ",".join(map(str, n)), "--grid", ",".join(map(str, grid)), "--real", "1", "--order", order
    )
    field, back = (np.asarray(record[name]).reshape(n) for name in ("field", "back"))
    expected = np.fft.rfftn(field)
    spectrum = np.asarray(record["spectrum"]).view(np.complex128).reshape(expected.shape)
    assert np.abs(spectrum - expected).max() < 1e-7 * np.abs(expected).max()
    assert np.abs(back / field.size - field).max() < 1e-7


@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 6, 12])
def test_grids_that_fit_are_all_and_only_those(real: bool, ranks: int) -> None:
    n = (4, 6, 5)
    last = 3 if real else 5
    grids = fitting_grids(n, real, ranks)
    for p1, p2 in itertools.product(range(1, 13), repeat=2):
        every_rank_has_a_pencil = p1 <= n[0] and p1 <= n[1] and p2 <= n[1] and p2 <= last
        assert ((p1, p2) in grids) == (p1 * p2 == ranks and every_rank_has_a_pencil)


def test_slabs_send_fewest_bytes() -> None:
    assert fewest_bytes([(1, 4), (2, 2), (4, 1)]) == (4, 1)
    assert fewest_bytes([(2, 4), (4, 2)]) == (4, 2)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (FftOptions("8", "65"), "more than the pencils"),
        (FftOptions("8", "4", "3x1"), "--grid 3x1 has 3 ranks but --ranks is 4"),
        (FftOptions("8x2x8", "4", "4x1"), "more than the pencils"),
        (FftOptions(f"8x8x{2**21}", "1"), "cannot be transformed"),
    ],
)
def test_what_does_not_fit_is_refused(asked: FftOptions, words: str) -> None:
    with pytest.raises(InputError, match=words):
        WORKLOAD.cases(asked, Site())


def predicted(*cases: FftCase) -> list[Row]:
    return predict_rows(profile_with_rates(), cases)


def profile_with_rates() -> Profile:
    table = Path(__file__).parents[2] / "data" / "werner2023_pingpong.csv"
    return replace(import_profile([table], "other-node", "table", 64, None), fft3d=FftRates.from_dict(RATES))


def test_calibrated_times_are_bytes_and_flops_over_rates() -> None:
    # 64^3 on 2 ranks: 2^21 bytes a rank, half way between the two sizes of the table in the logarithm.
    case = FftCase((64, 64, 64), (2, 1))
    [row] = predicted(case)
    flops = 5 * 64**3 * 18 / 2
    assert row.parts["compute"].time_s == pytest.approx(flops / 4e9)
    assert row.parts["shuffle"].time_s == pytest.approx(2 * 2**21 / 4e9)
    assert row.parts["exchange"].time_s == pytest.approx(2**21 / math.sqrt(2e18))
    assert row.time_s == pytest.approx(sum(span.time_s for span in row.parts.values()))
    natural, single = predicted(replace(case, order="natural"), replace(case, precision="single"))
    assert natural.parts["shuffle"].time_s == pytest.approx(2 * row.parts["shuffle"].time_s)
    assert single.parts["shuffle"].time_s == pytest.approx(row.parts["shuffle"].time_s / 2)


def test_literal_terms_are_the_papers_equations() -> None:
    [row] = predicted(FftCase((64, 64, 64), (2, 1), reading="literal"))
    terms = row.figures["terms"]
    assert terms["flops_s"] == pytest.approx(15 * 64**3 * 6 / (2 * 8e9))  # Eq. 1, 15 n^3 log2 n
    assert terms["memory_s"] == pytest.approx(3 * 64**3 / 2 * 1.0 * 16 / 1e10)  # Eq. 2, a line fits the cache
    assert terms["shuffle_s"] == pytest.approx(2 * 64**3 / 2 * 16 / 1e10)  # Eq. 8, one exchange
    assert terms["network_s"] == pytest.approx(64**3 / 2 * 16 / 1e9)  # Eq. 3
    assert row.parts["compute"].time_s == max(terms["flops_s"], terms["memory_s"])


def test_walk_costs_the_transposes_messages() -> None:
    small, large = predicted(*(FftCase((n, n, n), (2, 1), network="walk") for n in (64, 128)))
    # At these sizes a message's time is its bytes'; each rank sends half of its array.
    assert large.parts["exchange"].time_s / small.parts["exchange"].time_s == pytest.approx(8, rel=0.1)


def test_rates_that_are_missing_are_named() -> None:
    with pytest.raises(InputError, match="--ranks 4"):
        predicted(FftCase((64, 64, 64), (4, 1)))


@pytest.mark.parametrize("asked", [FftOptions(reading="calibrated"), FftOptions(reading="literal"), FftOptions(network="walk")])
def test_rates_rank_the_candidates_that_they_know(asked: FftOptions) -> None:
    rows = predicted(*WORKLOAD.candidates(asked, Site("choose")))
    ways = {(row.case.grid, row.case.method) for row in rows if isinstance(row.case, FftCase)}
    assert ways == {(grid, method) for grid in ((1, 2), (2, 1)) for method in ("alltoall", "pairwise")}
    with pytest.raises(InputError, match="not among the profile's rates"):
        predicted(FftCase((64, 64, 64), (2, 1), chunks=8))


def test_rates_of_one_node_are_not_taken_for_several() -> None:
    profile = profile_with_rates()
    inside = replace(profile, links={"same-socket": profile.links["other-node"]})
    case = FftCase((64, 64, 64), (2, 1))
    assert predict_rows(inside, [case], profile_placement(inside, 2))[0].time_s > 0
    with pytest.raises(InputError, match="no link class other-node, which ranks 0 and 1 need: measure or import it"):
        predict_rows(inside, [case], profile_placement(inside, 1))


def test_the_model_may_take_another_grid() -> None:
    # 2 x 1 and 1 x 2 move as much: of equals the one with the most slabs.
    [row] = predicted(FftCase((64, 64, 64), (1, 2), open_grid=True))
    assert isinstance(row.case, FftCase) and row.case.grid == (2, 1)


def test_computing_is_added_to_a_simulation_from_the_rates() -> None:
    case = FftCase((64, 64, 64), (2, 1))
    [model] = predicted(case)
    bare = replace(model, time_s=1e-3, time_lo_s=1e-3, time_hi_s=1e-3)
    row = case.simulated(bare, profile_with_rates())
    assert row.time_s == pytest.approx(1e-3 + model.parts["compute"].time_s + model.parts["shuffle"].time_s)
    assert "rates of 2 rank(s)" in row.notes[-1]
    without = case.simulated(bare, None)
    assert without.time_s == 1e-3 and "computing takes no time" in without.notes[-1]


def test_rates_survive_the_file(tmp_path: Path) -> None:
    profile = profile_with_rates()
    profile.save(tmp_path / "m.json")
    assert Profile.load(tmp_path / "m.json").fft3d == profile.fft3d
    record = json.loads((tmp_path / "m.json").read_text())
    record["fft3d"]["rates"][0]["triad_bytes_per_s"] = -1.0
    (tmp_path / "m.json").write_text(json.dumps(record))
    with pytest.raises(InputError, match=r"fft3d.rates\[0\].triad_bytes_per_s -1.0 is not above 0"):
        Profile.load(tmp_path / "m.json")


def test_cachegrinds_summary_is_read() -> None:
    text = "events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw\nfn=main\n1 2\nsummary: 9 8 7 6 5 4321 3 2 1\n"
    assert _loads_missed(text) == 4321


def test_transforms_that_were_interrupted_do_not_count() -> None:
    """Planted: a third of whole transforms lose half of their time to others; of too few quiet ones a note says so."""
    case = FftCase((8, 8, 8), (1, 1), reading="shortened")
    times = [1.0, 2.0, 1.0] * 6
    zeros = [0.0] * 18
    phases = {"rank": 0, "compute_s": times, "shuffle_s": zeros, "exchange_s": zeros}
    shortened = {"compute_s": [1.0] * 18, "shuffle_s": zeros, "exchange_s": zeros}
    record = {
        "time_s": times, "lost_s": [0.0, 1.0, 0.0] * 6, "phases": [phases], "shortened": [shortened], "imbalance_s": zeros,
        "shortened_lost_s": [0.0] * 12 + [0.1] * 6,
    }  # fmt: skip
    quiet, note = case.undisturbed(record)
    assert note is None and quiet["time_s"] == [1.0] * 12 == quiet["phases"][0]["compute_s"]
    assert len(quiet["shortened"][0]["compute_s"]) == 12 == len(quiet["imbalance_s"])
    busy, note = case.undisturbed({**record, "shortened_lost_s": [0.5] * 18})
    assert busy["time_s"] == times and note is not None and "other programs interrupted all but 0 %" in note
    assert case.undisturbed({"time_s": times}) == ({"time_s": times}, None)
