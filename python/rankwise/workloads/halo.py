"""The workload "halo": the surfaces of boxes, of any sizes and several fields, as librankwise moves them (docs/halo.md).

Halos that a program saved: what ``rankwise_halo_save`` writes (docs/halo.md).
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rankwise.errors import InputError
from rankwise.files import read_json
from rankwise.reading import read_document
from rankwise.records import Record, computed, key, record, told
from rankwise.units import format_size, parse_ints, parse_periodic, parse_shape, parse_size, parse_sizes
from rankwise.workloads.base import Options, Pricer, Program, Row, Site, Workload, option, require_known, require_ranks
from rankwise.workloads.observed import ReplayedCase

if TYPE_CHECKING:
    from rankwise.arrays import Array
    from rankwise.machine.profile import Packing, Profile
    from rankwise.observe.phases import PhasedStep

_FIX = "give a file that rankwise_halo_save wrote"
_MOST_BYTES = 2**53


@record
class SavedHalo(Record):
    """Who sends how much to whom, of all ranks: one message a pair, all in flight together.

    ``pairs``: (source, dest, bytes, bytes of a row), ascending; ``has_rows``: whether the rows are known.
    """

    path: Path = key("name of the file of the saved pattern", name="pattern", kind=str, write=lambda path: path.name)
    ranks: int
    pairs: tuple[tuple[int, int, int, int], ...] = field(repr=False)
    has_rows: bool

    def messages(self, route: str) -> Array:
        """Return rows (phase, source, dest, bytes, bytes of a row), one a message, ascending."""
        import numpy as np

        assert route == "direct"
        return np.array([(0, *pair) for pair in self.pairs], np.int64)


@record
class _Pair(Record):
    source: int = key(least=0)
    dest: int = key(least=0)
    bytes: tuple[int, ...] = key(least=0, filled=True)
    row_bytes: int | None = key(default=None, least=0)


@record
class _File(Record):
    kind: Literal["halo"] = key()
    ranks: int = key(least=1, most=2**24)
    pairs: tuple[_Pair, ...] = key()
    grid: tuple[int, ...] | None = key(default=None, least=1, filled=True)
    fields: tuple[int, ...] | None = key(default=None, least=1, filled=True)


def read_saved(path: Path) -> SavedHalo:
    """Read a saved pattern. Raises InputError."""
    file = read_document(_read, read_json(path, "saved halo", _FIX), str(path), _FIX)
    if not file.pairs:
        raise InputError(f"{path} has no pairs: no rank sends to another, there is nothing to time")
    has_rows = all(pair.row_bytes is not None for pair in file.pairs)
    pairs = sorted((pair.source, pair.dest, sum(pair.bytes), (has_rows and pair.row_bytes) or 0) for pair in file.pairs)
    return SavedHalo(path, file.ranks, tuple(pairs), has_rows)


def _read(value: Any) -> _File:
    """Read what is in the file. Raises ValueError where its parts do not fit each other."""
    file, seen = _File.from_dict(value), set[tuple[int, int]]()
    if file.grid is not None and math.prod(file.grid) != file.ranks:
        raise ValueError(f"grid has {math.prod(file.grid)} ranks, but ranks is {file.ranks}")
    for i, pair in enumerate(file.pairs):
        source, dest, size = pair.source, pair.dest, pair.bytes
        for end, rank in (("source", source), ("dest", dest)):
            if rank >= file.ranks:
                raise ValueError(f"pairs[{i}].{end} is {rank}, but the ranks are 0 to {file.ranks - 1}")
        if source == dest:
            raise ValueError(f"pairs[{i}].dest is {dest}, the source itself, but nothing is sent to oneself")
        if (source, dest) in seen:
            raise ValueError(f"pairs[{i}].dest is {dest} again: what rank {source} sends there is one message")
        seen.add((source, dest))
        if sum(size) > _MOST_BYTES:
            raise ValueError(f"pairs[{i}].bytes are {sum(size)} in all: at most {_MOST_BYTES} are served")
        if len(size) != (fields := len(file.fields or file.pairs[0].bytes)):
            raise ValueError(f"pairs[{i}].bytes has {len(size)} numbers, but the fields are {fields}")
    return file


ROUTES = ("direct", "staged")
MODES = ("isend", "ssend")
_UNPRICED = "packing and unpacking are not part of the time: 'rankwise measure pack' adds them to the profile"


@record
class Surface(Record):
    """What a rank's box gives and gets: faces of so many bytes an axis, or a box of cells with a halo.

    ``faces``: bytes across one face of each axis; else ``box`` cells with ``width`` of halo on every side, ``bytes_a_cell`` of
    all ``fields`` together, with edges and corners or without.
    """

    grid: tuple[int, ...] = key("ranks along each axis")
    periodic: tuple[bool, ...] = key("whether each axis wraps around")
    faces: tuple[int, ...] = key("bytes of each face", default=(), omit=True, name="faces_bytes")
    box: tuple[int, ...] = key("cells of a rank along each axis", default=(), omit=True)
    width: tuple[int, ...] = key("layers of the halo along each axis", default=(), omit=True)
    bytes_a_cell: int = key("bytes of a cell", default=1, optional=True)
    corners: bool = key("whether edges and corners travel", default=True, optional=True)
    fields: int = 1

    def to_dict(self) -> dict[str, Any]:
        """Return its faces as JSON has them, or its box."""
        of_a_box = ("bytes_a_cell", "corners") if self.faces else ()
        return {name: value for name, value in super().to_dict().items() if name not in of_a_box}

    @property
    def ranks(self) -> int:
        return math.prod(self.grid)

    @property
    def has_rows(self) -> bool:
        """Whether the rows of memory are known that messages are gathered from."""
        return not self.faces

    def messages(self, route: str) -> Array:
        """Return rows (phase, source, dest, bytes, bytes of a row), one a partner and phase, ascending; none to oneself.

        Rows lie along the last axis of each field; of faces given in bytes nothing is known: 0.
        """
        import numpy as np

        axes = list(range(len(self.grid)))
        if route == "staged":
            phases = [[[axis]] for axis in self._staged()]
        else:
            phases = [[axes] if self.box and self.corners else [[axis] for axis in axes]]
        found = np.concatenate(
            [self._received(phase, axes, self._staged()[:phase]) for phase, groups in enumerate(phases) for axes in groups]
        )
        return found[np.lexsort(found.T[::-1])]

    def _staged(self) -> list[int]:
        """Return the axes as they are staged: the fastest first, those of one rank at the end."""
        return sorted(range(len(self.grid)), key=lambda axis: (self.grid[axis] == 1, -axis))

    def _received(self, phase: int, axes: Sequence[int], done: Sequence[int]) -> Array:
        """Return the rows of what all ranks get from others along these axes, halos of the axes in ``done`` included."""
        import numpy as np

        size = np.array(self.bytes_a_cell)
        source = dest = length = np.array(0)
        for axis, dim in enumerate(self.grid):
            along = []  # who gets from whom, and cells (or bytes of a face)
            for own in range(dim):
                sides = len(self._beside(axis, own)) if axis in done else 0
                whole = 1 if self.faces else self.box[axis] + sides * self.width[axis]
                choices = self._along(axis, own) if axis in axes else {own: None}
                along += [(own, other, whole if layers is None else layers) for other, layers in choices.items()]
            own_, other_, length = np.array(along, np.int64).T
            dest, source = dest[..., None] * dim + own_, source[..., None] * dim + other_
            size = size[..., None] * length
        row = np.broadcast_to(0 if self.faces else length * self.bytes_a_cell // self.fields, size.shape)
        columns = np.stack([np.full(size.shape, phase), source, dest, size, row]).reshape(5, -1)
        return columns[:, (columns[1] != columns[2]) & (columns[3] > 0)].T

    def _beside(self, axis: int, coordinate: int) -> list[int]:
        dim, periodic = self.grid[axis], self.periodic[axis]
        both = (coordinate - 1, coordinate + 1)
        return [c % dim for c in both if periodic or 0 <= c < dim]

    def _along(self, axis: int, coordinate: int) -> dict[int, int | None]:
        """Return what comes from each coordinate of an axis: of the own one all (None), of others so many layers or bytes."""
        sides = self._beside(axis, coordinate)
        layers: dict[int, int | None] = {coordinate: None}
        for other in dict.fromkeys(sides):
            if other == coordinate:
                continue
            if self.faces:
                layers[other] = self.faces[axis] * sides.count(other)
            else:
                # Where both neighbours are one rank, an element goes to it once.
                layers[other] = min(self.box[axis], self.width[axis] * sides.count(other))
        return layers


_UNPACKED = {
    Surface: "packing and unpacking are not part of the time: faces given in bytes are sent as they are, take --box",
    SavedHalo: "packing and unpacking are not part of the time: the saved halo does not tell its rows (row_bytes), save it "
    "again",
}


@record
class HaloCase(ReplayedCase):
    """One exchange of all ranks' halos by one route."""

    workload = "halo"

    surface: Surface | SavedHalo = key("the halo", inline=True, after="mode")
    route: str = key("id of the algorithm", name="algorithm")
    mode: str = key("way of sending")
    step: PhasedStep = field(hash=False, compare=False)
    messages_per_rank = computed("messages that a rank sends at most", int, lambda case: case._most[0])
    bytes_per_rank = computed("bytes that a rank sends at most", int, lambda case: case._most[1])

    @property
    @told("number of ranks", after="surface")
    def ranks(self) -> int:
        return self.surface.ranks

    @property
    def way(self) -> str:
        return f"{self.route}, {self.mode}"

    @property
    def question(self) -> Hashable:
        return self.surface

    @property
    def _most(self) -> tuple[int, int]:
        """Messages and bytes of the ranks that send most."""
        import numpy as np

        sent = np.bincount(self.step.source, minlength=self.ranks)
        size = np.bincount(self.step.source, self.step.bytes, minlength=self.ranks)
        return int(sent.max()), int(size.max())

    def cells(self) -> dict[str, str]:
        messages, size = self._most
        return {"algorithm": self.route, "mode": self.mode, "messages": str(messages), "size": format_size(size)}

    def program(self) -> Program:
        return Program(self.step, self.mode)

    def packed(self, packing: Packing | None) -> PhasedStep:
        """Return the step with what packing takes as computing: of what is sent before its phase, of what has come after it."""
        import numpy as np

        if packing is None or not self.surface.has_rows:
            return self.step
        step, rows = self.step, self.step.row_bytes
        assert rows is not None
        compute_s = np.zeros((step.phases + 1, step.ranks))
        kinds, which = np.unique(step.bytes + 1j * rows, return_inverse=True)  # far quicker than by pairs
        each_s = np.array([packing.time_s(int(kind.real), int(kind.imag)) for kind in kinds])[which]
        np.add.at(compute_s, (step.phase, step.source), each_s)
        np.add.at(compute_s, (step.phase + 1, step.dest), each_s)
        return replace(step, compute_s=compute_s)

    def _lacks(self, packing: Packing | None) -> tuple[str, ...]:
        return (_UNPACKED[type(self.surface)],) if not self.surface.has_rows else (_UNPRICED,) if packing is None else ()

    def predict(self, model: Pricer) -> Row:
        packing = model.profile.packing
        return self.priced(model, Program(self.packed(packing), self.mode, self._lacks(packing)), 1)

    def simulated(self, row: Row, profile: Profile | None) -> Row:
        """Copies take no time in a simulation: what the rank that packs most takes is added."""
        packing = None if profile is None else profile.packing
        time_s = row.time_s + float(self.packed(packing).compute_s.sum(axis=0).max())
        return replace(row, time_s=time_s, notes=(*row.notes, *self._lacks(packing)))

    @property
    def together(self) -> Hashable:
        return self.surface, self.route, self.mode

    def arguments(self, items: Sequence[Any], node_of_rank: Sequence[int], simulated: bool) -> list[str]:
        return [*super().arguments(items, node_of_rank, simulated), "--mode", self.mode]


@dataclass(frozen=True)
class HaloOptions(Options):
    grid: str = option("", "Shape of the process grid, a rank a box: 4x4x2.")
    halo: str = option("", "Bytes across a face of each axis, in place of --box: 49kB,70kB,100kB.")
    box: str = option("", "Cells of a rank's box: 64x64x32.")
    width: str = option("1", "Layers of halo: 2, or one an axis: 1,2,2. With --box.")
    fields: str = option("1x8", "Fields and bytes of an element of each: 3x8. With --box.")
    corners: bool = option(True, "With edges and corners, or faces only. With --box.", "--corners/--faces")
    pattern: str = option("", "What rankwise_halo_save wrote, in place of --grid, --box and --halo: halo.json.")
    algorithm: str = option("direct,staged", "direct (one message a partner), staged (axis by axis), or both.")
    mode: str = option("isend", "How messages are sent: isend, ssend (one after the other), or both.")
    periodic: str = option("all", "Axes that wrap around: all, none, or a flag an axis: 1,0,1.")


class HaloWorkload(Workload):
    id = "halo"
    title = "a halo exchange (faces, edges and corners of boxes)"
    wrong = "replays delivered wrong bytes: this MPI is unreliable"
    options = HaloOptions
    examples = {
        "predict": "rankwise predict halo --grid 4x4x2 --box 64x64x32 --width 2 --fields 3x8 --profile machine.json",
        "simulate": "rankwise simulate halo --grid 4x4x2 --halo 49kB,70kB,100kB --profile machine.json --ranks-per-node 8",
        "run": "rankwise run halo --grid 2x1x1 --box 32x32x32",
        "validate": "rankwise validate halo --grid 2x1x1 --box 32x32x32 --profile machine.json",
        "choose": "rankwise choose halo --grid 4x4x2 --box 64x64x32 --width 2 --fields 3x8 --profile machine.json",
    }

    def cases(self, options: HaloOptions, site: Site) -> list[HaloCase]:
        surface = _saved(options) if options.pattern else _surface(options)
        routes = [name.strip() for name in options.algorithm.split(",")]
        for route in routes:
            require_known(route, ROUTES, "--algorithm")
        if "staged" in routes and (why := _unstaged(surface)):
            if routes == ["staged"]:
                raise InputError(f"--algorithm staged {why}")
            routes.remove("staged")
        modes = [name.strip() for name in options.mode.split(",")]
        for mode in modes:
            require_known(mode, MODES, "--mode")
        return [HaloCase(surface, route, mode, _step(surface, route, mode)) for route in routes for mode in modes]


def _unstaged(surface: Surface | SavedHalo) -> str:
    """Return why a halo cannot go axis by axis; empty where it can."""
    if isinstance(surface, SavedHalo):
        return "needs a grid and a box, which a saved halo does not tell: take direct, or give --grid and --box"
    alone = not (surface.corners or surface.faces)
    return "brings edges and corners along: take direct, or leave --faces out" if alone else ""


def _saved(o: HaloOptions) -> SavedHalo:
    usual = HaloOptions()
    for name in ("grid", "halo", "box", "width", "fields", "corners", "periodic"):
        if getattr(o, name) != getattr(usual, name):
            what = "--faces" if name == "corners" else f"--{name}"
            raise InputError(f"{what} says what the file of --pattern says: give one of them")
    return read_saved(Path(o.pattern))


def _surface(o: HaloOptions) -> Surface:
    grid = tuple(parse_shape(o.grid, "--grid"))
    require_ranks(math.prod(grid), "a halo")
    periodic = tuple(parse_periodic(o.periodic, len(grid)))
    if bool(o.halo) == bool(o.box):
        raise InputError(
            "say what the halo holds: either --halo 49kB,70kB,100kB (a face of each axis), --box 64x64x32 or --pattern "
            "halo.json"
        )

    def one_an_axis(values: Sequence[int], what: str) -> tuple[int, ...]:
        if len(values) not in (1, len(grid)):
            raise InputError(f"{what} has {len(values)} numbers, but --grid {len(grid)} axes: give one, or one an axis")
        return tuple(values) * (len(grid) if len(values) == 1 else 1)

    if o.halo:
        faces = one_an_axis(parse_sizes(o.halo, "--halo"), "--halo")
        if sum(faces) > _MOST_BYTES:
            raise InputError(f"--halo {o.halo} has more than {_MOST_BYTES} B: make it smaller")
        return Surface(grid, periodic, faces)
    box = tuple(parse_shape(o.box, "--box"))
    if len(box) != len(grid):
        raise InputError(f"--box has {len(box)} axes, but --grid {len(grid)}: give as many")
    width = one_an_axis(parse_ints(o.width, "--width", 0), "--width")
    for cells, layers in zip(box, width, strict=True):
        if layers > cells:
            raise InputError(f"--width {layers} passes the {cells} cells of the box: make the box larger")
    count, _, size = o.fields.partition("x")
    if not re.fullmatch(r"0*[1-9]\d{0,8}", count, re.ASCII) or not size:
        raise InputError(f"--fields '{o.fields}' is not a number of fields and bytes of an element: 3x8")
    bytes_a_cell = int(count) * parse_size(size, "--fields")
    if bytes_a_cell * math.prod(cells + 2 * layers for cells, layers in zip(box, width, strict=True)) > _MOST_BYTES:
        raise InputError(f"--box {o.box} has more than {_MOST_BYTES} B with its halo: make it smaller, or --fields")
    return Surface(grid, periodic, (), box, width, bytes_a_cell, o.corners, int(count))


def _step(surface: Surface | SavedHalo, route: str, mode: str) -> PhasedStep:
    import numpy as np

    from rankwise.observe.phases import PhasedStep

    rows = surface.messages(route)
    if not len(rows):
        raise InputError("no rank has a neighbour on another rank: there is nothing to time")
    phases, ranks = int(rows[:, 0].max()) + 1, surface.ranks
    phase, source, dest = rows[:, :3].astype(np.int32).T
    row_bytes = rows[:, 4] if surface.has_rows else None
    return PhasedStep(phase, source, dest, rows[:, 3], np.zeros((phases, ranks)), row_bytes=row_bytes, mode=mode)


WORKLOAD = HaloWorkload()
