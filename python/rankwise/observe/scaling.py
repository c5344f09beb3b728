"""A recorded program on other numbers of ranks: which grid it chooses there, what grows how, and how well recordings agree."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankwise.arrays import Array
from rankwise.factors import balanced_grid, factorisations
from rankwise.observe.collectives import Carrier
from rankwise.observe.operations import NoTemplateError, operations_of
from rankwise.observe.phases import PhasedStep, first_events, steps_of
from rankwise.observe.playing import Laws, laid, play
from rankwise.observe.record import BLOCKING_RECEIVE, COMPLETION, Record
from rankwise.observe.steps import Steps
from rankwise.observe.template import Template, Topology, grown, learn
from rankwise.statistics import median_interval_95

MOST_FULL = 4096  # ranks that are all played; more are drawn from fewer
MOST_TIMES = 64  # the recorded ranks: beyond it there is no interval
_MOST_ANSWERS = 4  # grids and readings that are priced
_GHOSTS, _SERIAL, _CACHE, _BEYOND_CACHE = 4, 0.01, 0.78, 0.75  # what one recording cannot tell: cells along an axis; shares
_THIN = 0.02  # ghosts of a block, as a share of it: no fewer are seen
_ALIKE = 1.001  # surfaces, whose faces are of whole cells
_DOUBLING, _LEAST_NOISE = 0.01, 0.002


@dataclass(frozen=True, eq=False)
class Recorded:
    """A recording: its templates, the likeliest first, and how much its steps vary."""

    ranks: int
    templates: tuple[Template, ...]
    noise: float
    record: Record
    steps: Steps
    told: bool  # whether the program itself asked for the grid

    @classmethod
    def of(cls, record: Record, alone: bool, compute: bool = True) -> Recorded:
        """Learn what all ranks do. ``alone``: there is no other recording that could tell readings apart; ``compute``: with
        what they compute. Raises NoTemplateError."""
        events = first_events(record)
        steps = steps_of(record, events)
        if steps is None:
            made = len(record.header.get("communicators") or ())
            why = "a run that ends by itself"
            if made > 2 * record.ranks:
                why = f"make communicators once ({made} were made), not in each step"
            raise NoTemplateError(f"no step repeats on all of {record.ranks} ranks: observe more steps, or {why}")
        carts = [(tuple(cart["dims"]), tuple(map(bool, cart["periodic"]))) for cart in record.header.get("carts") or ()]
        carrier = Carrier.candidates(record)[0][0]
        if any(line.get("inter") for line in record.header.get("communicators") or ()):
            raise NoTemplateError("ranks talk through inter-communicators: ask for the same number of ranks")
        refused: NoTemplateError | None = None
        for operations in operations_of(events, steps, record.header.get("calls", []), carrier):
            try:
                found = learn(operations, carts, alone)
            except NoTemplateError as error:
                refused = refused or error
                continue
            low_s, high_s = median_interval_95(steps.durations_s)
            noise = max(_LEAST_NOISE, float(high_s - low_s) / 2 / max(1e-12, float(np.median(steps.durations_s))))
            if not compute:
                found = [replace(one, before_s=np.zeros_like(one.before_s)) for one in found]
            told = any(math.prod(dims) == record.ranks for dims, _ in carts)
            return cls(record.ranks, tuple(found), noise, record, steps, told)
        raise refused or NoTemplateError("no step could be cut out of all ranks: observe more steps")

    @property
    def compute_s(self) -> float:
        """What a rank computes in a step, the mean."""
        return float(self.templates[0].before_s.sum(axis=0).mean())

    @property
    def imbalance(self) -> float:
        """How much more than the mean the busiest rank computes, as a share."""
        each_s = self.templates[0].before_s.sum(axis=0)
        return float(each_s.max() / each_s.mean() - 1) if each_s.any() else 0.0


@dataclass(frozen=True, eq=False)
class Answer:
    """What the program may do on a number of ranks: a step, its grid (None: it has none), and in words why that one.

    ``few``: the step is one of fewer ranks, with messages and computing as of so many: its collectives are short.
    """

    step: PhasedStep
    ranks: int
    grid: tuple[int, ...] | None
    why: str
    few: bool = False
    reading: tuple[bool, ...] = ()  # which axes are taken to be periodic


@dataclass(frozen=True, eq=False)
class Scaling:
    """Recordings of one program on several numbers of ranks (ascending), strong or weak scaling; ``grid``: the user's."""

    recordings: tuple[Recorded, ...]
    weak: bool
    grid: tuple[int, ...] | None = None

    @classmethod
    def of(cls, records: Sequence[Record], weak: bool, grid: tuple[int, ...] | None = None, compute: bool = True) -> Scaling:
        """Learn from records. Raises NoTemplateError where what ranks do cannot be carried over, and says what to record."""
        several = len({record.ranks for record in records}) > 1 or grid is not None
        found = sorted((Recorded.of(record, not several, compute) for record in records), key=lambda one: one.ranks)
        if len({one.ranks for one in found}) < len(found):
            raise NoTemplateError("two recordings have the same number of ranks: give one of each number")
        return cls(tuple(_agreeing(found)), weak, grid)

    @property
    def base(self) -> Recorded:
        """The recording with the most ranks."""
        return self.recordings[-1]

    def answers(
        self, ranks: int, carriers: Sequence[Carrier], base: Recorded | None = None, compute: float | None = None
    ) -> list[Answer]:
        """Return what the program may do on so many ranks, the likeliest first. ``base``: carried over from another recording;
        ``compute``: by what its computing is multiplied, if not by the law of :meth:`computing`.

        Raises NoTemplateError where that cannot be said."""
        own = base or self.base
        found: list[Answer] = []
        shown = set()
        factor = self.computing(ranks, own if base is not None else None)[0] if compute is None else compute
        for template in own.templates:  # of several, each reading of axes of two cells
            for topology, why in self._topologies(template, ranks):
                if (topology.dims, topology.periodic) in shown or len(found) >= _MOST_ANSWERS:
                    continue
                shown.add((topology.dims, topology.periodic))
                found += [self._played(own, template, (topology, why), carrier, factor) for carrier in carriers]
        return found

    def _played(
        self, own: Recorded, template: Template, where: tuple[Topology, str], carrier: Carrier, compute: float
    ) -> Answer:
        (topology, why), calls = where, tuple(own.record.header.get("calls", ()))
        ranks = topology.ranks
        if template.topology.bits:
            template = grown(template, ranks)
            return Answer(laid(play(template, topology, Laws(compute, 1.0, ()), calls), carrier), ranks, None, why)
        laws = Laws.of(template.topology, topology, self.weak, compute)
        if (thick := ghosts_of(template)) is not None and not self.weak:
            share, order = thick
            pairs = zip(template.topology.dims, topology.dims, strict=True)
            laws = replace(
                laws, with_ghosts=tuple((1 / there + share) / (1 / here + share) for here, there in pairs), order=order
            )
        self._check(template, topology)
        walked = topology
        if ranks > MOST_FULL:
            walked = _smaller(topology)
            if _along(template):
                raise NoTemplateError(f"collectives along axes are predicted up to {MOST_FULL} ranks: ask for no more")
        step = laid(play(template, walked, laws, calls), carrier)
        if walked is not topology and step.phases > laid(play(template, _smaller(walked), laws, calls), carrier).phases + 8:
            raise NoTemplateError(
                f"ranks wait for each other in a chain, which is walked up to {MOST_FULL} ranks: ask for no more"
            )
        grid = topology.dims if template.offsets or _along(template) else None
        return Answer(step, ranks, grid, why, walked is not topology, topology.periodic)

    def _topologies(self, template: Template, ranks: int) -> Iterator[tuple[Topology, str]]:
        """Yield the grids that the program may choose, and why."""
        own = template.topology
        if own.bits:
            if ranks & (ranks - 1):
                raise NoTemplateError(
                    f"ranks exchange with those whose number differs in a bit: ask for powers of two, not {ranks}"
                )
            yield Topology((ranks,), (), bits=True), "partners whose number differs in one bit"
            return
        if self.grid is not None and math.prod(self.grid) == ranks:
            if len(self.grid) != len(own.dims):
                raise NoTemplateError(
                    f"the program's grid has {len(own.dims)} axes ({_words(own.dims)}), not {len(self.grid)}: give as many"
                )
            yield Topology(self.grid, own.periodic), "as given"
            return
        seen = set()
        for dims, why in self._grids(template, ranks):
            if dims not in seen:
                seen.add(dims)
                yield Topology(dims, own.periodic), why

    def _grids(self, template: Template, ranks: int) -> Iterator[tuple[tuple[int, ...], str]]:
        axes = len(template.topology.dims)
        known = [
            (one.ranks, of.topology.dims) for one in self.recordings for of in one.templates if len(of.topology.dims) == axes
        ]
        known = [own for own in known if own[0] == math.prod(own[1])]
        if axes == 1:
            yield (ranks,), "of one axis"
            return
        lengths = _lengths(template)
        rules: dict[str, Callable[[int], list[tuple[int, ...]]]] = {
            "as MPI_Dims_create would choose": lambda count: [balanced_grid(count, axes)],
            "ascending": lambda count: [balanced_grid(count, axes)[::-1]],
            "of the least surface": lambda count: _least_surface(count, axes, lengths),
        }
        any_fits = False
        for why, rule in rules.items():
            found = [(rule(count), dims) for count, dims in known]
            if all(dims in of for of, dims in found):
                any_fits = True
                grids = rule(ranks)
                first, last = (all(dims == of[end] for of, dims in found) for end in (0, -1))
                # Of several that are as good, the program takes the first or the last.
                chosen = [*grids[:1], *grids[-1:]] if first and last else grids[:1] if first else grids[-1:] if last else grids
                yield from ((dims, why) for dims in chosen)
                if self.base.told and why.startswith("as MPI"):
                    return
        if not any_fits:
            raise NoTemplateError(
                f"no usual rule gives the recorded grid {_words(template.topology.dims)}: say the one of {ranks} ranks, --grid"
            )

    def _check(self, template: Template, topology: Topology) -> None:
        """Refuse blocks that are smaller than the halo. Raises NoTemplateError."""
        if self.weak:
            return
        own = template.topology
        sizes = {template.nodes[place].offset: _mean(template, place) for place in template.sends}
        for offset, size in sizes.items():
            growth = math.prod(a / b for a, b, step in zip(own.dims, topology.dims, offset, strict=True) if not step)
            thin = size * growth < 4 <= size
            for axis, step in enumerate(offset):
                face = offset[:axis] + (0,) + offset[axis + 1 :]
                if step and size and sizes.get(face):
                    thin |= sizes[face] / size * own.dims[axis] / topology.dims[axis] < 1
            if thin:
                raise NoTemplateError(
                    f"on {_words(topology.dims)} ranks blocks would be smaller than the halo, and other ranks neighbours: "
                    "ask for fewer ranks"
                )

    def computing(self, ranks: int, own: Recorded | None = None) -> tuple[float, float, float]:
        """Return by what a rank's computing is multiplied from a recording's: the likeliest factor, and the ends of those that
        the recordings do not rule out."""
        base = own or self.base
        fitted = list(self.recordings) if own is None else [own]
        if base.compute_s <= 0:
            return 1.0, 1.0, 1.0
        volume = 1.0 if self.weak else base.ranks / ranks
        if len(fitted) == 1:
            low, high = self._unknown(base, ranks, volume)
            return volume, low, high
        axes = len(base.templates[0].topology.dims)
        counts, times_s = (
            np.array(values, float) for values in zip(*((one.ranks, one.compute_s) for one in fitted), strict=True)
        )
        noise = max(one.noise for one in fitted)
        fits = _fits(counts, times_s, float(ranks), axes, self.weak)
        closest = min(error for _, error in fits.values())
        kept = {name: value for name, (value, error) in fits.items() if error <= max(2 * noise, 2 * closest)}
        point = fits["volume"][0] if "volume" in kept else float(np.median(list(kept.values())))
        least, most = min(fitted, key=lambda one: one.ranks), max(fitted, key=lambda one: one.ranks)
        if not self.weak and most.compute_s * most.ranks < (1 - 2 * noise) * least.compute_s * least.ranks:
            # Nothing but caches makes computing fall faster than the volume, and blocks that fit into them do so once.
            kept["caches"] = point = most.compute_s * most.ranks / ranks
        doublings = max(0.0, math.log2(ranks / base.ranks))
        more = _DOUBLING * doublings + noise
        uneven = 1 + max(one.imbalance for one in fitted)  # which other blocks may have more of, or less
        low, high = min(*kept.values(), point) * (1 - more) / uneven, max(*kept.values(), point) * (1 + more) * uneven
        if not self.weak and ranks >= 4 * base.ranks:
            low *= _BEYOND_CACHE
        return point / base.compute_s, low / base.compute_s, high / base.compute_s

    def _unknown(self, base: Recorded, ranks: int, volume: float) -> tuple[float, float]:
        """Return the ends of a law of computing that one recording leaves: ghost cells, a serial part, caches, imbalance."""
        uneven = 1 + base.imbalance * (ranks != base.ranks)
        low, high = volume / uneven, volume * uneven
        if self.weak or ranks == base.ranks:
            return low * (1 - base.noise), high * (1 + base.noise)
        cells, axes = _cells(base.templates[0]), len(base.templates[0].topology.dims)
        ghosts = 1.0
        if cells > 1:
            there = cells * volume ** (1 / axes)
            ghosts = ((1 + _GHOSTS / there) / (1 + _GHOSTS / cells)) ** axes
        serial = (1 - _SERIAL) + _SERIAL / volume
        low *= _CACHE if volume < 1 else min(1.0, ghosts, serial)
        high *= max(1.0, ghosts, serial) if volume < 1 else 1 / _CACHE
        return low * (1 - base.noise), high * (1 + base.noise)

    @property
    def is_thick(self) -> bool:
        """Whether faces carry ghosts of others, by a law that leaves whole cells and particles aside."""
        return not self.weak and ghosts_of(self.base.templates[0]) is not None

    def notes(self, ranks: int) -> list[str]:
        """Say what an answer assumes."""
        found = []
        if len(self.recordings) == 1 and self.base.compute_s > 0 and not self.weak:
            better = next(count for count in (16, 32, 64, 128, 4 * self.base.ranks) if count >= 2 * self.base.ranks)
            found.append(f"computing is taken to fall with the volume (one recording: record {better} ranks to narrow this)")
        elif len(self.recordings) == 1 and self.weak and self.base.compute_s > 0:
            found.append("computing of a rank is taken to stay as it is")
        if all(size == 2 for size in self.base.templates[0].topology.dims) and len(self.recordings) == 1 and self.grid is None:
            found.append("every axis has two ranks, which does not tell the order of axes: record 12, 18, 24 or 27 ranks, too")
        if ranks > MOST_TIMES * self.base.ranks:
            found.append(f"more than {MOST_TIMES} times the {self.base.ranks} recorded ranks: no interval")
        if ranks > MOST_FULL:
            found.append(f"above {MOST_FULL:,} ranks: messages as of fewer ranks that send the same, collectives of all ranks")
        if self.base.templates[0].offsets and not self.base.templates[0].topology.bits:
            axes = len(self.base.templates[0].topology.dims)
            found.append(f"ranks are numbered row by row in {axes} ax{'i' if axes == 1 else 'e'}s, which is taken to stay so")
            found += self._awkward(ranks)
        if self.is_thick:
            found.append("faces carry the ghosts of axes before: messages are right, their bytes about")
        return found

    def _awkward(self, ranks: int) -> Iterator[str]:
        axes = len(self.base.templates[0].topology.dims)
        if axes > 1 and _stretched(ranks, axes):
            others = (one for gap in range(1, ranks // 4 + 2) for one in (ranks - gap, ranks + gap) if one > 1)
            near = list(itertools.islice((one for one in others if not _stretched(one, axes)), 2))
            if near:
                better = " or ".join(map(str, sorted(near)))
                yield f"{ranks} ranks make {_words(balanced_grid(ranks, axes))}: {better} suit better"


def carriers(record: Record, node_of_rank: Sequence[int]) -> list[Carrier]:
    """Return what may carry out collectives of other ranks, on nodes, by the record's library: the likeliest first."""
    shapes = [{name: value for name, value in shape.items() if name != "counts"} for shape in record.header.get("shapes") or ()]
    header = {"calls": record.header.get("calls", []), "shapes": shapes}
    return [replace(one, header=header, node_of_rank=tuple(node_of_rank)) for one in Carrier.candidates(record)[0]]


def agreement(predicted: PhasedStep, recorded: PhasedStep) -> tuple[float, float]:
    """Return the share of pairs of ranks with as many messages as recorded, and that with as many bytes (within 1 %), too."""
    sides: list[dict[int, tuple[int, float]]] = []
    for step in (predicted, recorded):
        pairs, at = np.unique(np.asarray(step.source, np.int64) * recorded.ranks + step.dest, return_inverse=True)
        sums = zip(
            np.bincount(at, minlength=len(pairs)).tolist(), np.bincount(at, step.bytes, len(pairs)).tolist(), strict=True
        )
        sides.append(dict(zip(pairs.tolist(), sums, strict=True)))
    both = sides[0].keys() | sides[1].keys()
    counts = [key for key in both if sides[0].get(key, (0, 0))[0] == sides[1].get(key, (0, 0))[0]]
    sizes = [key for key in counts if abs(sides[0][key][1] - sides[1][key][1]) <= 0.01 * sides[1][key][1] + 1]
    return len(counts) / max(1, len(both)), len(sizes) / max(1, len(both))


def _agreeing(found: list[Recorded]) -> Iterator[Recorded]:
    """Yield the recordings with those templates that all of them admit. Raises NoTemplateError where there are none."""
    if len(found) == 1:
        yield found[0]
        return
    most = found[-1].ranks
    texts = [{_text(template, most): template for template in reversed(one.templates)} for one in found]
    common = [text for text in (_text(of, most) for of in found[-1].templates) if all(text in of for of in texts)]
    if not common:
        counts = " and ".join(str(one.ranks) for one in found)
        raise NoTemplateError(
            f"what ranks do in a step differs between {counts} ranks (adaptive, another algorithm, or numbered otherwise): "
            "ask for the same number of ranks"
        )
    for one, of in zip(found, texts, strict=True):
        yield replace(one, templates=tuple(of[text] for text in common))


def _text(template: Template, ranks: int) -> tuple[Any, ...]:
    """Return what all ranks do, in a form that is the same for other numbers of ranks."""
    if template.topology.bits:
        try:
            template = grown(template, ranks)
        except NoTemplateError:
            return ("no power of two",)
    whole = [node.axes == tuple(range(len(template.topology.dims))) for node in template.nodes]
    nodes = [(node.kind, node.offset, () if all_of else node.axes) for node, all_of in zip(template.nodes, whole, strict=True)]
    return (len(template.topology.dims), template.topology.bits, tuple(sorted(Counter(nodes).items())))


def _along(template: Template) -> bool:
    """Whether there are collectives along some axes alone."""
    return any(node.axes and len(node.axes) < len(template.topology.dims) for node in template.nodes)


def _mean(template: Template, place: int) -> float:
    return float(template.bytes[place][template.has[place]].mean())


def _faces(template: Template) -> dict[int, float]:
    """Return the bytes of a message along each axis alone, those of both ways together."""
    found: dict[int, list[float]] = {}
    for place in template.sends:
        along = [axis for axis, step in enumerate(template.nodes[place].offset) if step]
        if len(along) == 1:
            found.setdefault(along[0], []).append(_mean(template, place))
    return {axis: float(np.mean(sizes)) for axis, sizes in found.items()}


def ghosts_of(template: Template) -> tuple[float, tuple[int, ...]] | None:
    """Return the width of both ghosts of a block in lengths of the mesh, and the order of axes, where faces are sent axis after
    axis and carry the ghosts that came before; None where they do not.

    Of blocks L with ghosts w on both sides the first face has L2 x L3 cells, the second (L1 + 2w) x L3, the third (L1 + 2w) x
    (L2 + 2w). That is told from other shapes where the mesh is a cube.
    """
    faces, dims, places = _faces(template), template.topology.dims, template.sends
    if len(dims) != 3 or len(faces) < 3 or any(np.count_nonzero(offset) > 1 for offset in template.offsets):
        return None
    axis_of = {place: int(np.flatnonzero(template.nodes[place].offset)[0]) for place in places}
    order = tuple(dict.fromkeys(axis_of.values()))
    ends = [place for place, node in enumerate(template.nodes) if node.kind in (COMPLETION, BLOCKING_RECEIVE)]
    for before, behind in itertools.pairwise(order):
        first, last = (min(place for place in places if axis_of[place] == axis) for axis in (before, behind))
        if not any(first < end < last for end in ends):
            return None
    one, two, three = (1 / dims[axis] for axis in order)
    share = faces[order[1]] / faces[order[0]] * two - one
    told = faces[order[2]] / faces[order[0]]
    thick = (one + share) * (two + share) / (two * three)
    return (share, order) if share > _THIN * one and abs(told / thick - 1) < 0.02 else None


def _lengths(template: Template) -> list[float] | None:
    """Return the lengths of the mesh along each axis, up to a factor; None where faces do not tell."""
    faces = _faces(template)
    if len(faces) < len(template.topology.dims) or min(faces.values()) <= 0:
        return None
    return [size / faces[axis] for axis, size in enumerate(template.topology.dims)]


def _cells(template: Template) -> float:
    """Return about how many cells a block has along an axis, at most: of faces with 8 B a cell. 0: not known."""
    faces, axes = _faces(template), len(template.topology.dims)
    if axes == 1 or not faces:
        return 0.0
    return float((np.mean(list(faces.values())) / 8) ** (1 / (axes - 1)))


def _least_surface(ranks: int, axes: int, lengths: Sequence[float] | None) -> list[tuple[int, ...]]:
    """Return the grids whose blocks have the least surface, up to rounding; none where the mesh's shape is not known."""
    if lengths is None:
        return []
    every = sorted(factorisations(ranks, axes), reverse=True)
    shapes = {dims: sum(size / length for size, length in zip(dims, lengths, strict=True)) for dims in every}
    least = min(shapes.values())
    return [dims for dims, surface in shapes.items() if surface <= _ALIKE * least]


def _smaller(topology: Topology) -> Topology:
    """Return a grid of at most ``MOST_FULL`` ranks with the same kinds of ranks and, where possible, the last axis."""
    dims = list(topology.dims)
    limit = MOST_FULL if math.prod(dims) > MOST_FULL else math.prod(dims) // 2
    while math.prod(dims) > limit and max(dims) > 4:
        axis = max(range(len(dims)), key=lambda axis: (dims[axis] > 4, axis < len(dims) - 1, dims[axis]))
        dims[axis] = max(4, -(-dims[axis] // 2))
    return Topology(tuple(dims), topology.periodic)


def _stretched(ranks: int, axes: int) -> bool:
    dims = balanced_grid(ranks, axes)
    return dims[0] > 4 * dims[-1]


def _words(dims: Sequence[int]) -> str:
    return "x".join(map(str, dims))


def _fits(counts: Array, times_s: Array, ranks: float, axes: int, weak: bool) -> dict[str, tuple[float, float]]:
    """Fit laws of computing to recordings: of each the time on ``ranks`` and the largest relative error."""

    def volume(p: Array | float) -> Any:
        return np.ones_like(p) if weak else 1 / np.asarray(p, float)

    def surface(p: Array | float) -> Any:
        return np.log2(p) if weak else np.asarray(p, float) ** (-(axes - 1) / axes if axes > 1 else -0.5)

    bases = {"volume": (volume,), "volume and surface": (volume, surface), "volume and a constant": (volume, np.ones_like)}
    found = {}
    at = np.array([ranks])
    for name, terms in bases.items():
        if weak and name == "volume and a constant":
            continue
        columns = np.stack([term(counts) for term in terms], axis=1) / times_s[:, None]
        factor = _not_negative(columns)
        told = float((np.stack([term(at) for term in terms], axis=1) @ factor)[0])
        found[name] = (told, float(np.abs(columns @ factor - 1).max()))
    slope, start = np.polyfit(np.log(counts), np.log(times_s), 1)
    error = np.abs(np.exp(start + slope * np.log(counts)) / times_s - 1).max()
    found["power"] = (float(np.exp(start + slope * np.log(ranks))), float(error))
    return found


def _not_negative(columns: Array) -> Array:
    """Return the factors of at most two columns, none below 0, whose sum is nearest to 1 in each row."""
    ones = np.ones(len(columns))
    factor = np.linalg.lstsq(columns, ones, rcond=None)[0]
    if (factor >= 0).all():
        return np.asarray(factor)
    alone = np.diag([float(column.sum() / (column @ column)) for column in columns.T])
    return np.asarray(min(alone, key=lambda one: float(((columns @ one - 1) ** 2).sum())))
