"""Which algorithm an MPI library selects for a collective, from the library's own default rules, and what it can be set to.

``openmpi.json`` and ``mpich.json`` hold the rules as trees: tests are tried in order, the first that holds leads on. They come
from the sources that each file names. A library asks its layers in turn (Open MPI 5: HAN, then tuned; MPICH: ch4, then
the algorithms that know no nodes); a layer without a rule for a call leaves it to the next.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from rankwise.errors import InputError

# Collectives of which every rank has a block of its own size; of the others the bytes are those of a whole vector.
BY_RANK = frozenset({"allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw", "gather", "gatherv", "scatter",
                     "scatterv"})  # fmt: skip
# Schedules of which every rank sends to every other, or as often.
SQUARE = frozenset(
    "ring segmented-ring linear linear-nonblocking pairwise pairwise-exchange in-place neighbor-exchange double-ring pipeline "
    "chain scatter-ring-allgather".split()
)
_WITHIN = frozenset({"linear", "chain", "pipeline", "tree", "binomial", "k-nomial"})  # of reduce and of bcast
_IN_STAGES = frozenset({"reduce-bcast", "gather-bcast", "reduce-scatter"})  # all ranks in each
SEGMENTS = (8192, 32768, 131072, 262144)  # bytes that can be set
_MOST_PIECES = 1024


@dataclass(frozen=True)
class Call:
    """A collective as a library sees it.

    ``size_bytes``: of the vector, or of one rank's block (to one other, alltoall); ``node_of_rank``: none where every rank is
    on a node of its own; ``element_bytes``: of the datatype, for rules that count elements.
    """

    kind: str
    ranks: int
    size_bytes: int
    node_of_rank: tuple[int, ...] = ()
    element_bytes: int = 4
    commutative: bool = True
    in_place: bool = False

    @cached_property
    def nodes(self) -> tuple[int, int]:
        """How many nodes there are, and the most ranks on one."""
        counts = Counter(self.node_of_rank) if self.node_of_rank else dict.fromkeys(range(self.ranks), 1)
        return len(counts), max(counts.values())

    def quantity(self, name: str) -> int:
        """Return what a test compares: ranks, bytes, the bytes of all ranks together (total), or of one of them (block)."""
        if name == "ranks":
            return self.ranks
        total = self.size_bytes * self.ranks if self.kind in BY_RANK else self.size_bytes
        return {"bytes": self.size_bytes, "total": total, "block": total // self.ranks}[name]

    def holds(self, test: str) -> bool:
        """Tell whether a test of the rules holds."""
        if match := re.fullmatch(r"(ranks|bytes|total|block)(<=|<|>)(\d+)", test):
            value, limit = self.quantity(match[1]), int(match[3])
            return value < limit if match[2] == "<" else value <= limit if match[2] == "<=" else value > limit
        power = 1 << (self.ranks.bit_length() - 1)
        elements = self.size_bytes // self.element_bytes
        return {
            "any": True,
            "power of two of ranks": self.ranks == power,
            "not a power of two of ranks": self.ranks != power,
            "an odd number of ranks": self.ranks % 2 == 1,
            "fewer elements than ranks": elements < self.ranks,
            "fewer elements than a power of two of ranks": elements < power,
            "not commutative": not self.commutative,
            "commutative=no": not self.commutative,
            "in place": self.in_place,
            "one node": self.nodes[0] == 1,
            "several nodes of several ranks": self.nodes[0] > 1 and self.nodes[1] > 1,
        }[test]


@dataclass(frozen=True)
class Selection:
    """What a library selects: its own name of the algorithm, ours, and by which rule.

    ``exact``: whether the schedule is the library's message for message, or only of the same kind.
    """

    library: str
    name: str
    algorithm: str
    why: str
    radix: int = 2
    segment_bytes: int = 0
    within: str = ""
    between: str = ""
    exact: bool = True


def pieces_of(algorithm: str, ranks: int, size_bytes: int, segments: Sequence[int], most: int) -> list[int]:
    """Return the segments that divide what an algorithm sends at once: a vector, a rank's share of it, or a half of it.

    ``most``: pieces of the vector.
    """
    shares = {"segmented-ring": ranks, "split-binary": 2}.get(algorithm, 1)
    return [size for size in segments if size * shares < size_bytes <= size * most]


@cache
def rules_of(family: str) -> dict[str, Any]:
    """Return the rules of a family of libraries: openmpi, mpich or intelmpi (which publishes none, only what can be set)."""
    loaded: dict[str, Any] = json.loads((Path(__file__).parent / f"{family}.json").read_text(encoding="utf-8"))
    return loaded


_FAMILIES = {"openmpi": re.compile(r"open[ -]?mpi\D*(\d+\.\d+)?", re.I), "mpich": re.compile(r"mpich\D*(\d+\.\d+)?", re.I)}
_UNPUBLISHED = {"intelmpi": re.compile(r"intel(?:\(r\))?[ -]?mpi\D*(\d+)?", re.I)}  # rules; algorithms can be set


def known_libraries() -> list[str]:
    """Return the libraries whose rules are known, as ``--library`` takes them: openmpi-4.1 and so on."""
    return [f"{family}-{version}" for family in _FAMILIES for version in rules_of(family)["versions"]]


def libraries_of(text: str) -> tuple[list[str], str | None]:
    """Return the known libraries that a text stands for, and what is not known of it (None: nothing).

    ``text``: an option's or what MPI_Get_library_version says. Of an unknown version all of its family, of an unknown library
    all that are known.
    """
    for family, pattern in _FAMILIES.items():
        if match := pattern.search(text):
            versions = list(rules_of(family)["versions"])
            if match[1] in versions:
                return [f"{family}-{match[1]}"], None
            shown = f"{rules_of(family)['library']} {match[1] or 'of an unknown version'}"
            return [f"{family}-{version}" for version in versions], f"the rules of {shown} are not known"
    return known_libraries(), f"the rules of {f'the MPI library {text[:40]!r}' if text else 'the MPI library'} are not known"


def settable_libraries() -> list[str]:
    """Return the libraries of which some collective can be set to an algorithm that is known."""
    return [*known_libraries(), *(f"{family}-{version}" for family in _UNPUBLISHED for version in rules_of(family)["versions"])]


def library_to_set(text: str) -> tuple[str | None, str]:
    """Return which of ``settable_libraries`` a text names, as ``libraries_of`` takes it, or None and why there is none."""
    for family, pattern in _UNPUBLISHED.items():
        if match := pattern.search(text):
            rules = rules_of(family)
            versions = list(rules["versions"])
            if match[1] in versions:
                return f"{family}-{match[1]}", ""
            return None, f"the algorithms of {rules['library']} {match[1] or 'of an unknown version'} are not known"
    libraries, unknown = libraries_of(text)
    return (libraries[0], "") if unknown is None else (None, unknown)


def publishes_rules(library: str) -> bool:
    """Tell whether what a library selects by default is known."""
    return library in known_libraries()


def select(library: str, call: Call) -> Selection:
    """Return what a library (of ``known_libraries``) selects for a call. Raises InputError for an unknown one."""
    family, _, version = library.partition("-")
    if library not in known_libraries():
        raise InputError(f"library '{library}' is unknown: choose one of {', '.join(known_libraries())}")
    rules = rules_of(family)
    for layer in rules["versions"][version]:
        if (found := _in_layer(library, rules, layer, call)) is not None:
            return found
    raise InputError(f"no rule of {library} is known for {call.kind}")


def _in_layer(library: str, rules: Mapping[str, Any], layer: str, call: Call) -> Selection | None:
    tree = rules["rules"][layer].get(call.kind, rules["rules"][layer].get(call.kind.removesuffix("_block")))
    if tree is None:
        return None
    path: list[str] = []
    while isinstance(tree, dict):
        tests = list(tree)
        holding = next((test for test in tests if call.holds(test)), None)
        if holding is None:
            return None
        path += _words(tests[: tests.index(holding) + 1])
        tree = tree[holding]
    return named(library, tree, call, f"{layer}: " + (", ".join(path) or "always"))


def named(library: str, name: str, call: Call, why: str) -> Selection | None:
    """Return what a library carries a call out by where it uses what it calls so; None: a layer leaves that to the next."""
    rules = rules_of(library.partition("-")[0])
    entry = algorithms_of(rules, call.kind)[name]
    if not entry:
        return None
    entry, falls = resolved(call, entry)
    if falls and not entry.get("same"):  # of other ranks than a power of two it may only be another schedule
        why += f"; {name} falls back on {entry['as']}: {falls}"
    found = Selection(
        library, name, entry["as"], why, entry.get("radix", 2), entry.get("segment_bytes", 0), exact=entry.get("exact", True)
    )
    return _with_stages(rules, entry, found, call)


def algorithms_of(rules: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """Return what a library calls the algorithms of a collective, and what each is."""
    found: Any = rules["algorithms"][kind]
    found = rules["algorithms"][found] if isinstance(found, str) else found
    return dict(found)


def resolved(call: Call, entry: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """Return what an algorithm comes to for a call, and the test by which it falls back on another (empty: it does not)."""
    return next(((other, test) for test, other in entry.get("falls", {}).items() if call.holds(test)), (entry, ""))


def _with_stages(rules: Mapping[str, Any], entry: Mapping[str, Any], found: Selection, call: Call) -> Selection:
    """Fill in the algorithms of stages, which are named, or selected by a layer for as many ranks as take part."""
    nodes, most = call.nodes
    size = min(call.size_bytes, found.segment_bytes or call.size_bytes)
    stages = {}
    for stage, ranks in (("within", most), ("between", nodes)):
        layer, _, kind = entry.get(stage, "").partition(":")
        if layer not in rules["rules"]:
            stages[stage] = layer
            continue
        ranks = call.ranks if found.algorithm in _IN_STAGES else ranks
        kind = kind or call.kind
        of_all = size * ranks if call.kind in BY_RANK and kind not in BY_RANK else size
        of_one = size // ranks if call.kind not in BY_RANK and kind in BY_RANK else of_all
        among = replace(call, kind=kind, ranks=ranks, size_bytes=of_one, node_of_rank=())
        chosen = _in_layer(found.library, rules, layer, among) if ranks > 1 else None
        flat = None if chosen is None else chosen.between if chosen.algorithm == "node-aware" else chosen.algorithm
        stages[stage] = flat or ("binomial" if stage == "within" else "linear")
        if chosen is not None and chosen.radix != 2:
            found = replace(found, radix=chosen.radix)
    of_one_kind = found.algorithm == "gather-bcast" or call.kind in ("gather", "scatter")
    if stages["within"] and stages["within"] not in _WITHIN and not of_one_kind:
        found = replace(found, exact=False)
        stages["within"] = "binomial"
    return replace(found, **stages)


def _words(tests: Sequence[str]) -> Iterator[str]:
    """Say what a rule's range is: the limit that holds, and the one before it that does not."""
    last = tests[-1]
    match = re.fullmatch(r"(\w+)(<=|<)(\d+)", last)
    before = re.fullmatch(r"(\w+)(<=|<)(\d+)", tests[-2]) if len(tests) > 1 else None
    if before and (last == "any" or (match and match[1] == before[1])):
        sign = ">=" if before[2] == "<" else ">"
        yield f"{before[1]} {sign} {before[3]}"
    if match:
        yield f"{match[1]} {match[2]} {match[3]}"
    elif last != "any":
        yield last.replace("commutative=no", "not commutative")


@dataclass(frozen=True)
class Setting:
    """An algorithm that a library can be set to; ``parameters``: what else its leaf of a selection file says."""

    name: str
    algorithm: str
    radix: int = 2
    segment_bytes: int = 0
    parameters: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The library's name, with what is set next to it."""
        from rankwise.units import format_size

        chains = f", {self.radix} chains" if self.algorithm == "chain" else ""
        return self.name + chains + (f", {format_size(self.segment_bytes)}" if self.segment_bytes else "")


def settable(library: str, call: Call) -> Iterator[Setting]:
    """Yield what a library (of ``settable_libraries``) can be set to for a call, by its own names of algorithms as ``settable``
    of its rules lists them; nothing where it has no choice.

    Only algorithms whose messages are known exactly are there: the gain of a setting is predicted from them.
    """
    rules = rules_of(library.partition("-")[0])
    known = algorithms_of(rules, call.kind)
    for name, more in rules.get("settable", {}).get(call.kind, {}).items():
        if "needs" in more and not call.holds(more["needs"]):
            continue
        entry = resolved(call, {**known.get(name, {}), **more})[0]
        if not entry.get("exact", True):
            continue
        pieces = pieces_of(entry["as"], call.ranks, call.size_bytes, SEGMENTS, _MOST_PIECES) if "segments" in entry else []
        for radix in entry.get("radices", (entry.get("radix", 2),)):
            if radix >= call.ranks and "radices" in entry:
                continue
            for size in (*(() if entry["as"] == "segmented-ring" else (0,)), *pieces):
                yield Setting(name, entry["as"], radix, size, tuple(entry.get("parameters", ())))
