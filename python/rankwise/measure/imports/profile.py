"""From foreign files to a profile: which format it is, what is the send curve, and what stands beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rankwise.errors import InputError
from rankwise.machine.link import Curve
from rankwise.machine.profile import Link, Profile
from rankwise.machine.shared import Resource, Shared
from rankwise.measure.imports.csv_table import read_csv
from rankwise.measure.imports.imb import read_imb, recognises_imb
from rankwise.measure.imports.osu import read_osu, recognises_osu
from rankwise.measure.imports.table import SEND, Table
from rankwise.measure.samples import now
from rankwise.measure.saturation import FILLED, resource_of, stream_of
from rankwise.models.curve import curve_from_table
from rankwise.units import format_size

_MOST_BYTES = 64 << 20


def import_profile(
    paths: Sequence[Path], link: str, name: str, window: int | None = None, base: Profile | None = None
) -> Profile:
    """Make a profile of tables of one link class, or put them into ``base``.

    The send curve must come from a ping-pong (or be in ``base`` already): what else was counted stands beside it under
    a name of its own. Raises InputError with file, line and mend.
    """
    curves: dict[str, dict[str, Curve]] = {}
    origin: dict[tuple[str, str], Table] = {}
    warnings: list[str] = []
    tables = [table for path in paths for table in read_tables(path, window)]
    for table in tables:
        place = table.link or link
        if first := origin.get((place, table.keeps_as)):
            raise InputError(
                f"{table.path}, line {table.line}: a second table for {place} {table.keeps_as} (the first: {first.path}, "
                f"line {first.line}): import one"
            )
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
                f"{table.path}, line {table.line}: {table.program} is {table.what}, no ping-pong, and {place} has no send "
                "curve yet: name the output of osu_latency or IMB PingPong beside it, or --add it to a profile"
            )
        variants = {**(old.variants if old else {}), **{key: c for key, c in by_name.items() if key != SEND}}
        # Why a model was chosen, and what the processor did beside it, belong to the send curve.
        links[place] = replace(old, variants=variants) if old and SEND not in by_name else Link(by_name[SEND], variants)
    shared = _shared(curves, base.shared if base is not None else Shared())
    records = [table.to_dict(link) for table in tables]
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


def _shared(curves: Mapping[str, Mapping[str, Curve]], known: Shared) -> Shared:
    """Return what is known to be shared with what streams say of it: several pairs at once, or one that goes both ways."""
    found: dict[str, Resource] = {}
    for place, by_name in curves.items():
        streams = {
            stream: {point.size_bytes: point for point in curve.table}
            for name, curve in by_name.items()
            if (stream := stream_of(name, single=True)) is not None
        }
        resource = resource_of(streams)
        kind = FILLED.get(place)
        if resource is None or kind is None:
            continue
        # One pair hardly tells what all share: it counts where that was asked for, or both ways, and nothing better is known.
        old = getattr(known, kind)
        asked = resource.both_ways_bytes_per_s is not None or any(stream_of(name) for name in by_name)
        if resource.most_pairs != 1 or (asked and (old is None or old.most_pairs == 1)):
            found[kind] = resource
    return known.updated_by(Shared(levels=(), **found))


def read_tables(path: Path, window: int | None = None) -> list[Table]:
    """Read all tables of one file, whatever its format. Raises InputError."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputError(f"table {path} is larger than {format_size(_MOST_BYTES)}: give a benchmark's own output")
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise InputError(f"table {path} cannot be read ({error}): give CSV, or output of OSU benchmarks or IMB") from None
    if recognises_osu(lines):
        return read_osu(path, lines, window)
    if recognises_imb(lines):
        return read_imb(path, lines)
    return read_csv(path, lines)
