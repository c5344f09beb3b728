"""SimGrid's SMPI: our kernels, unmodified, on ranks that exist in a simulator only.

SimGrid is found at run time (``smpirun`` and ``smpicxx`` on PATH); the kernels are built with it once, into the user's
cache. One rank's computation takes no simulated time, so that what is timed is the communication.

What SimGrid traces of a simulation (the Paje format): each rank's calls of MPI and its messages, with their times.

Lines of a trace that count here: 5 names a state, 6 makes a container, 12 and 13 push and pop a state, 15 and 16 begin and end
a message.
"""

from __future__ import annotations

import io
import re
import shlex
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankwise.errors import EXIT_USAGE, InputError, RankwiseError, UnusableEnvironmentError
from rankwise.files import write_whole
from rankwise.launch.build import KERNELS, PLATFORM, build
from rankwise.launch.mpi import record_of
from rankwise.launch.process import Child, output_of, refusal_in
from rankwise.launch.reach import seconds_of
from rankwise.reading import reading

LEAST_VERSION = (3, 32)
INSTALL = "install SimGrid 3.32 or later (Debian, Ubuntu: apt-get install libsimgrid-dev)"
# Each rank may send to each other; a millisecond for such a message is twenty times what SimGrid takes.
_SILENCE_S, _SILENCE_OF_PAIR_S = 60.0, 1e-3
SMPI_EAGER_BYTES = 65536  # where SMPI's sends begin to wait
_OPTIONS = (
    "-quiet",
    # The kernels have no global variables that ranks could spoil for each other; a copy for each rank costs seconds.
    "-no-privatize",
    # A message takes what our platform says: no share for acknowledgements, no TCP window, no time for computing.
    "--cfg=network/crosstraffic:0",
    "--cfg=network/TCP-gamma:1e30",
    # Messages that share a link have equal shares.
    "--cfg=network/weight-S:0",
    # Every message is brought up to date at every event: by the default (Lazy), blocking exchanges of many ranks a node take up
    # to a third longer than max-min fairness says (SimGrid 3.32).
    "--cfg=network/optim:Full",
    "--cfg=smpi/simulate-computation:no",
    "--cfg=smpi/wtime:0",
    # Thousands of ranks: small stacks, and trees where the defaults (and MPICH's choices as SMPI has them) are cubic in
    # the ranks. Collectives stand outside what is timed.
    "--cfg=contexts/stack-size:256",
    "--cfg=contexts/guard-size:0",
    "--cfg=smpi/allreduce:redbcast",
    "--cfg=smpi/reduce:binomial",
    "--cfg=smpi/bcast:binomial_tree",
    "--cfg=smpi/gather:ompi_binomial",
    "--cfg=smpi/barrier:ompi_recursivedoubling",
    "--log=root.thres:warning",
)

_MOST_BYTES = 2**31 - 1  # of SimGrid's settings, whose numbers have 32 bits
_TRACING = ("-trace", "--cfg=tracing/smpi/display-sizes:yes", "--cfg=tracing/precision:12")


@dataclass(frozen=True)
class SimGrid:
    """SimGrid on this machine: its launcher, its version, and what was built with it."""

    smpirun: Path
    version: str
    kernels: Path
    platforms: Path


@dataclass(frozen=True)
class Simulation:
    """One run in the simulator: the platform as text, the host of each rank, the kernel and its arguments.

    ``folds_memory`` lets ranks share the memory of messages of more than a page, whose bytes then cannot be checked. Messages
    of less than ``eager_bytes``, and their sends, wait for no receiver; it is 0 where none does, for SimGrid keeps what is
    buffered in a list that it searches for every message.
    """

    platform: str
    hosts: Sequence[str]
    arguments: Sequence[str]
    folds_memory: bool = False
    eager_bytes: int = SMPI_EAGER_BYTES
    options: Sequence[str] = ()  # further ones of smpirun, after ours


def find_simgrid() -> SimGrid:
    """Find SimGrid and build for it what is missing. Raises UnusableEnvironmentError, which says how to install it."""
    smpirun, smpicxx = (shutil.which(name) for name in ("smpirun", "smpicxx"))
    if smpirun is None or smpicxx is None:
        missing = "smpirun" if smpirun is None else "smpicxx"
        raise UnusableEnvironmentError(f"simulating needs SimGrid, and no {missing} is on PATH: {INSTALL}")
    words = output_of([smpirun, "-version"])[1]
    match = re.search(r"(\d+)\.(\d+)(?:\.\d+)*", words)
    if match is None or (int(match[1]), int(match[2])) < LEAST_VERSION:
        raise UnusableEnvironmentError(f"{smpirun} belongs to '{words.strip()[:60]}': {INSTALL}")
    compiler = Path(smpicxx)
    return SimGrid(Path(smpirun), match[0], build(KERNELS, compiler), build(PLATFORM, compiler))


def run_simulation(
    simgrid: SimGrid,
    simulation: Simulation,
    log: Path,
    started: Callable[[Child], None] = lambda child: None,
    trace: Path | None = None,
) -> list[dict[str, Any]]:
    """Run one simulation; return the kernel's records without its witnesses' placements.

    ``trace``: where what ranks do is written (the Paje format).
    ``started`` is given the child process, by which another thread can end it. A run that fails leaves SimGrid's log in
    ``log``. Raises RankwiseError with the cause out of that log, InputError when the kernel refuses its arguments.
    """
    ranks = len(simulation.hosts)
    silence_s = seconds_of("RANKWISE_SILENCE_S", min(_SILENCE_S + _SILENCE_OF_PAIR_S * ranks**2, 9e5))
    with tempfile.TemporaryDirectory(prefix="rankwise-") as scratch:
        # In a folder of our own: smpirun takes the path of a hostfile without blanks only.
        platform, hosts = Path(scratch) / "platform", Path(scratch) / "hosts"
        platform.write_text(simulation.platform, encoding="utf-8")
        hosts.write_text("".join(f"{host}\n" for host in simulation.hosts), encoding="utf-8")
        folding = ("--cfg=smpi/auto-shared-malloc-thresh:4096",) if simulation.folds_memory else ()
        eager_bytes = min(simulation.eager_bytes, _MOST_BYTES)
        eager = [f"--cfg=smpi/{name}-thresh:{eager_bytes}" for name in ("send-is-detached", "async-small")]
        command = [
            str(simgrid.smpirun), *_OPTIONS, *folding, *eager, *simulation.options,
            *(() if trace is None else (*_TRACING, "-trace-file", str(trace))),
            "-platform", str(simgrid.platforms), "-hostfile", str(hosts), "-np", str(len(simulation.hosts)),
            str(simgrid.kernels), *simulation.arguments,
        ]  # fmt: skip
        records: list[dict[str, Any]] = []
        said = io.BytesIO()
        with Child(command, {"RANKWISE_PLATFORM": str(platform)}, said) as child:
            started(child)
            try:
                for record in filter(None, map(record_of, child.lines(silence_s))):
                    # Where simulated ranks ran says nothing, and for thousands of them at length.
                    records.append({key: value for key, value in record.items() if key != "placements"})
            except TimeoutError:
                raise RankwiseError(
                    f"the simulation of {ranks} ranks said nothing for {silence_s:.0f} s, which was to take less: it hangs "
                    "and was ended: the same command goes on, or allow more with RANKWISE_SILENCE_S"
                ) from None
            code = child.wait()
        if code == 0 and records and records[-1]["record"] == "end":
            return records
        text = said.getvalue().decode("utf-8", "replace")
        if code == EXIT_USAGE and (refusal := refusal_in(text)):
            raise InputError(refusal)
        write_whole(log, text)
        raise RankwiseError(
            f"the simulation of {ranks} ranks failed ({cause_of_failure(text, code)}): SimGrid's log is in {log}"
        )


def cause_of_failure(log: str, code: int) -> str:
    """Return the line of SimGrid's log (with what the kernel said) that tells why a run failed."""
    if refusal := refusal_in(log):
        return refusal[:200]
    lines = log.splitlines()
    for sign in ("Deadlock", "/CRITICAL]", "terminate called", "what():", "/ERROR]", "/WARNING]"):
        for line in lines:
            if sign in line:
                words = re.sub(r"^\[[^]]*\]\s*(\S+:\d+:\s*)?(\[[^]]*\]\s*)?", "", line)
                return words.strip()[:200]
    killed = ", as where memory runs out: simulate fewer ranks" if code in (-signal.SIGKILL, 128 + signal.SIGKILL) else ""
    return f"exit code {code}{killed}"


@dataclass(frozen=True)
class Call:
    """A call of a rank, from its beginning to its end."""

    rank: int
    name: str  # MPI_Waitall
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Message:
    """A message, from its posting to its arrival; those of a pair and tag are in order."""

    source: int
    dest: int
    tag: int
    bytes: int
    sent_s: float
    arrived_s: float


@dataclass(frozen=True)
class Trace:
    """All calls, rank by rank in order of time, and all messages, in order of their arrival."""

    calls: tuple[Call, ...]
    messages: tuple[Message, ...]


def read_trace(lines: Iterable[str]) -> Trace:
    """Read a trace; what is not known of it is passed over."""
    with reading("the trace of SimGrid", INSTALL):
        return Trace(*_read(lines))


def _read(lines: Iterable[str]) -> tuple[tuple[Call, ...], tuple[Message, ...]]:
    names: dict[str, str] = {}
    rank_of: dict[str, int] = {}
    begun: dict[int, list[tuple[str, float]]] = {}
    under_way: dict[str, tuple[float, int]] = {}
    calls: list[Call] = []
    messages: list[Message] = []
    for kind, fields in _records(lines):
        if kind == "5":
            names[fields[0]] = fields[2].removeprefix("P")
        elif kind == "6" and fields[-1].startswith("rank-"):
            rank_of[fields[1]] = int(fields[-1].removeprefix("rank-"))
        elif kind == "12" and fields[2] in rank_of:
            begun.setdefault(rank_of[fields[2]], []).append((names.get(fields[3], "?"), float(fields[0])))
        elif kind == "13" and begun.get(rank := rank_of.get(fields[2], -1)):
            name, start_s = begun[rank].pop()
            calls.append(Call(rank, name, start_s, float(fields[0])))
        elif kind == "15" and len(fields) > 6:
            under_way[fields[5]] = float(fields[0]), int(float(fields[6]))
        elif kind == "16" and fields[5] in under_way:
            sent_s, size = under_way.pop(fields[5])
            source, dest, tag, _ = (int(part) for part in fields[5].split("_"))
            messages.append(Message(source - 1, dest - 1, tag, size, sent_s, float(fields[0])))
    return tuple(sorted(calls, key=lambda call: (call.rank, call.start_s, call.end_s))), tuple(messages)


def _records(lines: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    for line in lines:
        if line[:1].isdecimal():
            kind, *fields = shlex.split(line) if '"' in line else line.split()
            yield kind, fields
