"""Raw samples: an append-only JSON Lines file from which every fit and report is recomputed.

The file holds one measurement after the other. A ``measurement`` record opens one and carries its plan; ``samples`` records
carry raw times of one cell (operation and size, or exchange case) of one launch, ``limits`` records sizes up to which sends
do not wait, ``witness`` records what the machine did meanwhile; ``complete`` closes a campaign. What was cut off in mid-line (a
full disk, a power cut) is reported and skipped; nothing is ever rewritten.
"""

from __future__ import annotations

import errno
import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rankwise.errors import InputError, RankwiseError, unreadable
from rankwise.files import kind_of, load_json, lock, opened_to_append, plain, require_output
from rankwise.machine.link import LEAST_TIME_S, MOST_TIME_S
from rankwise.progress import tell
from rankwise.reading import Trace

SCHEMA = 1
_CLOCK_SLEWS_S = 0.5  # less than this is no jump
STOP_KEYS = ("launches", "span_s", "precision", "stopped_by", "imprecise_cells", "visits_left_out")


def samples_path_of(profile: Path) -> Path:
    """Return where the raw samples of a profile lie: machine.samples.jsonl next to machine.json."""
    return profile.with_name(profile.stem + ".samples.jsonl")


class SamplesFile:
    """A samples file that is open for appending; use as a context manager."""

    def __init__(self, path: Path) -> None:
        """Open or create it. Raises InputError where it cannot be written, and RankwiseError."""
        self.path = path
        require_output(path)
        try:
            # Unbuffered: what was appended is the system's, whatever becomes of us.
            self._stream = opened_to_append(path)
            lock(self._stream, path)
            self._close_cut_off_line()
        except OSError as error:
            raise RankwiseError(f"samples cannot be kept in {path} ({error.strerror}): name another file with -o") from None

    def __enter__(self) -> SamplesFile:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stream.close()

    def append(self, record: Mapping[str, Any]) -> None:
        """Write one record, so that it is in the file before anything else happens. Raises RankwiseError."""
        if os.fstat(self._stream.fileno()).st_nlink == 0:
            raise RankwiseError(f"{self.path} was removed meanwhile, with what was measured: measure again")
        line = json.dumps(record, allow_nan=False, separators=(",", ":")).encode() + b"\n"
        try:
            if self._stream.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            raise RankwiseError(
                f"samples cannot be written to {self.path} ({error.strerror}): make room and go on with --resume"
            ) from None

    @contextmanager
    def campaign(self, **head: object) -> Iterator[str]:
        """Open a measurement whose opening record has ``head``, and close it unless something goes wrong; gives its id."""
        identity = self.begin(**head)["campaign"]
        yield identity
        self.complete(identity)

    def begin(self, **head: object) -> dict[str, Any]:
        """Open a measurement whose opening record has ``head``; return that record."""
        identity = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{time.monotonic_ns() % 10**6:06d}"  # no other measurement's
        record = {"record": "campaign", "campaign": identity, "schema": SCHEMA, "created": now(), **head}
        self.append(record)
        return record

    def complete(self, identity: str, **stop: object) -> None:
        """Close a measurement, with what is to be said of its end."""
        self.append({"record": "complete", "campaign": identity, "at": now(), **stop})

    def _close_cut_off_line(self) -> None:
        if self._stream.tell() == 0:
            return
        with self.path.open("rb") as stream:
            stream.seek(-1, os.SEEK_END)
            if stream.read(1) != b"\n":
                self._stream.write(b"\n")


@dataclass
class Campaign:
    """One measurement as read back: its opening record, samples and witnesses in order, and whether it was completed."""

    head: Mapping[str, Any]
    samples: list[Mapping[str, Any]]
    starts: list[Mapping[str, Any]]
    witnesses: list[Mapping[str, Any]] = field(default_factory=list)
    limits: list[Mapping[str, Any]] = field(default_factory=list)  # of the protocol, for each launch that sought them
    complete: bool = False
    stop: Mapping[str, Any] = field(default_factory=dict)  # of a complete one: how much it measured, and why it stopped
    was_resumed: bool = False

    @property
    def id(self) -> str:
        return str(self.head["campaign"])

    @property
    def plan(self) -> Mapping[str, Any]:
        """What was to be measured; empty where the opening record has no plan."""
        plan: Mapping[str, Any] = self.head.get("plan", {})
        return plan

    @property
    def kind(self) -> str:
        """What was measured: pingpong, bandwidth and so on."""
        return str(self.plan.get("what", "pingpong"))

    @property
    def mpi(self) -> object:
        """The record of the MPI library; None where none is told."""
        return self.head.get("machine", {}).get("mpi")

    @property
    def span_s(self) -> float:
        """Return the time from the first launch's beginning to the last one's end, by the wall clock; 0 where none is told."""
        told = [(float(w["begun_unix_s"]), float(w["seconds"])) for w in self.witnesses if "begun_unix_s" in w]
        return max((begun_s + seconds for begun_s, seconds in told), default=0.0) - min(
            (begun_s for begun_s, _ in told), default=0.0
        )

    @property
    def clock_jump_s(self) -> float:
        """Return by how much the wall clock was set while ranks measured, all jumps together."""
        jumps_s = (abs(float(witness.get("clock_jump_s", 0.0))) for witness in self.witnesses)
        return sum(jump_s for jump_s in jumps_s if jump_s > _CLOCK_SLEWS_S)

    @property
    def machine(self) -> dict[str, Any]:
        """Return the machine's record, with how its ranks use TCP."""
        tcp = {name: int(segment) for witness in self.witnesses for name, segment in witness.get("tcp", {}).items()}
        return {**self.head["machine"], **({"tcp": tcp} if tcp else {})}

    def hosts_left_out(self) -> list[str]:
        """Return the hosts that were to be measured and are in no sample."""
        planned = {str(host) for places in self.plan.get("places", {}).values() for host in places.get("hosts", ())}
        told = [sample["hosts"] for sample in self.samples if "hosts" in sample]
        return sorted(planned.difference(host for hosts in told for host in hosts)) if told else []

    def reference_loops_s(self, link: str | None = None) -> list[float]:
        """Return the slowest rank's reference loop next to each cell, of one link class or all.

        Not with pairs at once: with every core busy a processor is slower than with two, and that is no disturbance.
        """
        of_link = [s for s in self.samples if (link is None or s["class"] == link) and s.get("reference_loop_s")]
        return [max(s["reference_loop_s"]) for s in of_link if s.get("kernel") != "bandwidth"]


def now() -> str:
    """Return the present time as ISO 8601 in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def read_records(path: Path, trace: Trace | None = None) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the records of a samples file with their lines; lines that were cut off are reported on stderr and skipped.

    Raises InputError for a file that is missing or is not JSON Lines.
    """
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        try:
            record = load_json(line)
        except json.JSONDecodeError:
            if number == 1:
                raise InputError(f"{path}, line 1: not JSON Lines: is this a samples file?") from None
            if trace is None or not trace.on:
                tell(f"rankwise: {path}, line {number}: cut off in mid-line, skipped")
            continue
        except ValueError as error:
            raise InputError(f"{path}, line {number}: {error}: remove the line, the others remain") from None
        if not isinstance(record, dict) or not isinstance(record.get("record"), str):
            raise InputError(f"{path}, line {number}: not a record of samples: is this a samples file?")
        yield number, record if trace is None else trace.of(record, f", line {number}")


def _lines(path: Path) -> Iterator[str]:
    if (kind := kind_of(path)) not in ("", "raw samples"):
        samples = path.with_name(f"{path.stem}.samples.jsonl")
        fix = f"name {samples}" if samples.exists() else "name the .samples.jsonl that 'rankwise measure' wrote with it"
        raise InputError(f"{path} is {kind}, not raw samples: {fix}")
    try:
        with plain(path).open(encoding="utf-8", errors="replace") as stream:
            yield from stream
    except OSError as error:
        raise InputError(f"samples {path} {unreadable(error)}: measure first, or name the right file") from None


def read_campaigns(path: Path, trace: Trace | None = None) -> list[Campaign]:
    """Read all measurements of a samples file, oldest first. Raises InputError."""
    campaigns: dict[str, Campaign] = {}
    for number, record in read_records(path, trace):
        kind, identity = record["record"], record.get("campaign")
        if kind == "campaign":
            schema = record.get("schema")
            if type(schema) is not int or schema > SCHEMA:
                raise InputError(
                    f"samples {path}, line {number}: schema {schema!r:.40}, this program reads {SCHEMA}: update rankwise"
                )
            campaigns[str(identity)] = Campaign(record, [], [])
            continue
        if str(identity) not in campaigns:
            raise InputError(
                f"{path}, line {number}: of measurement {identity!s:.40} that never began: is it edited? Remove the line: the "
                "others remain"
            )
        if campaigns[str(identity)].plan:
            require_fields(record, f"{path}, line {number}", _NEEDED)
        if kind == "samples":
            _require_times(record, f"{path}, line {number}")
        of = campaigns[str(identity)]
        kept = {"samples": of.samples, "start": of.starts, "limits": of.limits, "witness": of.witnesses}
        if kind in kept:
            kept[kind].append(record)
        elif kind == "resumed":
            of.was_resumed = True
        elif kind == "complete":
            of.complete = True
            of.stop = {key: record[key] for key in STOP_KEYS if key in record}
    return list(campaigns.values())


_ALIKE = ("cpu_model", "sockets", "cores", "hardware_threads")


def require_one_machine(campaigns: Sequence[Campaign], path: Path) -> None:
    """Raise InputError where measurements of one file were measured on different machines: figures of two are those of none.

    Nodes of a cluster that are alike, by hardware and by name but for its numbers, are one machine.
    """
    machines = [machine for campaign in campaigns if (machine := campaign.head.get("machine"))]
    for other in machines[1:]:
        first = machines[0]
        names = [str(machine.get("hostname") or "") for machine in (first, other)]
        named_alike = "" in names or len({re.sub(r"\d+", "", name.split(".")[0]) for name in names}) == 1
        differing = next(
            (key for key in _ALIKE if None not in (first.get(key), other.get(key)) and first[key] != other[key]), None
        )
        if named_alike and differing is None:
            continue
        why = f" ({differing.replace('_', ' ')} {first[differing]} and {other[differing]})" if differing else ""
        raise InputError(
            f"{path} holds samples of two machines, {names[0] or 'one'} and {names[1] or 'another'}{why}: "
            "keep each machine's in a file of its own (-o)"
        )


def require_fields(record: Mapping[str, Any], where: str, needed: Mapping[str, Sequence[str]]) -> None:
    """Refuse a record of a campaign of measuring without the fields that its kind needs, or with fields that are not what these
    are.

    Raises InputError with ``where`` and the field.
    """
    for key in needed.get(record.get("record", ""), ()):
        if key not in record:
            raise InputError(f"{where}: {key} is missing: remove the line, the others remain")
    for key, holds in _FIELDS.items():
        if key in record and not holds(record[key]):
            raise InputError(f"{where}: {key} is {record[key]!r:.40}: remove the line, the others remain")
    for place in record.get("placements", ()):
        require_fields({**place, "record": "placement"}, f"{where}, placements", {"placement": ("host",)})


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def _list_of(holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(holds, value))


_NEEDED = {
    "start": ("timer_cost_s",), "samples": ("class", "operation", "size_bytes", "launch"),
    "witness": ("class", "launch", "seconds"),
}  # fmt: skip
_FIELDS: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("class", "operation", "kernel", "host"), lambda value: isinstance(value, str)),
    **dict.fromkeys((
        "size_bytes", "launch", "part", "messages", "repeats", "round", "rank", "involuntary_switches", "moved_ranks",
    ), _is_count),
    "sweep": lambda value: value == -1 or _is_count(value),  # -1: measured again
    **dict.fromkeys(("visit_s", "measuring_s", "begun_unix_s", "clock_jump_s", "timer_cost_s", "foreign_cpus", "parts"),
        _is_number),
    **dict.fromkeys(("busy_s", "own_s", "reference_loop_s"), _list_of(_is_number)),
    **dict.fromkeys(("sizes", "cpus_allowed"), _list_of(_is_count)),
    "seconds": lambda value: _is_number(value) or _list_of(_is_number)(value),
    "partner": _list_of(lambda value: value == -1 or _is_count(value)),
    "placements": _list_of(lambda value: isinstance(value, dict)),
}  # fmt: skip


def _require_times(record: Mapping[str, Any], where: str) -> None:
    """Refuse a record whose raw times no clock can have given, or that names them in another unit."""
    times_s = record.get("time_s")
    if not isinstance(times_s, list) or not times_s:
        foreign = next((key for key in record if key.startswith("time_") and key != "time_s"), None)
        raise InputError(
            f"{where}: no times in time_s{f' but a {foreign}' if foreign else ''}: samples are in seconds; "
            "convert or remove the line"
        )
    for time_s in times_s:
        if isinstance(time_s, bool) or not isinstance(time_s, int | float) or not LEAST_TIME_S <= time_s <= MOST_TIME_S:
            raise InputError(
                f"{where}: time_s holds {time_s!r}, which is not a time above 0: remove the line, the others remain"
            )
