"""Hunold et al. 2020, sentence by sentence: scores against what the mappers give here, times against Tables II to VII."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import product
from statistics import fmean, median

import numpy as np

from rankwise.errors import InputError
from rankwise.factors import balanced_grid
from rankwise.library import header
from rankwise.machine.description import Description
from rankwise.machine.library import load_machine
from rankwise.mapping import MapResult, map_grid
from rankwise.papers import hunold2020_scores as scores
from rankwise.papers import printed
from rankwise.papers.claims import ANY, NONE, Allowed, Claim, Found, about, above, at_least, cannot, counted, exactly, up_to
from rankwise.papers.hunold2020_scores import COMPARED, GRIDS, MACHINES, STENCILS, TABLES
from rankwise.units import format_time

NEAR, HOPS, COMPONENT = STENCILS
HYPERPLANE, KD, STRIPS = PRESENTED = ("hyperplane", "kd-tree", "stencil-strips")
VIEM_S = 7.95  # section VI-E
LISTED = {"VSC4": "vsc-4", "SuperMUC-NG": "supermuc-ng", "JUWELS": "juwels"}
_FLOPS_A_CLOCK = 32  # of two AVX-512 units
_WORD_BYTES = 8
_SIMILAR = 0.9  # of the other's speed or more
_ANY_SIZE, _SMALL, _BIG = range(1 << 30), range(1025), range(16384, 1 << 30)
Ratios = list[tuple[float, int, str]]  # of two times, with the size and the mapping


@cache
def instantiated() -> dict[str, float]:
    """Return the kept times of our mappers, all 4800 ranks at once."""
    return {row["mapper"]: row["time_us"] for row in printed("hunold2020_instantiation")}


@dataclass(frozen=True)
class Evidence:
    """What the sentences are about: our scores of all instances, the printed times, and how long our mappers take."""

    results: Sequence[scores.Scored]
    large: Sequence[scores.Scored]
    times: Sequence[scores.PublishedTime]
    seconds: Mapping[str, float] = field(default_factory=instantiated)
    machines: Mapping[str, Description] = field(
        default_factory=lambda: {name: load_machine(listed) for name, listed in LISTED.items()}
    )
    axes: int = 2
    primes: Sequence[int] = (2, 3, 5, 7, 11, 13)
    parts: Sequence[int] = (6, 3, 3, 2, 2, 2)  # Figure 3's multiset
    nodes: Sequence[int] = (5, 4, 3)  # of different sizes
    call: str = "MPIX_Cart_stencil_comm"  # Listing 1

    @cached_property
    def _boxes(self) -> Mapping[tuple[str, str, str], scores.Distribution]:
        return scores.distributions(self.results)

    @cached_property
    def _at(self) -> Mapping[tuple[str, int, str, int, str], float]:
        return scores.by_place(self.times)

    def box(self, stencil: str, mapper: str) -> scores.Distribution:
        return self._boxes[stencil, "j_sum", mapper]

    def score(self, nodes: int, stencil: str, mapper: str) -> tuple[int, int]:
        return next(r.scores[mapper] for r in self.large if (r.instance.nodes, r.instance.stencil) == (nodes, stencil))

    def time_s(self, machine: str, nodes: int, stencil: str, size: int, mapper: str) -> float | None:
        return self._at.get((machine, nodes, stencil, size, mapper))


@dataclass(frozen=True)
class Pitted:
    """Some mappings against another one: times on a machine, on so many nodes, by a stencil, at some sizes."""

    machine: str
    nodes: int
    stencil: str
    mappers: Sequence[str]
    over: str = "blocked"
    sizes: range = _ANY_SIZE

    @property
    def table(self) -> str:
        return f"VI-D, Table {TABLES[self.machine, self.nodes]}"

    def ratios(self, of: Evidence) -> Ratios:
        """Return how many times as fast as the other one each is, size by size."""
        found = []
        for size, mapper in product(sorted({t.message_bytes for t in of.times}), self.mappers):
            base, time_s = (of.time_s(self.machine, self.nodes, self.stencil, size, name) for name in (self.over, mapper))
            if size in self.sizes and base is not None and time_s is not None:
                found.append((base / time_s, size, mapper))
        return found

    def largest(self, of: Evidence) -> Found:
        return _largest(self.ratios(of))

    def share_above(self, least: float) -> Callable[[Evidence], float]:
        return lambda of: fmean(ratio > least for ratio, *_ in self.ratios(of))

    def least_median(self, of: Evidence) -> Found:
        """The least of the medians of the mappings."""
        each = {m: median(ratio for ratio, _, mapper in self.ratios(of) if mapper == m) for m in self.mappers}
        return min(each.values()), ", ".join(f"{mapper} {value:.2f}" for mapper, value in each.items()) + " in the median"

    def of_other(self, of: Evidence) -> list[float]:
        """Return how many times as fast the other one is as the best of these, size by size."""
        best: dict[int, float] = {}
        for ratio, size, _ in self.ratios(of):
            best[size] = max(ratio, best.get(size, 0.0))
        return [1 / ratio for ratio in best.values()]

    def other_median(self, of: Evidence) -> float:
        return median(self.of_other(of))

    def other_wins(self, of: Evidence) -> float:
        return fmean(ratio > 1 for ratio in self.of_other(of))


def _largest(found: Ratios) -> Found:
    value, size, mapper = max(found)
    return value, f"{mapper} at {size}; median of all {median(ratio for ratio, *_ in found):.2f}"


def _speedup(pitted: Pitted, allowed: Allowed, says: str) -> Claim[Evidence]:
    where = f"{pitted.machine}, N = {pitted.nodes}, {pitted.stencil}, {' and '.join(pitted.mappers)}"
    return Claim(pitted.table, f"{says} ({where})", allowed, pitted.largest, "{:.1f} times")


def _up_to(nodes: int, stencil: str, mappers: Sequence[str], **said: float) -> list[Claim[Evidence]]:
    """Return the sentences "up to so many times faster than blocked", one a machine."""
    return [
        _speedup(Pitted(name.replace("_", "-"), nodes, stencil, mappers), up_to(times), f"up to {times:g} times blocked")
        for name, times in said.items()
    ]


def _slower(*pitted: Pitted, least: float = 1.0) -> Callable[[Evidence], Found]:
    """At how many sizes some mappings are slower than another, by table."""

    def found(of: Evidence) -> Found:
        counts = {one.machine: sum(ratio < least for ratio, *_ in one.ratios(of)) for one in pitted}
        return sum(counts.values()), ", ".join(f"{count} on {machine}" for machine, count in counts.items())

    return found


def _forty(word_bytes: int) -> Callable[[Evidence], Found]:
    """Speed-ups at 65,536 and 262,144 bytes, the printed sizes taken as words of so many bytes."""

    def found(of: Evidence) -> Found:
        sizes = [65536 // word_bytes, 262144 // word_bytes]
        ratios = Pitted("JUWELS", 100, NEAR, (*PRESENTED, "viem")).ratios(of)
        each = [max(ratio for ratio in ratios if ratio[1] == size) for size in sizes]
        told = "; ".join(f"{ratio:.1f} times by {mapper} where {size} is printed" for ratio, size, mapper in each)
        return min(ratio for ratio, *_ in each), told

    return found


def _outlier(of: Evidence) -> Found:
    """Blocked at the size with the largest speed-up of all, one that the text does not name."""
    ratio, size, mapper = max(Pitted("JUWELS", 100, NEAR, PRESENTED).ratios(of))
    times = [of.time_s("JUWELS", 100, NEAR, size, name) or math.nan for name in ("blocked", mapper)]
    return ratio, f"blocked {format_time(times[0])}, {mapper} {format_time(times[1])} where {size} is printed"


def _bad_blocked(word_bytes: int) -> Callable[[Evidence], float]:
    """Blocked at 65,536 bytes with hops against what the sizes beside it let expect."""

    def found(of: Evidence) -> float:
        at = 65536 // word_bytes
        before, here, after = (of.time_s("JUWELS", 100, HOPS, size, "blocked") or math.nan for size in (at // 2, at, at * 2))
        return here / math.sqrt(before * after)

    return found


def _nodecart(of: Evidence) -> Found:
    """The largest gain over Nodecart: of the stencils that a program has, without Table VII, whose times jump."""
    pitted = [Pitted(*place, stencil, PRESENTED, "nodecart") for place in TABLES for stencil in STENCILS]
    steady = (one for one in pitted if one.stencil != COMPONENT and (one.machine, one.nodes) != ("JUWELS", 100))
    value, size, mapper = max(ratio for one in steady for ratio in one.ratios(of))
    every = [ratio for one in pitted for ratio, *_ in one.ratios(of)]
    return value, (
        f"{mapper} at {size}, without 'component' and Table VII; with them {max(every):.1f}; median {median(every):.2f}"
    )


def _worse_than_predicted(of: Evidence) -> Found:
    """VieM's times by what its J_max predicts, against those of the others on JUWELS."""
    line = scores.fit_line("JUWELS", of.times)

    def off(mapper: str) -> float:
        score = of.score(50, NEAR, mapper)[1]
        rows = [t for t in of.times if (t.machine, t.nodes, t.stencil, t.mapping) == ("JUWELS", 50, NEAR, mapper)]
        return median(t.time_s / (line.intercept_s + line.s_per_byte * score * t.message_bytes) for t in rows)

    viem, others = off("viem"), max(off(mapper) for mapper in PRESENTED)
    return viem / others, f"VieM {viem:.2f} times the law of J_max, the others at most {others:.2f}"


def _notches(of: Evidence, stencil: str, *mappers: str) -> str:
    boxes = [of.box(stencil, mapper) for mapper in mappers]
    each = (f"{box.mapper} {box.median:.3f} [{box.notch[0]:.3f}, {box.notch[1]:.3f}]" for box in boxes)
    return f"{stencil} {', '.join(each)}"


def _beats(mapper: str) -> Callable[[Evidence], Found]:
    def found(of: Evidence) -> Found:
        apart = [s for s in STENCILS if of.box(s, mapper).clearly_below(of.box(s, "nodecart"))]
        return len(apart), "; ".join(_notches(of, stencil, mapper, "nodecart") for stencil in STENCILS)

    return found


def _like_nodecart(of: Evidence) -> Found:
    alike = [of.box(stencil, KD).overlaps(of.box(stencil, "nodecart")) for stencil in STENCILS]
    words = "; ".join(_notches(of, stencil, KD, "nodecart") for stencil in STENCILS)
    return sum(one != (stencil == HOPS) for one, stencil in zip(alike, STENCILS, strict=True)), words


def _like_viem(stencil: str) -> Callable[[Evidence], Found]:
    return lambda of: (float(of.box(stencil, STRIPS).overlaps(of.box(stencil, "viem"))), _notches(of, stencil, STRIPS, "viem"))


def _pairs(of: Evidence, nodes: int, stencil: str, mappers: Sequence[str]) -> str:
    return ", ".join(f"{mapper} {'/'.join(map(str, of.score(nodes, stencil, mapper)))}" for mapper in mappers)


def _two_edges(nodes: int) -> Callable[[Evidence], Found]:
    def found(of: Evidence) -> Found:
        optimal = {m for m in (*PRESENTED, "nodecart", "viem") if of.score(nodes, COMPONENT, m)[1] == 2}
        return len(optimal ^ {KD, STRIPS}), f"J_sum/J_max {_pairs(of, nodes, COMPONENT, COMPARED)}"

    return found


def _scores_below(mappers: Sequence[str], other: str) -> Callable[[Evidence], Found]:
    """How many of the mappers' scores of nearest neighbours on 50 nodes are not below another's."""

    def found(of: Evidence) -> Found:
        theirs = of.score(50, NEAR, other)
        worse = [m for m in mappers for i in (0, 1) if of.score(50, NEAR, m)[i] >= theirs[i] + (i == 1)]
        return len(worse), f"J_sum/J_max {_pairs(of, 50, NEAR, (*mappers, other))}"

    return found


def _viem_over_optimum(which: int) -> Callable[[Evidence], float]:
    return lambda of: of.score(100, COMPONENT, "viem")[which] / of.score(100, COMPONENT, STRIPS)[which]


def _mapped(grid: Sequence[int], nodes: Sequence[int], stencil: str, mapper: str) -> MapResult:
    return map_grid(grid, nodes, stencil, algorithms=[mapper]).results[0]


def _degree(stencil: str) -> Callable[[Evidence], int]:
    """Messages of an inner rank: the most that a node sends where each rank has one of its own."""
    return lambda of: _mapped((7,) * of.axes, [1] * 7**of.axes, stencil, "blocked").j_max


def _three_way(of: Evidence) -> Found:
    """J_sum of a grid of three rows, filled row by row with parts of those sizes."""
    third, at, cuts = sum(of.parts) / 3, 0.0, 0
    for part in of.parts:
        at += part
        cuts += at % third != 0
    return 2 * cuts, f"3 rows of {third:g}"


def _two_by_n(of: Evidence) -> int:
    n = 2 * len(of.nodes) + 1
    return _mapped((of.axes, n), [n] * of.axes, NEAR, HYPERPLANE).j_max


def _first_cut(of: Evidence) -> float:
    """J_sum of two nodes of a grid with hops along the first axis: 24 of 12x12 cut along the second, 144 along the first."""
    side = 6 * of.axes
    return _mapped((side, side), [side * side // 2] * 2, HOPS, HYPERPLANE).j_sum


def _unequal(of: Evidence) -> Found:
    placed = []
    for mapper in (*PRESENTED, "nodecart"):
        try:
            _mapped((sum(of.nodes), 1), of.nodes, NEAR, mapper)
        except InputError:
            continue
        placed.append(mapper)
    return len(placed), f"nodes of {', '.join(map(str, of.nodes))} ranks: {', '.join(placed)}"


def _incoherent(of: Evidence) -> float:
    """How many nodes of 50x48 hold ranks that are not connected, by stencil strips."""
    grid = GRIDS[50] if of.axes == 2 else (48 * 50, 1)
    mapped = _mapped(grid, [48] * 50, NEAR, STRIPS if of.axes == 2 else "random")
    node_of = np.asarray(mapped.node_of_cell).reshape(grid)
    return sum(_parts(np.argwhere(node_of == node)) > 1 for node in range(50))


def _parts(cells: np.ndarray) -> int:
    left, parts = {tuple(map(int, cell)) for cell in cells}, 0
    while left:
        parts, reached = parts + 1, [left.pop()]
        while reached:
            x, y = reached.pop()
            beside = {(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)} & left
            left -= beside
            reached += beside
    return parts


def _arguments(of: Evidence) -> int:
    """Parameters of a function in rankwise.h; 0: it has none of that name."""
    functions = header().functions
    return len(functions[of.call].parameters) if of.call in functions else 0


def _over_hyperplane(mapper: str) -> Callable[[Evidence], Found]:
    words = "ours place all 4800 ranks at once, the paper's each rank itself"
    return lambda of: (of.seconds[mapper] / of.seconds[HYPERPLANE], words)


def _machines() -> list[Claim[Evidence]]:
    def figure(machine: str, name: str, scale: float = 1.0) -> Callable[[Evidence], float]:
        return lambda of: (of.machines[machine].get(name) or 0.0) * scale

    said = {"VSC4": (790, 3.1, 0.5), "SuperMUC-NG": (6336, 3.1, 0.25), "JUWELS": (2271, 2.7, 0.5)}
    return [
        Claim(f"VI-A, Table I, {machine}", says, allowed, ours, show, f"rankwise machines show {LISTED[machine]}")
        for machine, (nodes, clock, taper) in said.items()
        for says, allowed, ours, show in (
            (f"{nodes} nodes", exactly(nodes), figure(machine, "nodes"), "{:.0f}"),
            ("48 cores a node", exactly(48), figure(machine, "cores"), "{:.0f}"),
            (f"{clock} GHz", about(clock, 0.02), figure(machine, "node_peak", 1e-9 / 48 / _FLOPS_A_CLOCK),
             "{:.2f} GHz by the peak that its site gives"),
            (f"tapered {1 / taper:g}:1", exactly(taper), figure(machine, "taper"), "{:g}"),
            ("100 Gbit/s", exactly(100), figure(machine, "link_bandwidth", 8e-9), "{:.0f} Gbit/s"),
        )
    ]  # fmt: skip


_MAP = "rankwise map"
CLAIMS: Sequence[Claim[Evidence]] = (
    Claim("Abstract, VII", "two orders of magnitude faster than VieM", at_least(2),
          lambda of: math.log10(VIEM_S / of.seconds[HYPERPLANE]), "{:.1f} orders by our hyperplane", _MAP),
    Claim("Abstract, VII", "up to three times faster than Nodecart", up_to(3), _nodecart, "{:.2f} times"),
    Claim("I", "nodes may hold different numbers of ranks", exactly(3), _unequal, "{:.0f} of the three and Nodecart", _MAP),
    Claim("II, Fig. 1, Fig. 2", "nearest neighbour: 2 an axis", exactly(4), _degree(NEAR), "{:.0f} in 2-D", _MAP),
    Claim("II, Fig. 2", "component: no messages along the last axis", exactly(2), _degree(COMPONENT), "{:.0f} in 2-D", _MAP),
    Claim("II, Fig. 2", "with hops: 4 more", exactly(8), _degree(HOPS), "{:.0f} in 2-D", _MAP),
    cannot("IV, Theorem IV.3", "GRID-PARTITION is NP-hard", "a proof is not run"),
    Claim("IV, Fig. 3", "six parts 6, 3, 3, 2, 2, 2: J_sum is 6", exactly(6), _three_way, "{:.0f}"),
    Claim("IV, Fig. 3", "its grid is [6, 2]", exactly(12), lambda of: sum(of.parts), "the parts have {:.0f} cells"),
    Claim("V-A, Eqs. 1, 2", "the axis with the least cosines is cut", exactly(24), _first_cut,
          "J_sum {:.0f} of 12x12 with hops", _MAP),
    Claim("V-A, Algorithm 1", "[2, n], n odd: 3 edges each", exactly(3), _two_by_n, "J_max {:.0f}", _MAP),
    cannot("V-A, Fig. 4", "5 x 4 on 5 nodes in three steps", "the picture prints no score"),
    cannot("V-A, Theorem V.1, Eq. 3", "a split always exists", "a proof is not run; all instances below are split"),
    Claim("V-A, Theorem V.2, Eqs. 4 to 7", "halves are 1/2 or more of each other", at_least(0.5),
          lambda of: min((p // 2) / ((p + 1) // 2) for p in of.primes), "least {:.2f}"),
    cannot("V, Algorithms 1 to 3", "O(log N sum d), O(log p log d), O(k d)",
           "bounds without constants; ours place all ranks at once"),
    Claim("V-C, Fig. 5", "strips in turns keep nodes coherent", NONE, _incoherent, "{:.0f} of 50 nodes are not coherent", _MAP),
    *_machines(),
    Claim("VI-B, Listing 1", "8 arguments of MPIX_Cart_stencil_comm", exactly(8), _arguments, "{:.0f}", "rankwise preload"),
    Claim("VI-B", "MPI_Dims_create: 50x48 and 75x64", NONE,
          lambda of: counted([g for g in GRIDS.values() if balanced_grid(math.prod(g), of.axes) != g]), "{:.0f} differ", _MAP),
    Claim("VI-C", "144 instances", exactly(144),
          lambda of: len({(r.instance.nodes, r.instance.ranks_per_node, len(r.instance.grid))
          for r in of.results}), "{:.0f}"),
    Claim("VI-C", "node counts 10, 13, 16, ..., 33", exactly(33), lambda of: max(r.instance.nodes for r in of.results),
          "{:.0f} is the last of eight, 144 = 8 x 9 x 2"),
    *(Claim("VI-C, Fig. 8", f"the median of {mapper} is better than Nodecart's", exactly(3), _beats(mapper),
            "for {:.0f} of 3 stencils")
      for mapper in (HYPERPLANE, STRIPS)),
    Claim("VI-C, Fig. 8", "k-d tree is like Nodecart with hops only", NONE, _like_nodecart,
          "contradicted by {:.0f} of the stencils"),
    *(Claim("VI-C, Fig. 8", f"strips like VieM ({stencil})", exactly(1), _like_viem(stencil),
            "{:.0f} of 1 pair of notches overlaps")
      for stencil in (NEAR, COMPONENT)),
    cannot("VI-D", "200 repetitions, outliers removed", "no samples were published"),
    *_up_to(50, NEAR, [HYPERPLANE], VSC4=3, SuperMUC_NG=2), *_up_to(50, NEAR, [STRIPS], VSC4=4, SuperMUC_NG=3),
    *(_speedup(Pitted("JUWELS", 50, NEAR, [mapper]), above(5), "more than 5 times blocked") for mapper in (HYPERPLANE, STRIPS)),
    Claim("VI-D, Fig. 6", "all three beat Nodecart by J (N = 50)", NONE, _scores_below(PRESENTED, "nodecart"),
          "contradicted by {:.0f} of the scores"),
    Claim("VI-D, Table II", "... and by time on VSC4", NONE,
          _slower(Pitted("VSC4", 50, NEAR, PRESENTED, "nodecart")), "contradicted by {:.0f} of the times"),
    *(Claim(on.table, f"... and mostly on {on.machine}", above(0.5), on.share_above(1), "{:.0%} of times")
      for on in (Pitted(machine, 50, NEAR, PRESENTED, "nodecart") for machine in MACHINES[1:])),
    Claim("VI-D, Fig. 6", "strips beat VieM by J (N = 50)", NONE, _scores_below([STRIPS], "viem"),
          "contradicted by {:.0f} of the scores"),
    Claim("VI-D, Tables II, IV, VI", "strips beat VieM on all machines", NONE,
          _slower(*(Pitted(machine, 50, NEAR, [STRIPS], "viem") for machine in MACHINES)),
          "contradicted by {:.0f} of the times"),
    Claim("VI-D, Tables II, IV, VI", "hyperplane, k-d tree similar or better", NONE,
          _slower(*(Pitted(machine, 50, NEAR, [HYPERPLANE, KD], "viem") for machine in MACHINES), least=_SIMILAR),
          "more than 10 % slower in {:.0f} of the times"),
    Claim("VI-D, Table VI", "VieM is slower on JUWELS than J predicts", above(1), _worse_than_predicted,
          "{:.2f} times the others"),
    *_up_to(100, NEAR, [HYPERPLANE, STRIPS], VSC4=3, SuperMUC_NG=2.5, JUWELS=2),
    Claim("VI-D, Table VII", "65,536 and 262,144 B: above forty", above(40), _forty(1), "{:.1f} times"),
    Claim("VI-D, Table VII", "... if tables count words of 8 B", above(40), _forty(_WORD_BYTES), "{:.1f} times"),
    Claim("VI-D, Table VII", "forty is the largest", about(40, 0.5), _outlier, "{:.1f} times"),
    *_up_to(50, HOPS, [HYPERPLANE, STRIPS], VSC4=4, SuperMUC_NG=3.5, JUWELS=3),
    Claim("VI-D, Fig. 6", "VieM beats all three by J (hops)", NONE,
          lambda of: (len([m for m in PRESENTED if of.score(50, HOPS, m)[0] <= of.score(50, HOPS, "viem")[0]]),
                      f"J_sum/J_max {_pairs(of, 50, HOPS, (*PRESENTED, 'viem'))}"), "contradicted by {:.0f} of the scores"),
    *(Claim(on.table, f"VieM beats all three on {on.machine} (hops)", above(0.5), on.other_wins, "at {:.0%} of sizes")
      for on in (Pitted(machine, 50, HOPS, PRESENTED, "viem") for machine in MACHINES[:2])),
    Claim("VI-D, Table VI", "strips similar or better for large (hops)", at_least(_SIMILAR),
          lambda of: min(Pitted("JUWELS", 50, HOPS, [STRIPS], "viem", _BIG).ratios(of))[0], "at least {:.2f} times"),
    *(Claim(on.table, f"two to three times Nodecart on {on.machine} (hops)", (2 * 0.85, 3 * 1.15), on.largest, "{:.1f} times")
      for on in (Pitted(machine, 50, HOPS, PRESENTED, "nodecart") for machine in MACHINES)),
    *_up_to(100, HOPS, PRESENTED, VSC4=4.5, SuperMUC_NG=3.5),
    Claim("VI-D, Table VII", "more than 2 times blocked on JUWELS (hops)", above(2),
          Pitted("JUWELS", 100, HOPS, PRESENTED).least_median, "least {:.2f} times"),
    Claim("VI-D, Table VII", "blocked is bad at 65,536 B (hops)", above(1.5), _bad_blocked(1),
          "{:.2f} times what its neighbours say"),
    Claim("VI-D, Table VII", "... if tables count words of 8 B (hops)", above(1.5), _bad_blocked(_WORD_BYTES),
          "{:.2f} times what its neighbours say"),
    Claim("VI-D, Table III", "more than 2 times Nodecart on VSC4 (hops)", above(2),
          Pitted("VSC4", 100, HOPS, PRESENTED, "nodecart").least_median, "least {:.2f} times"),
    *(Claim(on.table, f"mostly above 1.3 times Nodecart on {on.machine}", above(0.5), on.share_above(1.3), "{:.0%} of times")
      for on in (Pitted(machine, 100, HOPS, PRESENTED, "nodecart") for machine in MACHINES[1:])),
    *(Claim(f"VI-D, Fig. {6 + (nodes == 100)}", f"only k-d tree and strips are optimal (N = {nodes})", NONE, _two_edges(nodes),
            "contradicted by {:.0f} of the mappers") for nodes in GRIDS),
    *_up_to(50, COMPONENT, [KD, STRIPS], VSC4=10, SuperMUC_NG=5, JUWELS=12),
    *(Claim(on.table, f"VieM is similar on {on.machine} (component)", about(1, 0.15), on.other_median,
            "median {:.2f} times the best of ours")
      for on in (Pitted(machine, 50, COMPONENT, [KD, STRIPS], "viem") for machine in MACHINES[:2])),
    Claim("VI-D, Table VI", "VieM is faster for small ones (component)", above(0.5),
          Pitted("JUWELS", 50, COMPONENT, [KD, STRIPS], "viem", _SMALL).other_wins, "at {:.0%} of sizes"),
    *_up_to(100, COMPONENT, [KD, STRIPS], VSC4=14, SuperMUC_NG=5, JUWELS=16),
    *(Claim(on.table, f"VieM matches or beats ours on {on.machine} (component)", at_least(_SIMILAR), on.other_median,
            "median {:.2f} times the best of ours")
      for on in (Pitted(machine, 100, COMPONENT, [KD, STRIPS], "viem") for machine in MACHINES)),
    Claim("VI-D, Fig. 7", "VieM: 1.6 times the optimal J_sum", about(1.6, 0.03), _viem_over_optimum(0),
          "the public VieM: {:.2f} times"),
    Claim("VI-D, Fig. 7", "VieM: 8.5 times the optimal J_max", about(8.5, 0.01), _viem_over_optimum(1),
          "the public VieM: {:.2f} times"),
    Claim("VI-E, Fig. 9", "VieM: 7.95 s, a factor of more than 400", above(400), lambda of: VIEM_S / of.seconds[HYPERPLANE],
          "{:,.0f} times our hyperplane", _MAP),
    Claim("VI-E, Fig. 9", "hyperplane and k-d tree are equal", about(1, 0.1), _over_hyperplane(KD), "k-d tree {:.2f} times",
          _MAP),
    Claim("VI-E, Fig. 9", "Nodecart takes 28 % longer", about(1.28, 0.1), _over_hyperplane("nodecart"), "{:.2f} times", _MAP),
    Claim("VI-E, Fig. 9", "strips take more than twice as long", above(2), _over_hyperplane(STRIPS), "{:.2f} times", _MAP),
    Claim("VII", "future: released in MPI implementations", ANY, _arguments,
          "programs are reordered, MPIX call of {:.0f} arguments", "rankwise preload"),
)  # fmt: skip
