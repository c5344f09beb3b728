"""From raw samples to a profile: tables per link class and mode, their models, the machine's record.

What a measurement measures besides the ways of sending that models are fitted to: the parts of a message one by one, streams,
collectives, the link under load.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.arrays import Floats
from rankwise.errors import InputError
from rankwise.machine.link import LEAST_SIZES, Curve, Parameter, Point
from rankwise.machine.profile import LINK_CLASSES, OTHER_NODE, VARIANTS, Loaded, Profile, Spread
from rankwise.machine.shared import Resource, Shared
from rankwise.measure.cells import SMALLEST_TIME_S, Cells, cells_of, log_medians, timer_cost_s, ways_of
from rankwise.measure.imports import read_tables
from rankwise.measure.imports.table import SEND, Table
from rankwise.measure.places import Places
from rankwise.measure.samples import Campaign, now
from rankwise.measure.saturation import FILLED, Stream, resource_of, stream_of, streams_in, with_exchange
from rankwise.measure.trust import judge
from rankwise.measure.workloads import LOADED, ring_of
from rankwise.models import hockney, pchip, piecewise
from rankwise.models.curve import curve_of, limited
from rankwise.models.measured import LEAST_NOISE, Way
from rankwise.models.selection import METHODS, MODELS, fit_link
from rankwise.reading import reading
from rankwise.records import Interval
from rankwise.statistics import NORMAL_PER_MAD, STATISTICS, Deviations

_ALONE = re.compile(r"bandwidth-|alltoall-")
_LIMITS = {  # parameters, and what kernels call them
    "send_returns_up_to_bytes": "send_returns_up_to_bytes",
    "head_to_head_up_to_bytes": "head_to_head_up_to_bytes",
    "limits_tried_up_to_bytes": "largest_tried_bytes",
}
ONE_TO_ALL = "one-to-all"
_LEAST_SESSIONS = 3  # whose medians tell the machine's drift


def curve_alone(way: Way, statistic: str) -> Curve:
    """Make the curve of one way of sending by itself."""
    models = {model.name: model for model in (hockney.fit(way), piecewise.fit(way), pchip.fit(way))}
    return curve_of(way, models, pchip.NAME, statistic)


def variants_of(ways: Mapping[str, Way], statistic: str) -> dict[str, Curve]:
    """Return curves of streams, collectives and one-to-all; all as the time of one message (or collective)."""
    return {name: curve_alone(way, statistic) for name, way in ways.items() if _ALONE.match(name) or name == ONE_TO_ALL}


def parameters_of(ways: Mapping[str, Way], campaign: Campaign, link: str) -> dict[str, Parameter]:
    """Return what is measured directly: LogGP's parts of a small message, overlap, protocol limits."""
    found: dict[str, Parameter] = {}
    if {"send", "send-overhead", "receive-overhead"} <= ways.keys():
        send, receive, whole = (_first_row(ways[name]) for name in ("send-overhead", "receive-overhead", "send"))
        deviations = ways["send"].deviations
        found["send_overhead_s"], found["receive_overhead_s"] = _parameter(*send, deviations), _parameter(*receive, deviations)
        latency = whole[0] - send[0] - receive[0], whole[1] - send[1] - receive[1]
        found["latency_s"] = _parameter(*latency, deviations, linear=True)
    if "gap" in ways:
        found["gap_s"] = _parameter(*_first_row(ways["gap"]), ways["gap"].deviations)
    if {"send", "exchange"} <= ways.keys() and (
        common := set(ways["send"].sizes.tolist()) & set(ways["exchange"].sizes.tolist())
    ):
        found["overlap"] = _overlap(ways["send"], ways["exchange"], max(common))
    return found | limits_of([record for record in campaign.limits if record["class"] == link])


def limits_of(records: Sequence[Mapping[str, Any]]) -> dict[str, Parameter]:
    """Return a link's protocol limits, the median of those found, with their range."""
    found = {}
    for name, key in _LIMITS.items():
        if sizes := sorted(float(record[key]) for record in records if key in record):
            found[name] = Parameter(sizes[len(sizes) // 2], (sizes[0], sizes[-1]))
    return found


def spread_of(cells: Cells, sessions: Sequence[Cells] = (), statistic: str = "median") -> Spread | None:
    """Return how much plain sends differ between launches, within them and between sessions; None where there are none."""
    between, within = [], []
    for by_launch in cells.get("send", {}).values():
        launches = list(by_launch.values())
        medians = np.array([np.median(launch) for launch in launches])
        if medians.size > 1:
            between.append(float(medians.std(ddof=1) / medians.mean()))
        deviations = [np.median(np.abs(launch - median)) / median for launch, median in zip(launches, medians, strict=True)]
        within.append(float(NORMAL_PER_MAD * np.mean(deviations)))
    if not within:
        return None
    return Spread(
        float(np.median(between)) if between else None,
        float(np.median(within)),
        _between_sessions([cells, *sessions], statistic),
    )


def _between_sessions(sessions: Sequence[Cells], statistic: str) -> float | None:
    """Return the standard deviation of sessions' common logarithm of plain sends; None for fewer than three."""
    sends = [session["send"] for session in sessions if session.get("send")]
    common = set.intersection(*(set(send) for send in sends)) if sends else set()
    if len(sends) < _LEAST_SESSIONS or not common:
        return None
    means = [float(np.mean([log_medians(send[size], statistic).mean() for size in sorted(common)])) for send in sends]
    return float(np.std(means, ddof=1))


def loaded_of(ways: Mapping[str, Way], free: Curve, campaign: Campaign, link: str, statistic: str) -> Loaded | None:
    """Return alpha and beta under load against the free ones, or None where no load was put on the link."""
    if LOADED not in ways:
        return None
    curve = curve_alone(ways[LOADED], statistic)
    pairs = max(int(s["load_pairs"]) for s in campaign.samples if s["class"] == link and s["operation"] == LOADED)
    return Loaded(
        alpha_s=curve.alpha_s,
        beta_s_per_byte=curve.beta_s_per_byte,
        alpha_ci_s=curve.alpha_ci_s,
        beta_ci_s_per_byte=curve.beta_ci_s_per_byte,
        pairs=pairs,
        alpha_ratio=curve.alpha_s / free.alpha_s,
        beta_ratio=curve.beta_s_per_byte / free.beta_s_per_byte if free.beta_s_per_byte > 0 else None,
        alpha_ratio_ci=_ratio(curve.alpha_s, curve.alpha_ci_s, free.alpha_s, free.alpha_ci_s),
        beta_ratio_ci=_ratio(curve.beta_s_per_byte, curve.beta_ci_s_per_byte, free.beta_s_per_byte, free.beta_ci_s_per_byte),
    )


Row = tuple[float, Floats]  # a value, and with one launch left out and so on


def _parameter(value: float, refits: Floats, deviations: Deviations, linear: bool = False) -> Parameter:
    return Parameter(float(value), deviations.interval(float(value), refits, linear))


def _first_row(way: Way) -> Row:
    return float(way.times_s[0]), way.columns_s[0]


def _overlap(send: Way, exchange: Way, size: float) -> Parameter:
    """Return how far both directions overlap at a size, the largest common one: 1 fully, 0 one after the other."""
    one, both = int(np.flatnonzero(send.sizes == size)[0]), int(np.flatnonzero(exchange.sizes == size)[0])
    return _parameter(
        2 - float(exchange.times_s[both] / send.times_s[one]), 2 - exchange.columns_s[both] / send.columns_s[one],
        send.deviations, linear=True,
    )  # fmt: skip


def _ratio(a: float, a_ci: Interval | None, b: float, b_ci: Interval | None) -> Interval | None:
    """Return the 95 % interval of a / b from those of two independent positive figures, errors being relative ones."""
    if a_ci is None or b_ci is None or min(a, b, a_ci[0], b_ci[0]) <= 0:
        return None
    low = np.hypot(np.log(a / a_ci[0]), np.log(b_ci[1] / b))
    high = np.hypot(np.log(a_ci[1] / a), np.log(b / b_ci[0]))
    return float(a / b * np.exp(-low)), float(a / b * np.exp(high))


_MOST_ROWS = 64  # of an imported table whose rows' own spread counts
_TABLE_NOISE = 0.02  # relative, of a row in a table that says nothing of its spread


def fit_table(path: Path, link: str, model: str, method: str) -> Profile:
    """Fit a file that 'profile import' reads, ``link`` where it names no link class. Raises InputError.

    Ways of sending that the models do not know (a bandwidth, a ring) are left aside, with a warning.
    """
    _require_names(model, method)
    if link not in LINK_CLASSES:
        raise InputError(f"link class '{link}' is unknown: choose one of {', '.join(LINK_CLASSES)}")
    tables = read_tables(path)
    by_link: dict[str, dict[str, Table]] = {}
    for table in tables:
        ways = by_link.setdefault(table.link or link, {})
        if ways.setdefault(table.keeps_as, table) is not table:
            raise InputError(f"{path}, line {table.line}: a second table for {table.link or link} {table.keeps_as}: fit one")
    links, aside = {}, dict[str, None]()
    for name, ways in by_link.items():
        if SEND not in ways:
            raise InputError(f"table {path} has no ping-pong of {name}: a model needs one, give sending {SEND}")
        aside |= dict.fromkeys(way for way in ways if way not in (SEND, *VARIANTS))
        measured = {way: _way_of(table) for way, table in ways.items() if way in (SEND, *VARIANTS)}
        with reading(f"table {path}: {name}", "correct the lines of its largest and smallest figures"):
            links[name] = fit_link(measured, ways[SEND].statistic, model, method)
    left_aside = f"{path.name}: {', '.join(aside)} left aside: no link model knows it"
    return Profile(
        machine={"hostname": path.stem},
        links=links,
        created=now(),
        source={
            "kind": "imported",
            "table": path.name,
            "imports": [table.to_dict(link) for table in tables],
            "model": model,
            "method": method,
        },
        warnings=(*(note for table in tables for note in table.notes), *((left_aside,) if aside else ())),
    )


def _way_of(table: Table) -> Way:
    """Return a table whose columns each move one row by its own standard error, where it says that."""
    times_s = np.array([point.time_s for point in table.points])
    sizes = np.array([point.size_bytes for point in table.points], dtype=np.float64)
    samples = tuple(point.samples for point in table.points)
    widths = [point.log_half_width for point in table.points]
    if None in widths:
        return Way(sizes, times_s, samples, np.empty((sizes.size, 0)), noise=_TABLE_NOISE)
    errors = np.array(widths, dtype=np.float64) / 1.96
    columns = np.zeros((sizes.size, _MOST_ROWS))
    np.fill_diagonal(columns, errors)
    noise = max(LEAST_NOISE, float(np.median(errors)))
    return Way(sizes, times_s, samples, times_s[:, None] * np.exp(columns), Deviations(rows=_MOST_ROWS), noise)


def profile_from_campaign(
    campaign: Campaign,
    samples_path: Path,
    statistic: str = "median",
    warnings: tuple[str, ...] = (),
    model: str = "auto",
    method: str = "regression",
    history: Sequence[Campaign] = (),
) -> Profile:
    """Fit everything that a measurement has samples for; earlier measurements tell how much launches differ on this machine.

    Raises InputError when there is too little or it makes no sense.
    """
    if statistic not in STATISTICS:
        raise InputError(f"statistic '{statistic}' is unknown: choose one of {', '.join(STATISTICS)}")
    _require_names(model, method)
    cost_s, trust = timer_cost_s(campaign), judge([campaign])
    in_burst = max((int(sample["messages"]) for sample in campaign.samples if sample["operation"] == "burst"), default=2)
    links, left_out, shared = {}, [], dict[str, Resource]()
    unfit: list[str] = []  # link classes, and why
    for name in dict.fromkeys(str(sample["class"]) for sample in campaign.samples):
        cells = cells_of(campaign, name, cost_s)
        if len(cells.get(SEND, {})) < LEAST_SIZES:
            fix = "measure again with more --seconds or --sizes" if campaign.complete else "measure on with --resume"
            unfit.append(f"{len(cells.get(SEND, {}))} size(s) of {name}: a model needs at least {LEAST_SIZES}; {fix}")
            continue
        sessions = [cells_of(earlier, name, timer_cost_s(earlier)) for earlier in history]
        tables = _tables(cells, in_burst, statistic, sessions)
        ways = {operation: table for operation, table in tables.items() if table.sizes.size >= LEAST_SIZES}
        left_out += [
            f"{name}: {operation} was sampled at {len(by_size)} size(s) only and is left out: give it more --seconds"
            for operation, by_size in cells.items()
            if len(by_size) < LEAST_SIZES and stream_of(operation) is None and ring_of(operation) is None
        ]
        streams = streams_in({operation: table.points() for operation, table in tables.items()})
        shared |= _filled(campaign, name, streams)
        together = resource_of(streams)
        at_most = Parameter(together.bytes_per_s, together.ci) if together and together.most_pairs != 1 else None
        fitted = {way: ways[way] for way in (SEND, *VARIANTS) if way in ways}
        try:
            link = fit_link(fitted, statistic, model, method, at_most)
        except ValueError as error:
            unfit.append(f"samples of {name} that no model fits: {error}")
            continue
        if name == OTHER_NODE and (card := shared.get("card")) is not None:
            rings = {ring: table for name, table in tables.items() if (ring := ring_of(name)) is not None}
            card = shared["card"] = with_exchange(card, rings, tables[SEND])
            rate = Parameter(card.bytes_per_s, card.ci)
            link = replace(
                link, send=limited(link.send, rate), variants={way: limited(c, rate) for way, c in link.variants.items()}
            )
        links[name] = replace(
            link,
            variants={**link.variants, **variants_of(ways, statistic)},
            reference_loop_s=float(np.median(loops)) if (loops := campaign.reference_loops_s(name)) else None,
            parameters=parameters_of(ways, campaign, name),
            loaded=loaded_of(ways, link.send, campaign, name, statistic),
            spread=spread_of(cells, sessions, statistic),
        )
    if not links:
        grave = max(
            (reason for reason in trust.reasons if reason.severity >= 1), key=lambda reason: reason.severity, default=None
        )
        raise InputError(
            f"samples {samples_path} hold {unfit[0] if unfit else 'no sample yet: measure on with --resume'}"
            + (f"; {grave.words}" if grave else "")
        )
    left_out += [f"left out: {words}" for words in unfit]
    return Profile(
        machine=campaign.machine,
        links=links,
        created=now(),
        source={
            "kind": "measured",
            "samples_file": samples_path.name,
            "campaign": campaign.id,
            "measured": campaign.head["created"],
            "campaigns": [
                {
                    "id": campaign.id,
                    "kind": campaign.kind,
                    "created": campaign.head["created"],
                    "launches": len({int(sample["launch"]) for sample in campaign.samples}),
                    "level": trust.level,
                }
            ],
            "timer_cost_s": cost_s,
            "statistic": statistic,
            **campaign.stop,
            "model": model,
            "method": method,
        },
        warnings=(*warnings, *left_out),
        shared=Shared(levels=(), **shared),
        trust=trust,
    )


def _filled(campaign: Campaign, link: str, streams: Mapping[Stream, Mapping[int, Point]]) -> dict[str, Resource]:
    """Return by kind the resources that so many pairs of a link class fill."""
    record = campaign.plan.get("places", {}).get(link)
    places = None if record is None else Places.from_dict(record, f"plan.places.{link}")
    kinds: dict[str, dict[Stream, Mapping[int, Point]]] = {}
    for stream, by_size in streams.items():
        kind = (places.resource_of(stream.pairs) if places is not None else None) or FILLED.get(link)
        if kind is not None:
            kinds.setdefault(kind, {})[stream] = by_size
    return {kind: resource for kind, some in kinds.items() if (resource := resource_of(some)) is not None}


def _require_names(model: str, method: str) -> None:
    if model != "auto" and model not in MODELS:
        raise InputError(f"link model '{model}' is unknown: choose one of {', '.join(('auto', *MODELS))}")
    if method not in METHODS:
        raise InputError(f"method '{method}' is unknown: choose one of {', '.join(METHODS)}")


def _tables(cells: Cells, messages_in_burst: int, statistic: str, sessions: Sequence[Cells]) -> dict[str, Way]:
    """Return the tables of all operations; bursts as what each further message in flight costs."""
    peers = _one_to_all(cells)
    tables = {**ways_of(cells, statistic, sessions), **ways_of(peers, statistic)}
    burst, exchange = tables.pop("burst", None), tables.get("exchange")
    if burst is not None and exchange is not None:
        tables["exchange-gap"] = _gap(exchange, burst, messages_in_burst)
    return tables


def _one_to_all(cells: Cells) -> Cells:
    """Put the peers of a one-to-all ping-pong together: each is a launch of its own, as far as spread goes."""
    peers = [by_size for operation, by_size in cells.items() if operation.startswith(f"{ONE_TO_ALL}-peer-")]
    pooled: dict[int, dict[int, Floats]] = {}
    for i, by_size in enumerate(peers):
        for size, by_launch in by_size.items():
            pooled.setdefault(size, {}).update({launch * len(peers) + i: times_s for launch, times_s in by_launch.items()})
    return {ONE_TO_ALL: pooled} if pooled else {}


def _gap(exchange: Way, burst: Way, messages: int) -> Way:
    """Return what each further message in flight costs: (burst - exchange) / (messages - 1), where it is positive."""
    both = np.intersect1d(exchange.sizes, burst.sizes)
    x, y = np.isin(exchange.sizes, both), np.isin(burst.sizes, both)
    gaps_s = (burst.times_s[y] - exchange.times_s[x]) / (messages - 1)
    columns_s = (burst.columns_s[y] - exchange.columns_s[x]) / (messages - 1)
    seen = gaps_s > 0  # the others are lost in the noise: the neighbouring sizes answer for them
    samples = tuple(np.array(burst.samples)[y][seen].tolist())
    noise = max(exchange.noise, burst.noise)
    return Way(
        both[seen], gaps_s[seen], samples, np.maximum(columns_s[seen], SMALLEST_TIME_S), burst.deviations, noise, linear=True
    )
