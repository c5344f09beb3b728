"""What the header of a record may hold: readers index and add up its values without a check of their own."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rankwise.records import Record, key, record

_LARGEST = 1 << 48  # of what is counted
_LONGEST_S = 1e10


@record
class Communicator(Record):
    """A communicator."""

    size: int = key("number of its ranks", least=0, most=_LARGEST)
    ranks: Sequence[int] | None = key(
        "ranks that used it, in their order in it; null: all, in that of the world", least=0, most=_LARGEST
    )
    inter: bool = key("whether it is an inter-communicator; size is that of the other group", default=False, optional=True)


@record
class _Shape(Record):
    element_bytes: int = key("of a reduction's element", least=0, most=_LARGEST)
    commutative: bool = key("whether its operation commutes")
    in_place: bool = key("whether results replace what is given")
    counts: Sequence[int] = key("bytes for each rank", default=(), least=0, most=_LARGEST)


@record
class CollectiveCalls(Record):
    """Collective calls that are alike."""

    call: str = key("name of the function")
    comm: int = key("place in communicators; 65535: a further one", least=0, most=_LARGEST)
    bytes: int = key("bytes that a rank contributes in a call; of bcast and scatter, its share", least=0, most=_LARGEST)
    root: int | None = key("root; null: none", least=0, most=_LARGEST)
    calls: int = key("how many calls, of all ranks together", least=0, most=_LARGEST)
    ranks: int = key("how many ranks made such calls", least=0, most=_LARGEST)
    seconds: float | None = key("time in these calls", default=None, optional=True)


@record
class Cart(Record):
    """A call of MPI_Cart_create."""

    dims: Sequence[int] = key("shape of the grid", least=1, most=_LARGEST)
    periodic: Sequence[bool] = key("whether each axis wraps around")
    reorder: bool = key("whether ranks may be reordered")


@record
class _Window(Record):
    rank: int = key("whose", least=0, most=_LARGEST)
    first_call: int = key("calls before", least=0, most=_LARGEST)
    first_event: int = key("place of its first event", least=0, most=_LARGEST)
    events: int = key("how many events", least=0, most=_LARGEST)


@record
class _Module(Record):
    path: str = key("file of the code")
    build_id: str | None = key("what it was built as")
    function: str = key("that of Python whose file it is", default="")


@record
class _Frame(Record):
    module: int | None = key("place of its module", least=0, most=_LARGEST)
    offset: int = key("address", least=0, most=_LARGEST)
    function: str | None = key("function", default=None)
    inlined_in: str | None = key("function that it is inlined in", default=None)
    file: str | None = key("source file", default=None)
    line: int | None = key("line in it", default=None, least=0, most=_LARGEST)


@record
class _Callers(Record):
    samples: int = key("how often they were seen", least=0, most=_LARGEST)
    frames: Sequence[int] = key("places in frames, the innermost first", least=0, most=_LARGEST)


@record
class _Site(Record):
    call: str = key("name of the function")
    module: int | None = key("place of its module", least=0, most=_LARGEST)
    offset: int = key("address", least=0, most=_LARGEST)
    calls: int = key("how many", least=0, most=_LARGEST)
    seconds: float = key("of all ranks", least=0, most=_LONGEST_S)
    ranks: int = key("how many called from there", least=0, most=_LARGEST)
    most_seconds: float = key("of one rank", least=0, most=_LONGEST_S)
    most_rank: int = key("that rank", least=0, most=_LARGEST)
    function: str | None = key("function", default=None)
    inlined_in: str | None = key("function that it is inlined in", default=None)
    file: str | None = key("source file", default=None)
    line: int | None = key("line in it", default=None, least=0, most=_LARGEST)
    callers: Sequence[_Callers] = key("who called its function", default=())


@record
class _Other(Record):
    rank: int = key("whose", least=0, most=_LARGEST)
    messages: int = key("how many", least=0)
    bytes: int = key("of them", least=0)


@record
class _Header(Record):
    hosts: Sequence[str] = key("names of the hosts")
    command: Sequence[str] = key("what was run", default=())
    mpi: str = key("what the library says of itself", default="")
    family: str = key("family of the library", default="")
    created: str = key("when", default="")
    seconds: float = key("how long it ran", default=0.0, least=0, most=_LONGEST_S)
    seconds_of_rank: Sequence[float] = key("how long each rank ran", default=(), least=0, most=_LONGEST_S)
    complete: bool = key("whether all ranks ended", default=True)
    threaded: bool = key("whether threads called MPI", default=False)
    notes: Sequence[str] = key("notes", default=())
    calls: Sequence[str] = key("names of the functions", default=())
    sampled_calls: Sequence[str] = key("those not timed always", default=())
    communicators: Sequence[Communicator] = key("communicators", default=())
    shapes: Sequence[_Shape] = key("shapes of collectives", default=())
    collectives: Sequence[CollectiveCalls] = key("collectives", default=())
    carts: Sequence[Cart] = key("calls of MPI_Cart_create", default=())
    others: Sequence[_Other] = key("messages to other partners", default=())
    windows: Sequence[_Window] = key("what was recorded call by call", default=())
    modules: Sequence[_Module] = key("programs and libraries", default=())
    sites: Sequence[_Site] = key("where calls are", default=())
    frames: Sequence[_Frame] = key("calls of functions that call MPI", default=())
    cores_of_host: Sequence[int | None] = key("cores of each host", default=(), least=0, most=_LARGEST)
    clock_uncertainty_ns: Sequence[float | None] | None = key("of each host", least=0, default=None)


def require_header(header: Mapping[str, Any], ranks: int, events: Mapping[int, int]) -> None:
    """Raise ValueError or KeyError for a header that does not fit the number of ranks, or of events by rank."""
    of = _Header.from_dict(header)
    if len(of.seconds_of_rank) not in (0, ranks):
        raise ValueError(f"seconds_of_rank has {len(of.seconds_of_rank)} entries, not {ranks}")
    if len(of.clock_uncertainty_ns or ()) not in (0, len(of.hosts)):
        raise ValueError("clock_uncertainty_ns is not one for each host")
    for comm in of.communicators:
        if any(rank >= ranks for rank in comm.ranks or ()) or len(set(comm.ranks or ())) < len(comm.ranks or ()):
            raise ValueError("communicators have ranks that are none, or one twice")
    if any(len(cart.dims) != len(cart.periodic) for cart in of.carts):
        raise ValueError("carts have dims and periodic of different lengths")
    places = [place.module for place in of.sites] + [place.module for place in of.frames]
    if any(module is not None and module >= len(of.modules) for module in places):
        raise ValueError("sites or frames name no module")
    if any(number >= len(of.frames) for site in of.sites for callers in site.callers for number in callers.frames):
        raise ValueError("callers name no frame")
    for window in of.windows:
        if window.first_event + window.events > events.get(window.rank, 0):
            raise ValueError(f"a window of rank {window.rank} ends behind its events")


def parts_of(path: Path) -> Path:
    """Return the folder where ranks leave what they see until their record is written."""
    return Path(os.environ.get("RANKWISE_OBSERVE_DIR") or path.parent).absolute() / f".{path.name}.parts"
