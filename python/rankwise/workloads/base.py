"""What every workload is made of: its options, its cases, and the rows by which all engines answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from rankwise.questions import Options as Options
from rankwise.questions import option as option
from rankwise.records import Record, key, record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rankwise import _core
    from rankwise.machine.profile import Profile

    Times = NDArray[np.float64]
else:
    Times = Any  # numpy is not needed to declare a case

SIMULATED = ("--least", "1", "--most", "1", "--warm-up", "0")  # every repetition takes the same time


@record
class Span(Record):
    """A time with its 95 % interval, in seconds; without a width it has none, and both ends are None."""

    time_s: float = key("time of the phase or step")
    lo_s: float | None = key(name="time_lo_s")
    hi_s: float | None = key(name="time_hi_s")

    def __post_init__(self) -> None:
        if self.lo_s is None or self.hi_s is None or not self.lo_s < self.hi_s:
            object.__setattr__(self, "lo_s", None)
            object.__setattr__(self, "hi_s", None)

    @property
    def ends_s(self) -> tuple[float, float]:
        """The interval, or twice the time where there is none: what a sum or a comparison takes."""
        return (self.time_s, self.time_s) if self.lo_s is None or self.hi_s is None else (self.lo_s, self.hi_s)

    @classmethod
    def of(cls, times_s: Times) -> Span:
        """Return the median of samples with its interval."""
        import numpy as np

        from rankwise.statistics import median_interval_95

        return cls(float(np.median(times_s)), *median_interval_95(times_s))

    @classmethod
    def point(cls, time_s: float) -> Span:
        return cls(time_s, time_s, time_s)

    @classmethod
    def sum(cls, spans: Iterable[Span]) -> Span:
        """Return what some take one after the other."""
        every = [(span.time_s, *span.ends_s) for span in spans]
        return cls(*map(sum, zip(*every, strict=True))) if every else cls.point(0)

    def scaled(self, factor: float) -> Span:
        return Span(*(factor * end for end in (self.time_s, *self.ends_s)))


@dataclass(frozen=True)
class Program:
    """What the judge prices: who sends what to whom, and how it is sent."""

    schedules: Any  # of a kind that engines/judge.py knows, or with a method judged(placement): can be hashed
    mode: str = "isend"
    notes: Sequence[str] = ()  # what weakens its price
    limits_count: bool = False  # whether its interval covers that sends wait for nobody where it is not known whether they do
    placed: _core.Judged | None = None  # what the judge made of it on the placement that is asked about, where that is at hand


@dataclass(frozen=True)
class Transpose:
    """Ranks along some axes of a grid have a block for each other: exchanged one after the other (pairwise), or all at once.

    All groups of ranks along these axes do so at the same time.
    """

    dims: tuple[int, ...]
    axes: tuple[int, ...]
    pairwise: bool = True


@dataclass(frozen=True)
class Halo:
    """Every cell of a grid sends to each cell of its stencil, all at once; a rank a cell, row-major.

    ``weights``: the blocks of each message (none: one).
    """

    grid: tuple[int, ...]
    periodic: tuple[bool, ...]
    offsets: tuple[tuple[int, ...], ...]
    weights: tuple[int, ...] = ()


@record
class Busiest(Record):
    """What ranks share that is held longest (card-out, memory, uplink-0, ...), for how long, and the bytes that pass it."""

    resource: str = key("what ranks share: socket, sockets, memory, card-out, card-in, card, uplink-0, downlink-0 and so on")
    held_s: float = key("how long the resource is held")
    size_bytes: int = key("bytes that pass through the resource")


@dataclass(frozen=True)
class Price:
    """What the judge says of a program, with the interval that the machine's uncertainty gives.

    ``judge_s``: the interval of the judge's own error alone, as if the machine were known.
    """

    span: Span
    messages_per_rank: int
    bytes_per_rank: int
    notes: tuple[str, ...]
    busiest: Busiest
    judge_s: tuple[float, float]

    @staticmethod
    def slowest(prices: Sequence[Price]) -> tuple[int, Price]:
        """Return which of several that may be is the slowest, and its price with the interval of all of them."""
        place = max(range(len(prices)), key=lambda i: prices[i].span.time_s)
        ends = [one.span.ends_s for one in prices]
        span = replace(prices[place].span, lo_s=min(low for low, _ in ends), hi_s=max(high for _, high in ends))
        return place, replace(prices[place], span=span)


class Pricer(Protocol):
    """The model as a case sees it: prices programs among some ranks of the case (None: all)."""

    profile: Profile

    def price(self, case: Case, program: Program, block_bytes: int) -> Price: ...

    def require_links(self, case: Case) -> None: ...


@record
class Figures(Record):
    """What only some workloads have of a row."""

    busiest: Busiest = key("the resource that is held longest, of a prediction", optional=True)


class Settings(Record):
    """What was asked of a whole comparison; each workload may have its own."""


class Case(Record, ABC):
    """One thing to be timed: it can be named, priced, started and read back. Cases are frozen dataclasses."""

    workload: ClassVar[str]
    kernel: ClassVar[str]
    # How many cases of one grid go in one launch, and in one simulation.
    most_a_launch: ClassVar[int] = 1000
    most_a_simulation: ClassVar[int] = 1
    folds_memory: bool = False  # whether simulated ranks share the memory of messages, whose bytes then cannot be checked
    buffers_sends: ClassVar[bool] = True  # whether it matters that a small send is done before its message is delivered

    @property
    @abstractmethod
    def ranks(self) -> int: ...

    @property
    def nodes(self) -> tuple[int, ...] | None:
        """The node of each rank where the case itself says so."""
        return None

    @property
    def block_bytes(self) -> int | None:
        """The size of one message, for a ping-pong to compare with: the key ``message_bytes`` where the case has it."""
        return getattr(self, "message_bytes", None)

    def keys(self) -> dict[str, Any]:
        """Return what names the case in JSON."""
        return self.to_dict()

    @abstractmethod
    def cells(self) -> dict[str, str]:
        """Return what names the case on the screen, by column."""

    @property
    @abstractmethod
    def way(self) -> str:
        """What a choice is made of: an algorithm, a mapping, a method."""

    @property
    def question(self) -> Hashable:
        """What a choice is made for: candidates differ in their way alone."""
        return self.ranks, self.block_bytes

    def settings(self) -> Settings:
        """Return what was asked of a whole comparison."""
        return Settings()

    # The model.
    def program(self) -> Program:
        raise NotImplementedError

    def predict(self, model: Pricer) -> Row:
        """Return the model's row. Raises InputError where the profile lacks what is needed."""
        return self.priced(model, self.program())

    def priced(self, model: Pricer, program: Program, block_bytes: int | None = None, others: Sequence[Any] = ()) -> Row:
        """Return the row of a program; where it may have ``others`` as schedules, the slowest, with the interval of all."""
        size = (self.block_bytes or 0) if block_bytes is None else block_bytes
        one_of = (program.schedules, *others)
        prices = [model.price(self, replace(program, schedules=one), size) for one in one_of]
        slowest, price = Price.slowest(prices)
        return Row.of("model", self.by(one_of[slowest]), price.span, price.messages_per_rank, price.bytes_per_rank, None,
                      price.notes, figures={"busiest": asdict(price.busiest)})  # fmt: skip

    def by(self, schedules: Any) -> Case:
        """Return the case with the schedules that it turned out to have, where there may be several."""
        return self

    @property
    def by_turns(self) -> bool:
        """Whether a real run times what the model is made of, too: then ``modelled`` tells the model's row of it."""
        return False

    def modelled(self, row: Row) -> Row:
        raise NotImplementedError

    def require_fair(self, profile: Profile) -> None:
        """Raise InputError where the profile has seen what is to be predicted."""
        return

    # The kernels.
    @property
    @abstractmethod
    def together(self) -> Hashable:
        """Cases that have this alike can share a launch."""

    @property
    def item(self) -> Hashable:
        """What a case has of its own within its launch: the kernel gives a record for each."""
        return ()

    @abstractmethod
    def arguments(self, items: Sequence[Any], node_of_rank: Sequence[int], simulated: bool) -> list[str]:
        """Return the kernel's arguments for the items of a launch, in the order of ``items``."""

    def effort(self, seconds: float | None, crowded: bool) -> Sequence[str]:
        """Return the arguments that say how often to repeat: within ``seconds`` a case, None: simulated."""
        if seconds is None:
            return (*SIMULATED, "--window-s", "0.01")  # the window costs no simulated time
        # Where ranks share processors only the check counts: a few repetitions are enough.
        counts = ("--least", "3", "--most", "10", "--warm-up", "1") if crowded else ("--least", "30")
        return ("--budget-s", f"{seconds:.6f}", *counts)

    def as_simulated(self) -> Case:
        """Return what stands for the case where the simulator lacks something."""
        return self

    def simulation_notes(self, start: Mapping[str, Any], record: Mapping[str, Any]) -> list[str]:
        return []

    def read(self, record: Mapping[str, Any], times_s: Times) -> dict[str, Any]:
        """Return further fields of the row, from a kernel's record and its times without the timer's cost."""
        return {}

    def undisturbed(self, record: Mapping[str, Any]) -> tuple[Mapping[str, Any], str | None]:
        """Return what counts of a kernel's record, and a note where others had the processors meanwhile."""
        return record, None

    def simulated(self, row: Row, profile: Profile | None) -> Row:
        """Return the row of a simulation with what was not simulated."""
        return row


@record
class Row(Record):
    """An engine's answer for one case; without a width its interval is none, and both ends are None.

    ``verified`` is None where nothing was sent that could be checked. ``pingpong_time_s`` is the one-way time of a block
    between ranks 0 and 1, measured right before and after a real run: how fast the machine was just then. ``parts`` are
    the phases that the time is made of; ``figures`` what else a workload tells, as JSON has it. ``assumed`` are the kinds of
    shared resources of which a prediction knows nothing.
    """

    engine: str = key("model, simgrid, run or projection")
    case: Case = key("what was asked", inline=True, write=lambda case: case.keys())
    time_s: float = key("time of a round, the slowest rank's")
    time_lo_s: float | None = key()
    time_hi_s: float | None = key()
    messages_per_rank: int | None = key("messages that a rank sends at most")
    bytes_per_rank: int | None = key("bytes that a rank sends at most")
    verified: bool | None = key(
        "whether every byte that arrived was right; null: nothing was sent, or simulated ranks shared the memory of messages"
    )
    notes: tuple[str, ...] = key("what weakens the figures, in words", default=(), after="assumed")
    repetitions: int | None = key("repetitions that were timed; null: none", default=None)
    oversubscribed: bool = key("whether ranks shared a core", default=False)
    pingpong_time_s: float | None = key(
        "ping-pong of one block between ranks 0 and 1, right before and after a real exchange; null: none", default=None
    )
    parts: Mapping[str, Span] = key("by phase", factory=dict, omit=True, name="phases")
    figures: Mapping[str, Any] = key("what only this workload has", factory=dict, inline=True, shape="Figures")
    samples_s: Any = field(default=None, compare=False, repr=False)
    assumed: tuple[str, ...] = key("kinds of resources that ranks share and of which the profile knows nothing", default=())

    @classmethod
    def of(
        cls, engine: str, case: Case, span: Span, messages: int | None, bytes_sent: int | None, verified: bool | None,
        notes: Sequence[str], **more: Any,
    ) -> Row:  # fmt: skip
        return cls(
            engine, case, span.time_s, span.lo_s, span.hi_s, messages, bytes_sent, verified, tuple(dict.fromkeys(notes)), **more
        )

    def __post_init__(self) -> None:
        span = Span(self.time_s, self.time_lo_s, self.time_hi_s)
        object.__setattr__(self, "time_lo_s", span.lo_s)
        object.__setattr__(self, "time_hi_s", span.hi_s)

    @property
    def interval_s(self) -> tuple[float, float] | None:
        """The 95 % interval; None where nothing is known of the spread: a simulation is not repeated."""
        return None if self.time_lo_s is None or self.time_hi_s is None else (self.time_lo_s, self.time_hi_s)


@dataclass(frozen=True)
class Site:
    """What cases are made for: a verb, how many ranks where nobody says, and the node of each of so many real ranks."""

    verb: str = "predict"
    ranks: int | None = None
    node_of_rank: Callable[[int], Sequence[int]] | None = None
    shares_nodes: bool = False  # whether several nodes have several ranks each: then those that know nodes are asked, too
    layout: Callable[[int], Sequence[int]] | None = None  # the node of each of so many ranks, real or not
    mpi: Callable[[], str] | None = None  # what the MPI library says that it is


@dataclass(frozen=True)
class Aside:
    """What a verb answers instead of rows."""

    record: dict[str, Any]
    columns: Sequence[str]
    lines: Sequence[Sequence[str]]


class Workload(ABC):
    """A kind of case, with the options that make them and what a table shows of their rows."""

    id: ClassVar[str]
    title: ClassVar[str]  # in the help: "a neighbour exchange"
    wrong: ClassVar[str] = "exchanges delivered wrong bytes: this MPI is unreliable"
    options: ClassVar[type[Options]]
    examples: ClassVar[Mapping[str, str]]  # by verb
    details: ClassVar[Mapping[str, str]] = {}  # by verb: what its help says besides the common words
    chooses: ClassVar[bool] = True
    walked: ClassVar[bool] = True  # whether the model walks messages alone, so that it has a time line
    seconds: ClassVar[float] = 0.3

    @abstractmethod
    def cases(self, options: Any, site: Site) -> Sequence[Case]:
        """Return what the options ask for, in the order of a table. Raises InputError."""

    def candidates(self, options: Any, site: Site) -> Sequence[Case]:
        """Return what may be chosen from for one question."""
        return self.cases(options, site)

    def instead(self, options: Any) -> Aside | None:
        """Return what is answered instead of rows where the options ask for that."""
        return None

    def finish(self, rows: Sequence[Row]) -> list[Row]:
        """Add what a row can only tell from the others."""
        return list(rows)

    def columns(self, row: Row) -> dict[str, str]:
        """Return further columns of a row's line on the screen."""
        return {}

    def headline(self, rows: Sequence[Row]) -> str | None:
        """Return the answer in one sentence, where the fastest row is not it."""
        return None

    def remarks(self, rows: Sequence[Row]) -> list[str]:
        """Return lines below a table."""
        return []


def require_known(name: str, known: Sequence[str], what: str) -> None:
    """Raise InputError when a name is none of those known."""
    from rankwise.errors import InputError

    if name not in known:
        raise InputError(f"{what} '{name}' is unknown: choose {', '.join(known[:-1])} or {known[-1]}")


def require_ranks(ranks: int, what: str, most: int = 1_000_000) -> None:
    """Raise InputError for more ranks than a pattern can be predicted for in the memory and time that people have."""
    from rankwise.errors import InputError

    if ranks > most:
        raise InputError(f"{ranks} ranks are more than {what} can be predicted for: give at most {most}")


def joined(values: Any) -> str:
    """Return values as the kernels read a list."""
    return ",".join(map(str, values))
