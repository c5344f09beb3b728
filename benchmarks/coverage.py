"""Do intervals hold the truth, and do models hold on ranges of sizes that they have not seen?

    python benchmarks/coverage.py                 # both tables, about twenty minutes
    python benchmarks/coverage.py --seeds 60      # a first look
    python benchmarks/coverage.py --only models

Coverage: a machine of known LogGP figures, 24 sizes, whose launches differ by 10 % in what they have in common (normal; two
states 10 % apart, one in four launches slow; Student's t of 3 degrees; correlated 0.5 from one to the next) and by 2 % in each
cell. Of each: per cent of intervals that hold the truth (of launches' mean), and the half-width against that of Student's t
over the launches' means. With history: three earlier sessions of ten launches. Models: three blocks of two sizes left out, the
choice made on the rest.
"""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from harness import options
from numpy.typing import NDArray

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "python" / "models"))

from rankwise.distributions import t_quantile
from rankwise.engines.predict import predict_rows
from rankwise.machine.profile import Link, Profile
from rankwise.measure.cells import Cells, ways_of
from rankwise.measure.imports import read_tables
from rankwise.models import hockney, loggp, pchip, piecewise
from rankwise.models.curve import curve_of
from rankwise.models.measured import Way
from rankwise.models.selection import fit_link
from rankwise.papers.wagner2024 import published
from rankwise.workloads.exchange import Asked, make_cases
from synthetic_machine import LOGGP, cells_of_effect, loggp_times

Array = NDArray[np.float64]
SIZES = np.unique(np.concatenate([[0], 2.0 ** np.arange(3, 23), 48 * 2.0 ** np.arange(0, 3)]))
COMMON, APART = 0.10, 0.02
LAUNCHES = (3, 5, 10, 30)
KINDS = ("normal", "two states", "t3", "correlated")
TRUTH = {
    name: LOGGP[name]
    for name in ("latency_s", "overhead_s", "gap_s", "gap_s_per_byte", "handshake_s", "rendezvous_gap_s_per_byte")
}
CASES = make_cases(Asked(["direct"], ["ssend", "isend"], [1], [512, 65536]), [8], [True])


def effects(kind: str, rng: np.random.Generator, launches: int) -> Array:
    """Return what launches have in common, in logarithms, about a mean of 0."""
    if kind == "normal":
        return rng.normal(0, COMMON, launches)
    if kind == "two states":
        return np.where(rng.random(launches) < 0.25, 0.10, 0.0) - 0.025
    if kind == "t3":
        return COMMON / math.sqrt(3) * rng.standard_t(3, launches)
    noise = rng.normal(size=launches)
    for i in range(1, launches):
        noise[i] = 0.5 * noise[i - 1] + math.sqrt(0.75) * noise[i]
    return np.asarray(COMMON * noise)


def campaign(kind: str, rng: np.random.Generator, launches: int) -> Cells:
    return cells_of_effect(loggp_times(SIZES), effects(kind, rng, launches), APART, rng, SIZES)


def holds(interval: tuple[float, float] | None, truth: float) -> bool | None:
    return None if interval is None else interval[0] <= truth <= interval[1]


def judge(ways: Mapping[str, Way]) -> Iterator[tuple[str, bool | None]]:
    """Yield for each kind of figure whether its interval holds the truth."""
    for name, truth in loggp_times(SIZES).items():
        for i, ends in enumerate(ways[name].intervals()):
            yield "cells", holds(ends, float(truth[i]))
    line = piecewise.fit(ways["send"]).segments
    alpha = 2 * LOGGP["overhead_s"] + LOGGP["latency_s"]
    yield "alpha", holds(line[0].alpha_ci_s, alpha)
    yield "beta", holds(line[-1].beta_ci_s_per_byte, LOGGP["rendezvous_gap_s_per_byte"])
    for name, parameter in loggp.fit(ways)["send"].parameters.items():
        if name in TRUTH:
            yield "LogGP", holds(parameter.ci, TRUTH[name])
    measured, true = (predict_rows(profile, CASES) for profile in (_profile(ways), EXACT))
    for row, truth_row in zip(measured, true, strict=True):
        yield "predictions", holds(row.interval_s, truth_row.time_s)


def _profile(ways: Mapping[str, Way]) -> Profile:
    curves = {
        name: curve_of(
            way, {model.name: model for model in (hockney.fit(way), piecewise.fit(way), pchip.fit(way))}, "pchip", "median"
        )
        for name, way in ways.items()
    }
    return Profile({}, {"other-node": Link(curves.pop("send"), curves)}, "", {})


EXACT = _profile({name: Way.exact(SIZES, times_s) for name, times_s in loggp_times(SIZES).items()})


def coverage(seeds: int) -> None:
    print("per cent of nominal 95 % intervals that hold the truth; half-width of a cell's as a multiple of Student's t")
    print(
        f"{'noise':12} {'launches':>8} {'history':>8} {'cells':>7} {'alpha':>7} {'beta':>7} {'LogGP':>7} {'predictions':>12} "
        f"{'width':>7}"
    )
    for kind in KINDS:
        for launches in LAUNCHES:
            for with_history in (False, True):
                found: dict[str, list[bool]] = defaultdict(list)
                widths = []
                for seed in range(seeds):
                    rng = np.random.default_rng([seed, launches, KINDS.index(kind)])
                    cells = campaign(kind, rng, launches)
                    sessions = [campaign(kind, rng, 10) for _ in range(3)] if with_history else []
                    ways = ways_of(cells, "median", sessions)
                    for figure, inside in judge(ways):
                        if inside is not None:
                            found[figure].append(inside)
                    logs = np.array([[math.log(t[0]) for t in row.values()] for row in cells["send"].values()])
                    plain = t_quantile(0.975, launches - 1) * logs.std(axis=1, ddof=1) / math.sqrt(launches)
                    widths += [
                        p.log_half_width / w for p, w in zip(ways["send"].points(), plain, strict=True) if p.log_half_width
                    ]
                shares = "  ".join(f"{100 * np.mean(found[figure]):5.1f}" for figure in ("cells", "alpha", "beta", "LogGP"))
                told = " indicative" if launches < 10 and not with_history else ""
                print(
                    f"{kind:12} {launches:8} {'yes' if with_history else 'no':>8}   {shares} "
                    f"{100 * np.mean(found['predictions']):12.1f} {np.median(widths):7.2f}{told}",
                    flush=True,
                )


def tables() -> Iterator[tuple[str, Array, Array]]:
    """Yield published and sample tables: name, sizes, times."""
    data = ROOT / "tests" / "data"
    for one in published():
        yield f"wagner2024 {one.name}", one.sizes.astype(np.float64), one.latency_s
    (table,) = read_tables(data / "werner2023_pingpong.csv")
    yield "werner2023", np.array([float(p.size_bytes) for p in table.points]), np.array([p.time_s for p in table.points])
    for name in ("osu53_latency_default.txt", "osu57_latency_default.txt"):
        if (path := data / "osu-samples" / name).exists():
            (table, *_) = read_tables(path)
            yield name, np.array([float(p.size_bytes) for p in table.points]), np.array([p.time_s for p in table.points])


def outer_errors(sizes: Array, times_s: Array) -> dict[str, list[float]]:
    """Leave three blocks of two neighbouring inner sizes out, each time others; choose on the rest; return errors by model."""
    inner = np.arange(1, sizes.size - 1)
    blocks = [inner[i : i + 2] for i in range(0, inner.size - 1, 2)]
    found: dict[str, list[float]] = defaultdict(list)
    groups = [blocks[i :: max(1, len(blocks) // 3)] for i in range(max(1, len(blocks) // 3))]
    for group in groups if sizes.size > 8 else [[block] for block in blocks]:
        out = np.concatenate(group)
        left = Way.exact(np.delete(sizes, out), np.delete(times_s, out))
        if left.sizes.size < 3:
            continue
        link = fit_link({"send": left}, "median")
        for label, model in [("rule", link.send.chosen()), *link.send.models.items()]:
            found[label].append(float(np.mean([abs(model.time_s(int(sizes[i])) / times_s[i] - 1) for i in out])))
    return found


def models(seeds: int) -> None:
    print("mean error in per cent on ranges of sizes not seen, the choice made on the rest")
    means = []
    for name, sizes, times_s in tables():
        found = outer_errors(sizes, times_s)
        means.append(np.mean(found["rule"]))
        print(f"{name:34}", "  ".join(f"{model} {100 * np.mean(errors):5.1f}" for model, errors in found.items()))
    print(f"mean of {len(means)} tables: rule {100 * np.mean(means):.1f} %")
    print("synthetic Hockney lines, error at the sizes left out against the truth: rule, and the true model's own")
    for count in (24, 9):
        for noise in (0.02, 0.10):
            rule, own = [], []
            for seed in range(seeds):
                rng = np.random.default_rng(seed)
                sizes = np.unique(np.round(np.geomspace(8, 4 << 20, count)))
                true_s = 1e-6 + 1e-10 * sizes
                out = 1 + 2 * rng.integers(0, (count - 3) // 2) + np.arange(2)
                times_s = true_s * rng.lognormal(0, noise, sizes.size)
                left = Way.exact(np.delete(sizes, out), np.delete(times_s, out))
                link = fit_link({"send": left}, "median")
                for errors, model in ((rule, link.send.chosen()), (own, link.send.models["hockney"])):
                    errors.append(np.mean([abs(model.time_s(int(sizes[i])) / true_s[i] - 1) for i in out]))
            print(f"{count} sizes, noise {100 * noise:.0f} %: rule {100 * np.mean(rule):.1f} %, Hockney "
                  f"{100 * np.mean(own):.1f} %, {np.mean(rule) / np.mean(own):.2f} times")  # fmt: skip


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--seeds", type=int, default=300)
    parser.add_argument("--only", choices=("coverage", "models"))
    asked = parser.parse_args()
    if asked.only != "models":
        coverage(asked.seeds)
    if asked.only != "coverage":
        models(asked.seeds)


if __name__ == "__main__":
    main()
