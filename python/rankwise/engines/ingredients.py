"""What exchanges are made of: which of it some cases need, and the machine that its times make.

An ingredient is timed as exchanges meet it: from a common start, blocks freshly written, carried out by the executor of
schedules. S(n): a step of n messages each way; hop(h, w): h steps of w messages, each forwarding what the last one brought;
P(h): there and back h times by sends that block; N: one message as a neighbourhood collective; copies and additions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from rankwise import _core
from rankwise.engines.judge import judged, sizes_of
from rankwise.engines.machines import machine_of_profile
from rankwise.machine.profile import Profile
from rankwise.workloads.base import Case

_BLOCKING = ("send", "ssend")
_STARTS = (1, 2, 4)  # messages each way of a first step
_WIDTHS = (1, 2)  # of later ones
_LEAST_S = 1e-9  # a difference of two times is at least this
_NO_BOUND = 1e30  # bytes/s

Value = Callable[[str], float]


@dataclass(frozen=True)
class Plan:
    """The ingredients of some cases on one placement: sizes in bytes by way of sending, and two ranks for each link class."""

    sizes: Mapping[str, Sequence[int]]
    pairs: Mapping[str, tuple[int, int]]
    collective: bool
    ranks: int

    @classmethod
    def of(cls, cases: Sequence[Case], placement: _core.Placement) -> Plan:
        """Return what the cases need."""
        sizes: dict[str, set[int]] = {}
        for case in cases:
            program = case.program()
            found = sizes_of(judged(program, placement).message_blocks, case.block_bytes or 0)
            sizes.setdefault(program.mode, set()).update(found)
        pairs: dict[str, tuple[int, int]] = {}
        for a in range(placement.ranks):
            for b in range(a + 1, placement.ranks):
                pairs.setdefault(placement.link_between(a, b), (a, b))
        return cls(
            {mode: sorted(of_mode) for mode, of_mode in sizes.items()}, pairs,
            any(case.keys().get("algorithm") == "neighbor-alltoall" for case in cases), placement.ranks,
        )  # fmt: skip

    def jobs(self) -> list[str]:
        """Return all ingredients as the kernel reads them."""
        asked: dict[str, None] = {}

        def note(job: str) -> float:
            asked[job] = None
            return 1.0

        self._links(note)
        self._work(note)
        return list(asked)

    def warm_jobs(self, profile: Profile) -> dict[str, float]:
        """Return the profile's own ping-pongs at the sizes of the cases, with the time that each took by the profile."""
        every = sorted({size for sizes in self.sizes.values() for size in sizes})
        found: dict[str, float] = {}
        for name, (a, b) in self.pairs.items():
            if (link := profile.links.get(name)) is None:
                continue
            curves = {"send": link.send, **{way: link.variants[way] for way in ("ssend", "exchange") if way in link.variants}}
            found |= {f"+warm:{way}:{size}:{a}/{b}": curve.time_s(size) for way, curve in curves.items() for size in every}
        return found

    def fresh(self, profile: Profile, value: Value) -> list[float]:
        """Return how many times a warm ping-pong what exchanges meet takes: by link, way of sending and size."""
        known = self.warm_jobs(profile)
        ratios = []
        for pair in self.pairs.values():
            for mode, sizes in self.sizes.items():
                for size in sizes:
                    warm = f"+warm:{mode if mode in _BLOCKING else 'exchange'}:{size}:{pair[0]}/{pair[1]}"
                    if warm in known:
                        steps = self._steps(mode, size, pair, value)
                        ratios.append(steps["chain" if mode in _BLOCKING else "start-1"] / value(warm))
        return ratios

    def profile(self, profile: Profile, value: Value) -> Profile:
        """Return the profile with the steps that ``value`` (job → seconds) gives; links that it lacks are like its first."""
        any_link = next(iter(profile.links.values()))
        links = {name: replace(profile.links.get(name, any_link), steps=steps) for name, steps in self._links(value).items()}
        return replace(profile, links=links, work=self._work(value))

    def machine(self, profile: Profile, value: Value) -> _core.Machine:
        """Return the machine of these steps.

        Nothing of the profile counts then but what ranks share, and that only among more than two ranks: all that two
        share is in their ingredients.
        """
        shared = profile.shared.to_dict() if self.ranks > 2 else {"card": {"bytes_per_s": _NO_BOUND}}
        return machine_of_profile(self.profile(profile, value), shared=shared)

    def _links(self, value: Value) -> dict[str, dict[str, dict[str, list[list[float]]]]]:
        """Return the curves of the steps of each link class and way of sending."""
        links: dict[str, dict[str, dict[str, list[list[float]]]]] = {}
        for name, pair in self.pairs.items():
            for mode, sizes in self.sizes.items():
                curves = links.setdefault(name, {}).setdefault(mode, {})
                for size in sizes:
                    for key, time_s in self._steps(mode, size, pair, value).items():
                        curves.setdefault(key, []).append([size, time_s])
        return links

    def _steps(self, mode: str, size: int, pair: tuple[int, int], value: Value) -> dict[str, float]:
        def job(kind: str, hops: int, width: int) -> float:
            return value(f"+{kind}:{mode}:{hops}:{width}:{size}:{pair[0]}/{pair[1]}")

        start = {n: job("step", 1, n) for n in _STARTS}
        steps = {f"start-{n}": time_s for n, time_s in start.items()}
        for width in _WIDTHS:
            steps[f"later-{width}"] = max(_LEAST_S, (job("step", 3, width) - start[width]) / 2)
        if mode in _BLOCKING:
            once, thrice = job("chain", 1, 1), job("chain", 3, 1)
            steps["chain"] = max(_LEAST_S, (thrice - once) / 4)  # one way
            steps["chain-start"] = max(_LEAST_S, once - steps["chain"])
        if self.collective and mode == "isend":
            steps["collective"] = max(0.0, job("collective", 1, 1) - start[1])
        return steps

    def _work(self, value: Value) -> dict[str, list[list[float]]]:
        """Return the curves of copying and of adding a block."""
        a, b = next(iter(self.pairs.values()), (0, 0))
        every = sorted({size for sizes in self.sizes.values() for size in sizes}) if a != b else []

        def each_s(kind: str, size: int) -> float:
            once, thrice = (value(f"+{kind}:isend:1:{width}:{size}:{a}/{b}") for width in (1, 3))
            return max(0.0, (thrice - once) / 2)

        return {kind: [[size, each_s(kind, size)] for size in every] for kind in ("copy", "add") if every}
