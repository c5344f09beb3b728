"""What each reader says of a figure that cannot be: the file, the line where the format has lines, and the field."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rankwise.errors import EXIT_USAGE, InputError
from readers import PYTHONS_OWN, readers

KNOWN = readers()
# Of each reader some files: the seed's number, what is replaced in it and by what, the line (0: the format has none), the
# field.
BROKEN = [
    ("profile", 0, '"alpha_s":9.9328e-07', '"alpha_s":"x"', 0, "links.same-socket.alpha_s"),
    ("profile", 0, '"source":{', '"source":7,"x":{', 0, "source 7 is not an object"),
    ("profile", 0, '"method":"relative', '"x":"relative', 0, "links.same-socket.models.hockney.method is missing"),
    ("profile", 1, '"triad_bytes_per_s": 1', '"triad_bytes_per_s": "1', 0, "not complete JSON (line 1"),
    ("profile", 1, '"counted": [', '"counted": 1, "x": [', 0, "fft3d"),
    ("samples", 0, '"time_s":[', '"time_s":[-1,', 3, "time_s"),
    ("samples", 0, '"plan":{', '"plan":[],"x":{', 1, "plan is of another kind"),
    ("samples", 0, '"created":', '"x":', 1, "created is missing"),
    ("samples", 0, '"pairs":[[0,1]]', '"pairs":"x"', 1, "plan.places.same-socket.pairs"),
    ("samples", 0, '"timer_cost_s":', '"timer_cost_s":"x","y":', 2, "timer_cost_s"),
    ("all-pairs", 0, '"hosts":["n0"', '"hosts":3,"x":["n0"', 1, "hosts is of another kind"),
    ("all-pairs", 0, '"cpus_allowed":[0,1]', '"cpus_allowed":"x"', 2, "cpus_allowed"),
    ("all-pairs", 0, '"partner":[', '"partner":["x",', 3, "partner"),
    ("csv", 0, "1.25,1.2", "x,1.2", 3, "latency_us"),
    ("csv", 0, "1024,2", "-1024,2", 4, "message_bytes"),
    ("osu", 0, "493.31", "1e400", 5, "Avg Latency(us)"),
    ("imb", 0, "3.48", "abc", 13, "t_avg[usec]"),
    ("nccl", 0, "160000", "16oooo", 15, "time"),
    ("mpi4py", 0, "2.1737887e-05", "nan", 4, "Time Mean [s]"),
    ("description", 0, "value = 5860", 'value = "x"', 13, "figures.nodes.value"),
    ("description", 0, "year = 2021", "year = ", 3, "machine file"),
    ("matrix", 0, "1 2 70", "1 x 70", 4, "x"),
    ("matrix", 0, "1 2 70", "1 2 1e400", 4, "1e400"),
    ("metis", 0, "9 2 70 3 5", "9 2 -70 3 5", 3, "-70"),
    ("traffic", 0, "70,0,0", "70,x,0", 2, "x"),
    ("mapping", 1, "2,1", "2,x", 4, "node"),
    ("mapping", 1, "2,1", "2,7", 4, "node"),
    ("mapping", 0, "[0,0,1,1]", "[0,0,1,7]", 0, "node"),
    ("mapping", 4, "rank 2=n2", "rank x=n2", 3, "rank"),
    ("validation", 0, '"cutoff": 1', '"cutoff": -1', 0, "rows[0].cutoff"),
    ("validation", 0, '"periodic": [true]', '"periodic": 7', 0, "rows[0].periodic"),
    ("validation", 0, '"message_bytes": 100', '"message_bytes": 1e400', 17, "message_bytes"),
    ("mappings", 0, '"j_sum":4', '"j_sum":"4"', 0, "results[0].j_sum"),
    ("halo", 0, '"dest":1', '"dest":-1', 0, "pairs[0].dest"),
    ("history", 0, '"value":{', '"value":7,"x":{', 1, "value"),
    ("switches", 0, "n[1-2]", "n[1-", 1, "n[1-"),
    ("levels", 0, "l3:4", "l3:-4", 0, "l3:-4"),
    ("hosts", 0, "n[1-3,7]", "n[3-1]", 0, "n[3-1]"),
    ("cpu-list", 0, "8", "x", 0, "x"),
    ("hwloc", 0, 'type="PU" os_index="0"', 'type="PU" os_index="x"', 0, "os_index"),
    ("ledger", 0, '"predicted_s":1e-6', '"predicted_s":"x"', 1, "no record of a ledger"),
    ("lengths", 0, "1e-06, 2e-06]", "1e-06, -1]", 0, "no time"),
    ("trial", 0, "[1.5,1.25]", '[1.5,"x"]', 0, "times_s"),
    ("trace", 0, "12 0.000001 2 1 8 100", "12 x 2 1 8 100", 0, "the trace of SimGrid"),
    (
        "settings",
        0,
        '"OMPI_MCA_coll_tuned_filename"',
        '"LD_PRELOAD"',
        0,
        "variables 'LD_PRELOAD' is no variable of Open MPI, MPICH",
    ),
    ("settings", 0, '"{folder}/tuned.rules"', '"\\u0000"', 0, "variables.OMPI_MCA_coll_tuned_filename is not a printable text"),
    ("settings", 0, '{"tuned.rules"', '{"../x"', 0, "files '../x' is no file of the folder"),
    ("settings", 0, '"schema": 1', '"schema": true', 0, "schema True"),
    ("collective", 0, "11783.98", "1e400", 6, "Avg Latency(us)"),
    ("jobs", 0, '"work":', '"x":', 0, "jobs[0].work is missing"),
    ("jobs", 0, '"nodes":2', '"nodes":-2', 0, "jobs[0]: --nodes"),
]


@pytest.mark.parametrize(("name", "number", "old", "new", "line", "field"), BROKEN)
def test_a_figure_that_cannot_be_is_named(
    name: str, number: int, old: str, new: str, line: int, field: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reader = KNOWN[name]
    text = reader.seeds[number].decode()
    assert old in text
    path = tmp_path / f"input{reader.suffix}"
    path.write_text(text.replace(old, new, 1))
    told = ""
    try:
        reader.read(path)
    except InputError as error:
        assert error.exit_code == EXIT_USAGE
        told = str(error)
    told += capsys.readouterr().err  # a history goes on without a line
    assert field in told, told
    assert not reader.named or path.name in told
    assert not line or f"line {line}" in told, told


@pytest.mark.parametrize("name", [name for name, reader in KNOWN.items() if reader.named])
def test_what_has_no_end_is_refused_and_not_waited_for(name: str, tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / f"input{KNOWN[name].suffix}")
    for path, is_what in ((pipe, "a pipe"), (Path("/dev/zero"), "a device")):
        with pytest.raises(InputError, match=f"{path} is {is_what}: |is no file"):
            KNOWN[name].read(path)


def test_each_reader_of_figures_is_in_the_table() -> None:
    # What ranks write themselves, in bytes, and what Slurm says has no lines for a user.
    assert {name for name, *_ in BROKEN} >= KNOWN.keys() - {"record", "parts", "slurm", "selection", "counted"}


@pytest.mark.parametrize("name", [name for name, reader in KNOWN.items() if reader.suffix in (".json", ".jsonl")])
def test_what_is_nested_without_end_is_no_internal_error(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / f"input{KNOWN[name].suffix}"
    path.write_text("[" * 100_000)
    told = ""
    try:
        KNOWN[name].read(path)
    except InputError as error:
        told = str(error)
    told += capsys.readouterr().err
    assert told and not PYTHONS_OWN.search(told)


def _places(value: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ():
        yield (*at, key)
        yield from _places(inner, (*at, key))


@pytest.mark.parametrize(
    ("name", "number"), [("profile", 0), ("profile", 1), ("validation", 0), ("mappings", 0), ("halo", 0), ("jobs", 0)]
)
def test_any_value_of_another_kind_is_told_with_its_field(name: str, number: int, tmp_path: Path) -> None:
    """A few hundred at each run, drawn again."""
    reader = KNOWN[name]
    whole = json.loads(reader.seeds[number])
    path, places = tmp_path / f"input{reader.suffix}", list(_places(whole))
    for place in random.sample(places, min(len(places), 60)):
        for other in (None, "x", -1.5, [], {}):
            changed = json.loads(reader.seeds[number])
            holder = changed
            for key in place[:-1]:
                holder = holder[key]
            holder[place[-1]] = other
            path.write_text(json.dumps(changed))
            try:
                reader.read(path)
            except InputError as error:
                told = str(error)
                assert not PYTHONS_OWN.search(told), (place, other, told)
                near = {str(key) for key in place if isinstance(key, str)} | set(changed if len(place) == 1 else ())
                assert any(key.rstrip("s").replace("_", "-") in str(error).replace("_", "-") for key in near), (
                    place,
                    other,
                    str(error),
                )
