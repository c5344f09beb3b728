"""From foreign files to a profile: which format it is, what is the send curve, and what stands next to it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.distributions import t_quantile
from rankwise.errors import InputError, unreadable
from rankwise.files import plain
from rankwise.machine.link import LEAST_SIZES, Curve, Point
from rankwise.machine.profile import LINK_CLASSES, Link, Profile
from rankwise.machine.shared import Shared
from rankwise.measure.imports import imb, mpi4py_bench, nccl, osu
from rankwise.measure.imports.csv_table import read_csv
from rankwise.measure.imports.table import SEND, Table, find_ranks, have, link_between
from rankwise.measure.samples import now
from rankwise.measure.saturation import FILLED, resource_of, stream_of, streams_in
from rankwise.models.curve import curve_from_table
from rankwise.reading import reading
from rankwise.units import format_size

_MOST_BYTES = 64 << 20
_READERS = (
    (imb.SIGNS, imb.read_imb), (nccl.SIGNS, nccl.read_nccl), (mpi4py_bench.SIGNS, mpi4py_bench.read_mpi4py),
)  # fmt: skip
_APART = 1.5  # runs of one link differ less, in the median over sizes


def import_profile(
    paths: Sequence[Path], link: str | None, name: str, window: int | None = None, base: Profile | None = None
) -> Profile:
    """Make a profile of tables of one link class (None: as each file tells it), or put them into ``base``.

    Several tables of one kind, of several runs, become one: the means of the runs, their intervals from the runs' real spread.
    The send curve must come from a ping-pong (or be in ``base`` already): what else was counted stands next to it under
    a name of its own. Raises InputError with file, line and fix.
    """
    curves: dict[str, dict[str, Curve]] = {}
    origin: dict[tuple[str, str], Table] = {}
    warnings: list[str] = []
    kinds: dict[tuple[str, str], list[Table]] = {}
    if twice := [str(path) for path in paths if list(map(Path.absolute, paths)).count(path.absolute()) > 1]:
        raise InputError(f"{twice[0]} is named twice: name each run once")
    read = [table for path in paths for table in read_tables(path, window)]
    for table in read:
        kinds.setdefault((_place_of(table, link, warnings), table.keeps_as), []).append(table)
    for (place, _), runs in kinds.items():
        table = runs[0] if len(runs) == 1 else _together(runs, place, warnings)
        origin[place, table.keeps_as] = table
        curve = curve_from_table(table.points, table.statistic)
        curves.setdefault(place, {})[table.keeps_as] = curve
        warnings += table.notes
        if table.keeps_as == SEND and table.points[0].size_bytes > 0:
            reason = " (OSU 7 skips it)" if table.program.startswith("osu_") else ""
            warnings.append(
                f"{table.path.name} has no 0 B row{reason}: alpha of {place} is not measured but the {curve.alpha_method}"
            )
        if any(b.time_s < a.time_s / 2 for a, b in zip(table.points, table.points[1:], strict=False)):
            warnings.append(
                f"{table.path.name}: the time halves from one size to the next larger one, so the machine was busy meanwhile: "
                "measure again, with more repetitions"
            )
    links = dict(base.links) if base is not None else {}
    for place, by_name in curves.items():
        old = links.get(place)
        if SEND not in by_name and old is None:
            table = origin[place, next(iter(by_name))]
            raise InputError(
                f"{table.path}, line {table.line}: {table.program} is {table.what}, and {place} has no ping-pong of hosts "
                "yet: name the output of osu_latency or IMB PingPong as well, or --add it to a profile"
            )
        variants = {**(old.variants if old else {}), **{key: c for key, c in by_name.items() if key != SEND}}
        # Why a model was chosen, and what the processor did meanwhile, belong to the send curve.
        links[place] = replace(old, variants=variants) if old and SEND not in by_name else Link(by_name[SEND], variants)
    shared = _shared(curves, base.shared if base is not None else Shared())
    records = [table.to_dict(place) for (place, _), runs in kinds.items() for table in runs]
    if base is not None:
        source = {**base.source, "imports": [*base.source.get("imports", []), *records]}
        return replace(
            base,
            links=links,
            created=now(),
            source=source,
            warnings=tuple(dict.fromkeys([*base.warnings, *warnings])),
            shared=shared,
        )
    return Profile(
        machine={"hostname": name},
        links=links,
        created=now(),
        source={"kind": "imported", "table": paths[0].name, "imports": records},
        warnings=tuple(dict.fromkeys(warnings)),
        shared=shared,
    )


def _place_of(table: Table, link: str | None, warnings: list[str]) -> str:
    """Return a table's link class: its own, the one that is asked for, or the one that the file tells. Raises InputError."""
    if table.link or (link and (table.told is None or table.told == link)):
        return table.link or link or ""
    if link:
        warnings.append(
            f"{table.path.name} was imported as {link}, but by the map in it the ranks were {table.told} to each other"
        )
        return link
    if table.told is None:
        raise InputError(
            f"{table.path} does not say between whom it was measured (no job map of Open MPI, no names of hosts): add --link "
            f"{', '.join(LINK_CLASSES[:-1])} or {LINK_CLASSES[-1]}"
        )
    return table.told


def _together(runs: Sequence[Table], place: str, warnings: list[str]) -> Table:
    """Return one table of several runs': means at the sizes that all have, with 95 % intervals by Student's t."""
    first, count = runs[0], len(runs)
    named = ", ".join(f"{run.path.name} line {run.line}" for run in runs)
    by_size = [{point.size_bytes: point for point in run.points} for run in runs]
    common = sorted(set.intersection(*(set(points) for points in by_size)))
    if len(common) < LEAST_SIZES:
        raise InputError(
            f"{first.path}, line {first.line}: {count} tables for {place} {first.keeps_as} ({named}) have {len(common)} "
            "size(s) in common: import runs of the same sizes, or one"
        )
    times_s = np.array([[points[size].time_s for size in common] for points in by_size])
    means_s, factor = times_s.mean(axis=0), t_quantile(0.975, count - 1) / math.sqrt(count)
    half_s = factor * times_s.std(axis=0, ddof=1)
    left_out = sum(len(points) for points in by_size) - count * len(common)
    warnings.append(
        f"{place} {first.keeps_as} is the mean of {count} runs ({named}), its intervals are of their spread"
        + (f"; {left_out} row(s) that not all of them have are left out" if left_out else "")
    )
    apart = np.median(times_s, axis=1)
    if (ratio := float(np.median(times_s / times_s.min(axis=0), axis=1).max())) > _APART:
        slowest = runs[int(np.argmax(apart))].path.name
        warnings.append(
            f"{slowest} takes {ratio:.1f} times as long as another run, half of the sizes or more: was it the same link? If "
            "not, import it apart with its own --link"
        )
    points = tuple(
        Point(size, float(mean), max(0.0, float(mean - half)), float(mean + half), sum(p[size].samples for p in by_size))
        for size, mean, half in zip(common, means_s, half_s, strict=True)
    )
    notes = tuple(dict.fromkeys(note for run in runs for note in run.notes))
    return replace(first, points=points, notes=notes)


def _shared(curves: Mapping[str, Mapping[str, Curve]], known: Shared) -> Shared:
    """Return what is known to be shared with what streams say of it: several pairs at once, or one that goes both ways."""
    found: dict[str, Any] = {}
    for place, by_name in curves.items():
        resource = resource_of(streams_in({name: curve.table for name, curve in by_name.items()}, single=True))
        kind = FILLED.get(place)
        if resource is None or kind is None:
            continue
        # One pair hardly tells what all share: it counts where that was asked for, or both ways, and nothing better is known.
        old = getattr(known, kind)
        asked = resource.both_ways_bytes_per_s is not None or any(stream_of(name) for name in by_name)
        if resource.most_pairs != 1 or (asked and (old is None or old.most_pairs == 1)):
            found[kind] = resource
    return replace(known, **found)


def read_tables(path: Path, window: int | None = None) -> list[Table]:
    """Read all tables of one file, whatever its format. Raises InputError."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputError(f"table {path} is larger than {format_size(_MOST_BYTES)}: give a benchmark's own output")
        lines = plain(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise InputError(
            f"table {path} {unreadable(error)}: give CSV, or output of OSU benchmarks, IMB, nccl-tests or mpi4py.bench"
        ) from None
    with reading(f"table {path}", "give the benchmark's output as it was written"):
        return _tables_in(path, lines, window)


def _tables_in(path: Path, lines: list[str], window: int | None) -> list[Table]:
    if have(lines, osu.SIGNS):
        tables, neighbours = osu.read_osu(path, lines, window), False
    elif (read := next((read for signs, read in _READERS if have(lines, signs)), None)) is not None:
        tables, neighbours = read(path, lines), True
    else:
        return read_csv(path, lines)
    told = link_between(find_ranks(lines), neighbours)
    return [replace(table, told=told) for table in tables]
