"""Runs a program in two ways (placements, settings) by turns, keeps each pair at once, and stops when it knows.

A library may ignore settings without a word. Open MPI counts what each pair of ranks sends within collectives (its monitoring
component); where that is the same with the settings and without, they did nothing. Of MPICH what can be seen is whether the
library knows the variables' names.
"""

from __future__ import annotations

import math
import os
import random
import re
import shlex
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rankwise.errors import InputError, RankwiseError, unreadable
from rankwise.files import append_json_line, load_json, plain
from rankwise.launch.command import Command, mpi_library_path, program_of
from rankwise.launch.probe import read_counters, require_hosts_of_ranks, sent_between
from rankwise.launch.process import Child
from rankwise.machine.hosts import distinct
from rankwise.progress import SILENT, Meter, tell
from rankwise.reading import reading
from rankwise.records import Record, finite, key, record, whole
from rankwise.trial.judgement import LOOKS, Judgement, could_find, judge, least_pairs, scatter_of

_FOREVER_S = 1e6
_FIRST_WORD = 5  # pairs, after which the power is told
_STEM = "sent"
# A line of what collectives sent: from, to, bytes, messages; what a killed rank has left of one is none.
_INSIDE = re.compile(rb"^I\s+(\d{1,9})\s+(\d{1,9})\s+(\d{1,18}) bytes\s+(\d{1,18}) msgs", re.MULTILINE)


@dataclass(frozen=True)
class Way:
    """One of the two placements: the host of each rank, and the bytes that the record promises between nodes.

    ``variables``: of the environment, settings that it has as well.
    """

    name: str
    hosts: tuple[str, ...]
    promised_bytes: int | None = None
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Pair:
    """One run of each way: seconds, and the bytes that left all hosts (None: not known)."""

    times_s: tuple[float, float]
    sent_bytes: tuple[int | None, int | None]


@record
class LinkBytes(Record):
    """Bytes over the links of a placement."""

    placement: str = key("name of the placement")
    promised: int | None = key("bytes between nodes by the record; null: of settings nothing is promised")
    counted: int | None = key("bytes of a run that the NICs counted, the median; null: not known")


@record
class Placed(Record):
    """A placement that was tried, or one without settings and with them."""

    name: str = key("name of the placement")
    hosts: list[str] = key("host of each rank")
    command: str = key("a whole command")
    time_s: float = key("time of a run, the median")


@record
class TriedRecord(Record):
    """What a trial came to."""

    ratio: float | None = key("how many times as fast the new placement is; null: there was nothing to try")
    ratio_lo: float | None = key("lower end of the 95 % interval of ratio; null: too few pairs")
    ratio_hi: float | None = key("upper end of the 95 % interval of ratio; null: too few pairs")
    pairs: int = key("pairs of runs")
    verdict: str = key("faster, slower, no gain or cannot tell")
    link_bytes: list[LinkBytes] = key("bytes over links, of each placement")
    why: str | None = key("why there was nothing to try", optional=True)
    scatter: float = key("standard deviation of a pair's log ratio", optional=True)
    could_find: float | None = key(
        "least gain that so many pairs find in nine of ten trials; null: they are too few for an interval", optional=True
    )
    more_pairs: int = key("further pairs that it takes to tell", optional=True)
    placements: list[Placed] = key("the placements that were tried", optional=True)
    samples: str = key("file of the samples", optional=True)
    ignored: str | None = key(
        "why the library ignores the settings that were tried; null: nothing speaks for that", optional=True
    )
    stale: list[str] = key("what the settings that were tried were made for that is not so here", optional=True)


@dataclass
class Trial:
    """A trial of two ways, the present one and the new one, of which each pair of runs is a line of a file."""

    command: Command
    ways: tuple[Way, Way]
    path: Path
    budget: int = LOOKS[-1]
    seed: int = 1
    meter: Meter = SILENT
    pairs: list[Pair] = field(default_factory=list)
    stale: Sequence[str] = ()  # what the settings were made for that is not so here
    ignored: str | None = None  # why the settings of the second way do nothing

    @property
    def header(self) -> dict[str, Any]:
        return {
            "record": "trial", "seed": self.seed,
            "ways": [{"name": way.name, "hosts": list(way.hosts), "command": self._words(way)} for way in self.ways],
        }  # fmt: skip

    def resume(self) -> None:
        """Take up the pairs that the file has. Raises InputError for a file of another trial."""
        if not self.path.exists():
            append_json_line(self.path, self.header)
            return
        lines = []
        try:
            text = plain(self.path).read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise InputError(f"{self.path} {unreadable(error)}: name another file with --output") from None
        for line in text.splitlines():
            try:
                lines.append(load_json(line))
            except ValueError:
                continue  # cut off
        if not lines or lines[0] != self.header:
            raise InputError(f"{self.path} is of another trial: remove it, or name another file with --output")
        with reading(str(self.path), "remove that line, the other pairs remain"):
            for line in lines[1:]:
                if isinstance(line, dict) and line.get("record") == "pair":
                    one_s, other_s = (finite(time_s, "times_s") for time_s in line["times_s"])
                    if min(one_s, other_s) <= 0:
                        raise ValueError(f"times_s {line['times_s']} are not above 0")
                    of_one, of_other = (None if sent is None else whole(sent, "sent_bytes", 0) for sent in line["sent_bytes"])
                    self.pairs.append(Pair((one_s, other_s), (of_one, of_other)))
        if self.pairs:
            tell(f"{len(self.pairs)} pairs are in {self.path} already: going on from there")
            self.meter.advance(len(self.pairs))

    def run(self) -> Judgement:
        """Run pairs until it is known, or the budget is spent. Raises
        RankwiseError when a run fails; the pairs so far are kept."""
        judgement = self._judged()
        if judgement is not None and judgement.done:
            return judgement
        for way in self.ways:
            self.meter.say(f"placing ranks as {way.name}")
            require_hosts_of_ranks(self.command, way.hosts)
        with tempfile.TemporaryDirectory(dir=self.path.absolute().parent, prefix=f".{self.path.name}.") as folder:
            self._first_runs(Path(folder))
        while judgement is None or not judgement.done:
            self._pair()
            judgement = self._judged()
        return judgement

    def _first_runs(self, folder: Path) -> None:
        """Run each way once, which does not count: what is slow only once. Settings that do nothing are told."""
        counted = []
        for number, way in enumerate(self.ways):
            self.meter.say(f"a first run as {way.name}, which does not count")
            counted.append(folder / str(number))
            if not self.ways[1].variables:
                self._run(way)
                continue
            command, seen = monitoring(self.command, counted[-1])
            replace(self, command=command)._run(replace(way, variables={**way.variables, **seen}))
        if variables := self.ways[1].variables:
            self.ignored = why_ignored(self.command, variables, *counted)
            if self.ignored is not None:
                tell(f"warning: {self.ignored}")

    def _words(self, way: Way) -> str:
        """Return a way's whole command, with its variables, as a shell takes it."""
        variables = [f"{name}={value}" for name, value in way.variables.items()]
        return shlex.join([*(["env", *variables] if variables else []), *self._given(way).on(way.hosts)])

    def _given(self, way: Way) -> Command:
        """Return the command that takes a way's variables to all ranks; Open MPI's launcher takes none but its own."""
        own = ("OMPI_MCA_", "PRTE_MCA_", "PMIX_MCA_")
        if self.command.launcher.family != "openmpi":
            return self.command
        more = [word for name in way.variables if not name.startswith(own) for word in ("-x", name)]
        return replace(self.command, options=(*self.command.options, *more))

    @property
    def differences(self) -> list[float]:
        return [math.log(pair.times_s[0] / pair.times_s[1]) for pair in self.pairs]

    def judged_so_far(self) -> Judgement | None:
        """Return what the pairs tell, whether or not this is the time to ask; None for fewer than two."""
        return judge(self.differences, self.budget) if len(self.pairs) > 1 else None

    def _judged(self) -> Judgement | None:
        """Judge at the first look at which the trial is done, as if the pairs had come one by one."""
        judgement = None
        for look in sorted({*(look for look in LOOKS if look < self.budget), self.budget}):
            if look <= len(self.pairs):
                judgement = judge(self.differences[:look], self.budget)
                if judgement.done:
                    return judgement
        return judgement

    def _pair(self) -> None:
        number = len(self.pairs)
        order = random.Random(self.seed * 1_000_003 + number).sample((0, 1), 2)
        times_s: list[float] = [0.0, 0.0]
        sent: list[int | None] = [None, None]
        for which in order:
            self.meter.say(f"pair {number + 1}: {self.ways[which].name}")
            times_s[which], sent[which] = self._counted(self.ways[which])
        pair = Pair((times_s[0], times_s[1]), (sent[0], sent[1]))
        line = {"record": "pair", "number": number, "order": order, "times_s": times_s, "sent_bytes": sent}
        append_json_line(self.path, {**line, "ended_unix_s": time.time()})
        self.pairs.append(pair)
        self.meter.advance()
        if len(self.pairs) == _FIRST_WORD:
            tell(power_words(scatter_of(self.differences), self.budget))

    def _counted(self, way: Way) -> tuple[float, int | None]:
        hosts = distinct(way.hosts)
        before = read_counters(self.command, hosts) if len(hosts) > 1 else {}
        time_s = self._run(way)
        after = read_counters(self.command, hosts) if len(hosts) > 1 else {}
        return time_s, sent_between(before, after)

    def _run(self, way: Way) -> float:
        """Run the program once and return the seconds until its launcher has ended. Raises RankwiseError when it fails."""
        begun_s = time.monotonic()
        with Child(self._given(way).on(way.hosts), way.variables) as child:
            for _ in child.lines(_FOREVER_S):
                pass
            code = child.wait()
            time_s = time.monotonic() - begun_s
            if code != 0:
                kept = f"the {len(self.pairs)} pairs before it are in {self.path}"
                raise RankwiseError(f"the program failed as {way.name} (exit code {code}): {child.error_line()}; {kept}")
        return time_s

    def to_dict(self, judgement: Judgement) -> dict[str, Any]:
        """Return the result in the form that other programs rely on."""
        pairs = self.pairs[: judgement.pairs]
        return {
            **judgement.to_dict(),
            "link_bytes": [
                {"placement": way.name, "promised": way.promised_bytes, "counted": counted(pairs, i)}
                for i, way in enumerate(self.ways)
            ],
            "placements": [
                {**given, "time_s": statistics.median(pair.times_s[i] for pair in pairs)}
                for i, given in enumerate(self.header["ways"])
            ],
            "samples": str(self.path),
            "ignored": self.ignored,
            "stale": list(self.stale),
        }


def counted(pairs: Sequence[Pair], which: int) -> int | None:
    """Return the median of the bytes that left all hosts in a run; None where they are not known."""
    known = [sent for pair in pairs if (sent := pair.sent_bytes[which]) is not None]
    return int(statistics.median(known)) if known else None


def power_words(scatter: float, budget: int) -> str:
    """Say what pairs that scatter so can find."""
    if budget < least_pairs():
        return f"{budget} pairs have no interval, whatever they tell: {least_pairs()} have one"
    looks = [look for look in (LOOKS[0], 20, LOOKS[-1]) if look <= budget] or [budget]
    found = ", ".join(f"{look} pairs find {100 * could_find(scatter, look):.2g} %" for look in looks)
    return f"with the scatter of these {_FIRST_WORD} pairs ({100 * scatter:.2g} %) {found}, in nine of ten trials"


def monitoring(command: Command, folder: Path) -> tuple[Command, dict[str, str]]:
    """Return a command and variables by which Open MPI counts what is sent into files of a folder; for others as it is.

    Where the command, or the environment, names components that send (``--mca pml ob1``), the one that counts is named, too.
    """
    if command.launcher.family != "openmpi":
        return command, {}
    folder.mkdir(exist_ok=True)
    options = list(command.options)
    for at in (i for i in range(2, len(options)) if options[i - 2].lstrip("-") in ("mca", "gmca") and options[i - 1] == "pml"):
        options[at] = _with_monitoring(options[at])
    named = {"OMPI_MCA_pml": _with_monitoring(os.environ["OMPI_MCA_pml"])} if "OMPI_MCA_pml" in os.environ else {}
    return replace(command, options=tuple(options)), {
        **named,
        "OMPI_MCA_pml_monitoring_enable": "2", "OMPI_MCA_pml_monitoring_enable_output": "3",
        "OMPI_MCA_pml_monitoring_filename": str(folder / _STEM),
    }  # fmt: skip


def _with_monitoring(components: str) -> str:
    return components if components.startswith("^") else f"{components},monitoring"


def sent_inside(folder: Path) -> dict[tuple[int, int], tuple[int, int]]:
    """Return the bytes and messages that each pair of ranks sent within collectives; empty where nothing was counted."""
    found = {}
    for path in folder.glob(f"{_STEM}.*"):
        for line in _INSIDE.finditer(path.read_bytes()):
            source, dest, sent_bytes, messages = map(int, line.groups())
            found[source, dest] = sent_bytes, messages
    return found


def why_ignored(command: Command, variables: Mapping[str, str], without: Path, within: Path) -> str | None:
    """Say why settings do nothing, after a run ``without`` and one ``within`` them; None where nothing speaks for that."""
    if command.launcher.family == "openmpi":
        if not any("_coll_" in name for name in variables):
            return None  # limits of protocols send the same messages
        before, after = sent_inside(without), sent_inside(within)
        if before and before == after:
            return "in collectives each pair of ranks sends the same with the settings as without: the library ignores them"
        return None
    program = program_of([str(command.launcher.path), *command.program])
    library = None if program is None else mpi_library_path(program)
    if library is None:
        return None
    content = library.read_bytes()
    unknown = [name for name in variables if name.removeprefix("MPIR_CVAR_").encode() not in content]
    return f"{library} knows no {unknown[0]}: the library ignores it" if unknown else None
