"""Werner et al. 2023, sentence by sentence: what the text says of the algorithms, the model, Tables 1 to 6 and future work."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankwise import _core
from rankwise.arrays import Floats
from rankwise.engines.predict import predict_rows
from rankwise.machine.description import Description
from rankwise.machine.library import load_machine
from rankwise.machine.profile import Link, Profile
from rankwise.papers import werner2023_tradeoff as tradeoff
from rankwise.papers.claims import ANY, NONE, Claim, Found, about, above, at_least, at_most, below, cannot, counted, exactly
from rankwise.papers.werner2023_study import LINK, RANKS, Study
from rankwise.units import format_size, format_time
from rankwise.workloads.exchange import Asked, make_cases

SHARE = 0.2
QUESTIONABLE = ((10_000, 2), (10_000, 9), (100_000, 6), (100_000, 8))  # section 6.2.3: size and k
_SMALL, _LARGE = (10, 100, 1000), (10_000, 100_000)  # section 5: where the model works very well, and where less so
_VERY_WELL = 5.0  # per cent
_COMMAND = "rankwise reproduce werner2023"
_SHOW, _PREDICT = "rankwise exchange show", "rankwise predict exchange"


@dataclass(frozen=True)
class Read:
    """What the sentences are about: the tables and what is predicted of them, and the counts that the text gives."""

    study: Study
    ranks: int = RANKS
    runs: int = 100
    sets: tuple[int, int] = (10, 30)  # measurements, and sets of data of each
    layers: int = 1  # of neighbours, axes and members of a team, where the text counts
    axes: int = 3
    members: int = 2
    machine: Description = field(default_factory=lambda: load_machine("jureca"))

    def by_hockney(self) -> Profile:
        """Return Table 1 with one alpha and one beta in place of its five betas."""
        return dataclasses.replace(
            self.study.profile, links={LINK: Link(dataclasses.replace(self.study.curve, model="hockney"))}
        )

    def time_s(self, algorithm: str, grid: Sequence[int], cutoff: int, size: int, mode: str = "ssend") -> float:
        """Return what the judge predicts of one exchange by alpha and beta."""
        (case,) = make_cases(Asked([algorithm], [mode], [cutoff], [size]), grid, [True] * len(grid))
        return predict_rows(self.by_hockney(), [case])[0].time_s

    def errors(self, sizes: Sequence[int]) -> list[float]:
        """Return the mean absolute error of the published predictions at each size, in per cent."""
        return [float(np.mean(np.abs(self.study.errors(self.study.published)[self.study.size_of == size]))) for size in sizes]

    def measured_s(self, size: int, cutoff: int) -> float:
        return next(row.measured_s for row in self.study.rows if (row.message_bytes, row.cutoff) == (size, cutoff))


def _sends(algorithm: str, grid: Sequence[int], cutoff: int, members: int | None = None) -> list[_core.Operation]:
    """Return what rank 0 sends."""
    replications = None if members is None else [members]
    asked = Asked([algorithm], ["ssend"], [cutoff], [1000], replications=replications)
    (case,) = make_cases(asked, grid, [True] * len(grid))
    return [op for step in case.schedules().steps(0, False) for op in step if op.kind == "send"]


def _blocks(op: _core.Operation) -> int:
    return sum(count for _, count in op.slots)


def _cube(of: Read) -> tuple[int, ...]:
    return (2 * of.layers + 4,) * of.axes  # even: an odd ring pays for its seam


def _messages(algorithm: str, of: Read) -> list[_core.Operation]:
    return _sends(algorithm, _cube(of), of.layers)


def _eq1(of: Read, size: int = 1000) -> float:
    """Eq. 1 at k = 1 by one alpha and one beta."""
    return 2 * (of.study.hockney.parameters["alpha_s"] + of.study.hockney.parameters["beta_s_per_byte"] * size)


def _eq2(of: Read, size: int = 1000) -> float:
    """Eq. 2 by one alpha and one beta."""
    line, k = of.study.hockney.parameters, of.layers
    return 6 * k * line["alpha_s"] + line["beta_s_per_byte"] * size * (8 * k**3 + 12 * k**2 + 6 * k)


def _blocks_of(phase: int) -> Callable[[Read], Found]:
    def found(of: Read) -> Found:
        sizes = sorted({_blocks(op) for op in _messages("shift", of)})
        return float(sizes[min(phase, len(sizes)) - 1]), f"messages of {', '.join(map(str, sizes))} blocks"

    return found


def _team_sends(of: Read, members: int) -> float:
    """Messages of a rank by Team Shift against those by the Shift, 64 boxes in a row, k = 4."""
    return len(_sends("team-shift", (RANKS,), 4, members)) / len(_sends("shift", (RANKS,), 4 + of.layers - 1))


def _several_boxes(of: Read) -> Found:
    """Footnote 1: two boxes on a node in place of one; k = 4 layers of boxes are two of nodes, and blocks twice as large."""
    one_s, two_s = (4 * k * of.study.curve.time_s(size) for k, size in ((4, 1000), (2, 2000)))
    return two_s / one_s, f"k = 4, 1000 B a box: {format_time(one_s)} with one box a node, {format_time(two_s)} with two"


def _in_turns(of: Read) -> list[tradeoff.Duel]:
    return [duel for duel in of.study.duels if (duel.order, duel.reading) == ("in turns", "pooled")]


def _choices(of: Read) -> Found:
    """In how many cases alpha and beta alone choose another algorithm than Table 1 does."""
    lines = [d for d in tradeoff.duels(of.by_hockney(), of.study.sizes) if (d.order, d.reading) == ("in turns", "pooled")]
    other = [
        f"{format_size(one.message_bytes)} at k = {one.cutoff}"
        for one, line in zip(_in_turns(of), lines, strict=True)
        if one.faster != line.faster
    ]
    return len(other), f"of {len(lines)} choices, by one alpha and one beta{': ' * bool(other)}{', '.join(other)}"


def _takeovers(of: Read) -> Found:
    found = [c for c in tradeoff.crossovers(_in_turns(of)) if c.always]
    return len(found), ", ".join(f"{format_size(c.message_bytes)} from k = {c.always}" for c in found)


def _near_wins(of: Read) -> Found:
    lost = [duel.message_bytes for duel in _in_turns(of) if duel.cutoff == of.layers and duel.faster != "shift"]
    return counted([format_size(size) for size in lost])


def _team_model(of: Read) -> Found:
    found = [c for c in tradeoff.crossovers(of.study.duels) if c.reading == "pooled" and c.message_bytes == 1000]
    words = "; ".join(f"{c.order} " + (f"from k = {c.always}" if c.always else "at no cutoff") for c in found)
    return float(sum(c.always is not None for c in found)), f"pooled teams win, blocks of 1000 B: {words}"


def _betas(of: Read) -> dict[int, float]:
    alpha_s = of.study.ping_pong[0].latency_s
    return {row.message_bytes: (row.latency_s - alpha_s) / row.message_bytes for row in of.study.ping_pong[1:]}


def _beta_misfit(of: Read) -> float:
    return max(abs(of.study.betas[size] / beta - 1) for size, beta in _betas(of).items())


def _bent(of: Read) -> Found:
    small = [beta for size, beta in _betas(of).items() if size < 50_000]
    return max(small) / min(small), f"betas {1e9 * max(small):.2f} to {1e9 * min(small):.3f} ns/B, a line has one"


def _very_well(of: Read) -> Found:
    each = of.errors(_SMALL)
    told = ", ".join(f"{error:.1f} % at {format_size(size)}" for size, error in zip(_SMALL, each, strict=True))
    return max(each), f"mean errors {told}"


def _less_accurate(of: Read) -> Found:
    large, small = of.errors(_LARGE), of.errors(_SMALL)
    return min(large) / max(small), f"errors {', '.join(f'{error:.1f} %' for error in (*small, *large))} by size"


def _ratio(first: int, second: int) -> Callable[[Read], float]:
    return lambda of: of.measured_s(second, 10) / of.measured_s(first, 10)


def implied(study: Study) -> list[dict[str, Any]]:
    """For each size: T(m) of Table 1, and what a message takes in the Shift: a fourth of the slope of the times in k."""
    found = []
    for size in study.sizes:
        here = study.size_of == size
        slope_s, _ = np.polyfit(study.cutoff_of[here], study.measured[here], 1, w=1 / study.measured[here])
        alone_s = study.curve.time_s(size)
        found.append({"message_bytes": size, "ping_pong_s": alone_s, "in_shift_s": slope_s / 4, "ratio": slope_s / 4 / alone_s})
    return found


def _traffic(of: Read) -> Found:
    ratios = [one["ratio"] for one in implied(of.study)]
    told = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    return min(ratios[-2:]) / max(ratios[:-2]), f"a message in the Shift against the ping-pong, by size: {told}"


def noisiest(study: Study) -> list[tuple[int, int]]:
    """The size and k of as many rows as the paper calls questionable, those of the largest sigma over mean."""
    order = np.argsort(-study.sigma / study.measured)[: len(QUESTIONABLE)]
    return sorted((study.rows[i].message_bytes, study.rows[i].cutoff) for i in order)


def _questionable(of: Read) -> Found:
    found = noisiest(of.study)
    told = ", ".join(f"{format_size(size)} at k = {k}" for size, k in found)
    return len(set(found) & set(QUESTIONABLE)), f"the largest sigma by mean: {told}"


def within_bound(study: Study) -> int:
    """In how many rows the published prediction lies where the mean of the smallest fifth must lie."""
    low: Floats = study.measured - study.sigma * ((1 - SHARE) / SHARE) ** 0.5
    return int(np.sum((study.published >= low) & (study.published <= study.measured)))


def _best_case(of: Read) -> Found:
    words = f"of {len(of.study.rows)} rows, where the mean of the smallest fifth must lie; no samples exist"
    return within_bound(of.study), words


def _modes(of: Read) -> Found:
    by = {mode: of.time_s("shift", (of.ranks,), 4, 1000, mode) for mode in ("ssend", "send", "isend")}
    told = ", ".join(f"{mode} {format_time(time_s)}" for mode, time_s in by.items())
    return by["ssend"] / by["isend"], f"k = 4, 1000 B: {told}"


_S, _D, _P = f"{_SHOW} --algorithm shift", f"{_SHOW} --algorithm direct", f"{_PREDICT} --algorithm shift-posted"
CLAIMS: Sequence[Claim[Read]] = (
    Claim("Abstract", "only alpha and beta are needed", at_most(1), lambda of: of.study.hockney.mape / of.study.lookup.mape,
          "with two parameters the error is {:.2f} times that with five betas"),
    cannot("Abstract", "valid on any network that Hockney fits",
           "one network was measured; validate exchange answers for yours"),
    Claim("1", "there must be tradeoff points", at_least(1), _takeovers, "at {:.0f} of 5 sizes"),
    Claim("1", "the Shift is best for small ranges", NONE, _near_wins, "contradicted by {:.0f} of the sizes at k = 1"),
    Claim("1, 6.1", "alpha and beta choose the algorithm", NONE, _choices, "{:.0f} differ"),
    Claim("2.1, Fig. 1", "(2k+1)^3 - 1 partners: 26 at k = 1", exactly(26),
          lambda of: len({op.peer for op in _messages("direct", of)}), "{:.0f}", _D),
    Claim("2.1", "footnote 1: several boxes a node", ANY, _several_boxes, "x {:.2f}", _PREDICT),
    Claim("2.2", "the Shift has six partners", exactly(6), lambda of: len({op.peer for op in _messages("shift", of)}),
          "{:.0f}", _S),
    Claim("2.2", "it needs fewer messages", below(1), lambda of: len(_messages("shift", of)) / len(_messages("direct", of)),
          "{:.2f} times as many as one a partner", _S),
    Claim("2.2, Fig. 2", "three phases, ever larger messages", exactly(3),
          lambda of: len({_blocks(op) for op in _messages("shift", of)}), "{:.0f} sizes", _S),
    Claim("2.3, Figs 3, 4", "Team Shift covers more in one shift", below(1), lambda of: _team_sends(of, of.members),
          "{:.2f} times the messages of the Shift at k = 4, teams of two", f"{_SHOW} --algorithm team-shift"),
    Claim("2.3", "with one member it is almost the Shift", about(1, 0.01), lambda of: _team_sends(of, 1),
          "{:.2f} times its messages", f"{_SHOW} --algorithm team-shift"),
    cannot("2.3", "the global variant circles all teams once", "it is not the range-limited one that the paper is about"),
    Claim("3.1", "Hockney predicts message latency accurately", below(0.05),
          lambda of: of.study.curve.models["hockney"].relative_error, "one line through Table 1 is {:.0%} off"),
    cannot("3.1", "LogP and BSP bound latency, o and g cost too much", "a choice, of which no figure is given"),
    Claim("3.2, Eq. 1", "2k (alpha + beta m) an axis", about(1, 1e-6),
          lambda of: of.time_s("shift-posted", (of.ranks,), of.layers, 1000) / _eq1(of), "the walk gives {:.6f} times that",
          _P),
    Claim("3.2", "column messages are 2k + 1 times as large", exactly(3), _blocks_of(2), "{:.0f} times", _S),
    Claim("3.2", "tower messages are 4k^2 + 4k + 1 times as large", exactly(9), _blocks_of(3), "{:.0f} times", _S),
    Claim("3.2, Eq. 2", "6k alpha + beta m (8k^3 + 12k^2 + 6k)", about(1, 1e-6),
          lambda of: of.time_s("shift-posted", _cube(of), of.layers, 1000) / _eq2(of), "the walk gives {:.6f} times that", _P),
    Claim("3.2, Eq. 3", "twice Eq. 2 where sends and receives take turns", about(2, 1e-6),
          lambda of: of.time_s("shift", _cube(of), of.layers, 1000) / _eq2(of), "{:.6f} times", f"{_PREDICT} --mode ssend"),
    Claim("4.1", "eager below 256 kB: all messages would be", below(1),
          lambda of: max(of.study.sizes) / (of.machine.get("eager_limit") or 1), "the largest is {:.2f} of it",
          "rankwise machines show jureca"),
    cannot("4.1", "footnote 4: the limit should be much lower", "the settings of that MPI are not given"),
    cannot("4.2", "one axis verified: three are valid",
           "no exchange along three axes was measured; Eqs. 2 and 3 are walked above"),
    Claim("4.2", "the buffer fits 2k + 1 messages", exactly(3), lambda of: 1 + len(_sends("shift", (RANKS,), of.layers)),
          "{:.0f} at k = 1", _S),
    Claim("4.2, Fig. 5", "64 nodes need no extra phase", about(1, 1e-6),
          lambda of: of.time_s("shift", (of.ranks,), 4, 1000) / of.time_s("shift", (RANKS - 2,), 4, 1000),
          "{:.3f} times the time of 62 (of 63: more)", f"{_PREDICT} --mode ssend"),
    cannot("4.2", "repackaging costs little", "it was not measured; 'rankwise measure pack' measures yours"),
    Claim("4.3", "6400 data elements a cutoff", exactly(6400), lambda of: of.ranks * of.runs, "{:.0f}"),
    Claim("4.3", "6336 without each node's first", exactly(6336), lambda of: of.ranks * (of.runs - 1), "{:.0f}"),
    cannot("4.3", "the first is 100 times slower", "no samples were published"),
    Claim("4.4", "below 50 kB no linear relation", above(1.5), _bent, "x {:.0f}"),
    cannot("4.4", "distance has no measurable influence", "no samples were published"),
    Claim("4.4", "300 data elements a load", exactly(300), lambda of: of.sets[0] * of.sets[1], "{:.0f}"),
    Claim("Table 1", "beta is (latency - alpha) / load", below(0.005), _beta_misfit, "printed betas are off by at most {:.2%}"),
    Claim("5, Tables 2 to 6", "the predictions", below(20), lambda of: of.study.difference_ns,
          "ours differ by at most {:.0f} ns"),
    Claim("5, 6.2.2", "works very well for 10 to 1,000 B", below(_VERY_WELL), _very_well, "at most {:.1f} % off"),
    Claim("5, 6.2.2", "less accurate for larger messages", above(1), _less_accurate,
          "their least error is {:.2f} times the largest of smaller ones"),
    Claim("5", "all predictions are within one sigma", exactly(1), lambda of: (of.study.inside_sigma,
          f"sigma is {of.study.median_sigma:.0%} of the mean (median), the error {of.study.lookup.mape:.2f} %"), "{:.0%} are"),
    Claim("6.2.1", "MPI_Send and MPI_Isend: more efficient", ANY, _modes, "isend {:.2f} times as fast",
          f"{_PREDICT} --mode all"),
    Claim("6.2.2", "10 to 1,000 B: not even 20 us apart", below(20),
          lambda of: 1e6 * (of.measured_s(1000, 10) - of.measured_s(10, 10)), "{:.1f} us at k = 10"),
    Claim("6.2.2", "1,000 to 10,000 B: almost twice the time", (1.7, 2), _ratio(1000, 10_000), "{:.2f} times at k = 10"),
    Claim("6.2.2", "10,000 to 100,000 B: about thrice", about(3, 0.1), _ratio(10_000, 100_000), "{:.2f} times at k = 10"),
    Claim("6.2.2", "traffic slows large messages", above(1), _traffic, "{:.2f} times what small ones are slowed"),
    Claim("6.2.2", "alpha and beta measured beside traffic", ANY, lambda of: of.study.max_rate.parameters["contention_factor"],
          "one factor of {:.2f} for large messages", f"{_COMMAND} --engine run"),
    Claim("6.2.3", "sigma is comparably high", above(0.1), lambda of: of.study.median_sigma, "median {:.0%} of the mean"),
    Claim("6.2.3", "four means are questionable", exactly(4), _questionable, "{:.0f} of them are the noisiest"),
    cannot("6.2.3", "smallest 20 %: sigma below 2 us", f"no samples were published; '{_COMMAND} --engine run' does it here"),
    Claim("6.2.3", "smallest 20 %: an almost perfect fit", ANY, _best_case, "possible in {:.0f}", f"{_COMMAND} --engine run"),
    Claim("6.2.4", "a model of Team Shift", ANY, _team_model, "it wins in {:.0f} of 3 orders"),
)  # fmt: skip
