"""Sentences of the reproduce pages follow their figures: with other figures every claim changes.

The data of each paper are disturbed at random, several times; what the page says in the same words each time stands without its
figures. ``standing/PAPER.txt`` lists these sentences: what the paper says, what a word means, how a figure is made. A claim
does not belong there. ``standing/PAPER.verdicts.txt`` lists the sentences whose verdict no disturbed data turn, though their
figure changes. RANKWISE_WRITE_GOLDEN=1 writes the lists anew.
"""

import dataclasses
import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import schemas
from rankwise.api.reporting import Reproduced
from rankwise.files import json_text
from rankwise.machine.description import Description
from rankwise.machine.library import all_machines, load_machine
from rankwise.models import fft3d
from rankwise.papers import (
    czechowski2012,
    czechowski2012_balance,
    czechowski2012_claims,
    czechowski2012_measured,
    czechowski2012_model,
    fft_since_2012,
    hunold2020,
    hunold2020_claims,
    hunold2020_scores,
    hunold2020_simgrid,
    wagner2024,
    wagner2024_claims,
    werner2023,
    werner2023_claims,
    werner2023_study,
    werner2023_tradeoff,
)
from rankwise.papers.claims import ANY, CANNOT, Claim
from rankwise.papers.hunold2020_scores import published_times
from rankwise.papers.wagner2024_effects import Series
from rankwise.report.reproduction import Reproduction, Section
from rankwise.slurm.script import Settings

# Seeds of each paper's worlds; those of werner2023 take seconds each: three that change as much as ten do.
_WORLDS: Mapping[str, Sequence[int]] = {"werner2023": (1, 3, 5)}
STANDING = Path(__file__).parent / "standing"
Patch = pytest.MonkeyPatch
Random = np.random.Generator


def _factor(random: Random, spread: float = 2.0) -> float:
    return float(np.exp(random.uniform(-np.log(spread), np.log(spread))))


def _sentences(reproduction: Reproduction) -> set[str]:
    def of(section: Section) -> list[str]:
        return [section.title, section.fold or "", *section.paragraphs, *(part.caption for part in section.parts)]

    texts = [*reproduction.answer, *(text for section in reproduction.sections for text in of(section))]
    end = re.compile(r"(?<=[.:])(?<!Eq\.)(?<!Eqs\.) (?=[A-Z'\d])|; ")
    return {sentence for text in texts for sentence in end.split(text) if sentence}


def _werner(patch: Patch, random: Random) -> Reproduction:
    bias, quiet, traffic = (random.choice(of) for of in ([0.6, 1, 1.6], [0.1, 1], [0.5, 10]))
    exact = random.random() < 0.3  # predictions almost right
    rows = [
        dataclasses.replace(
            row, measured_s=row.predicted_s * bias if exact else row.measured_s * _factor(random),
            sigma_s=row.sigma_s * quiet * _factor(random),
            predicted_s=row.predicted_s * bias * _factor(random, 1.02 if exact else 1.1),
        )
        for row in werner2023.published_rows()
    ]  # fmt: skip
    profile = werner2023.ping_pong_profile()
    link = profile.links[werner2023_study.LINK]
    noise, spread, table = _factor(random, 10), random.choice([1, 3]), []
    slow, line = _factor(random), random.random() < 0.3
    for point in link.send.table:
        time_s = point.time_s * (random.uniform(1, spread) if point.size_bytes else 1) * slow
        if line:
            time_s = (2e-6 + 5e-10 * point.size_bytes) * slow
        low_s, high_s = (time_s * (1 + sign * min(0.9, 0.02 * noise)) for sign in (-1, 1))
        table.append(dataclasses.replace(point, time_s=time_s, time_lo_s=low_s, time_hi_s=high_s))
    send = werner2023_study.curve_from_table(tuple(table), "as published")
    profile = dataclasses.replace(profile, links={werner2023_study.LINK: dataclasses.replace(link, send=send)})
    duel = werner2023_tradeoff.duels
    slower = random.choice([0.1, 0.5, 2, 50])

    def duels(*asked: Any) -> list[werner2023_tradeoff.Duel]:
        return [
            dataclasses.replace(one, team=one.team.scaled(slower * one.cutoff ** random.uniform(-1, 1))) for one in duel(*asked)
        ]

    patch.setattr(werner2023_tradeoff, "duels", duels)
    patch.setattr(werner2023, "published_rows", lambda: rows)
    patch.setattr(werner2023, "ping_pong_profile", lambda: profile)
    times = {point.size_bytes: point.time_s for point in table}
    ping_pong = werner2023_study.published_ping_pong()
    ping_pong = [dataclasses.replace(one, latency_s=times[one.message_bytes]) for one in ping_pong]
    patch.setattr(werner2023_study, "published_ping_pong", lambda: ping_pong)
    of, jureca = werner2023.read(), load_machine("jureca")
    limit = dataclasses.replace(jureca.figures["eager_limit"], value=256e3 * _factor(random, 50))
    ranks, layers, axes, members = (int(random.choice(values)) for values in ((64, 63, 48), (1, 2), (1, 1, 2), (1, 1, 4)))
    few = int(random.integers(2, 99))
    of = werner2023_claims.Read(
        of.study, ranks, few, (few, 30), layers, axes, members, jureca.with_figure("eager_limit", limit)
    )
    patch.setattr(werner2023, "read", lambda: of)
    return werner2023.reproduce()


def _wagner(patch: Patch, random: Random) -> Reproduction:
    noise, rate, turned = random.choice([1, 50]), random.choice([0.1, 1]), random.random() < 0.3
    orderly = random.random() < 0.3  # everything rises or falls with distance, as the text has it

    def other(series: Series) -> Series:
        scale = {
            name: by * np.exp(random.uniform(-1, 1, series.sizes.size))
            for name, by in (("latency_s", 1), ("latency_sigma_s", noise), ("bandwidth", rate), ("bandwidth_sigma", noise))
        }
        found = dataclasses.replace(series, **{name: getattr(series, name) * by for name, by in scale.items()})
        return dataclasses.replace(found, latency_sigma_s=found.latency_sigma_s[::-1]) if turned else found

    def few() -> int:
        return int(random.integers(1, 40))

    def ordered(every: Sequence[Series]) -> list[Series]:
        first = every[0]
        return [
            dataclasses.replace(one, latency_s=first.latency_s * (1 + i), bandwidth=first.bandwidth / (1 + i))
            for i, one in enumerate(every)
        ]

    of = wagner2024.tables()
    one, single, ten = other(of.one), [other(series) for series in of.single], [other(series) for series in of.ten]
    if orderly:
        single, ten = ordered(single), ordered(ten)
        steep = one.bandwidth * 0 + 1e6 * np.exp(one.sizes / 2e6)
        one = dataclasses.replace(one, latency_s=one.latency_s * 759e-6 / one.latency_s[-1], bandwidth=steep)
    figures = {name: dataclasses.replace(one, value=one.value * _factor(random)) for name, one in of.described.figures.items()}
    job = Settings(tasks=few(), array=f"1-{few()}" if random.random() < 0.5 else None)
    of = wagner2024_claims.Tables(
        one, single, ten,
        (few(), few(), few(), few()), (few(), few()), dataclasses.replace(of.described, figures=figures), job,
        of.mail_types[: few() // 3], of.levels[: few() // 8],
    )  # fmt: skip
    patch.setattr(wagner2024, "tables", lambda: of)
    return wagner2024.reproduce()


def _other_machine(random: Random, all_of_them: bool = False) -> Callable[[str], Description]:
    by: dict[tuple[str, str], float] = {}
    memory = random.choice([1, 1e3])  # stacked memories faster, in some worlds

    def load(name: str) -> Description:
        machine = load_machine(name)
        for key, figure in machine.figures.items():
            if key in ("links", "devices") or (key in ("nodes", "taper") and not all_of_them):
                continue
            factor = by.setdefault((name, key), _factor(random, 5))
            if key == "memory_bandwidth" and name in czechowski2012_balance.STACKED:
                factor *= memory
            if key == "memory_bandwidth" and name == "hopper":
                factor /= memory
            if key == "cache" and name == "hopper":
                factor /= memory
            scaled = {end: getattr(figure, end) * factor for end in ("value", "low", "high")}
            machine = machine.with_figure(key, dataclasses.replace(figure, **scaled))
        return machine

    return load


def _czechowski(patch: Patch, random: Random) -> Reproduction:
    load = _other_machine(random)
    for module in (czechowski2012_balance, czechowski2012_measured, fft_since_2012):
        patch.setattr(module, "load_machine", load)
    patch.setattr(fft3d, "EFFECTIVE_X", {design: round(x * _factor(random), 1) for design, x in fft3d.EFFECTIVE_X.items()})
    for module in (fft_since_2012,):
        parts = tuple(dataclasses.replace(part, value=part.value * _factor(random, 5)) for part in module.PARTS)
        patch.setattr(module, "PARTS", parts)
        largest = dataclasses.replace(
            module.LARGEST, exchange_s=8.5 * _factor(random), fft_s=(0.2 * _factor(random), 9 * _factor(random)),
            step_s=(4 * _factor(random), 20 * _factor(random)),
        )  # fmt: skip
        patch.setattr(module, "LARGEST", largest)
        patch.setattr(module, "CUFFTMP", dataclasses.replace(module.CUFFTMP, flop_per_s=1.8e15 * _factor(random)))
    wrong, trend = random.choice([1.001, 30]), {}
    kappas = {name: kappa + random.choice([0, 0.6]) for name, kappa in czechowski2012_balance.KAPPAS.items()}
    patch.setattr(czechowski2012_balance, "KAPPAS", kappas)
    for key, row in czechowski2012_model.TREND.items():
        values = {
            design: tuple(dataclasses.replace(end, value=end.value * _factor(random, min(wrong, 2))) for end in ends)
            for design, ends in row.values.items()
        }
        factor = dataclasses.replace(row.factor, value=row.factor.value * _factor(random, wrong))
        trend[key] = dataclasses.replace(row, values=values, factor=factor)
    patch.setattr(czechowski2012_model, "TREND", trend)
    patch.setattr(czechowski2012_model, "TRENDS", tuple(trend.values()))
    counted = [
        {**row, **{name: row[name] * by * _factor(random) for name in ("loads_missed", "flops")}}
        for by in (_factor(random, 4),) for row in czechowski2012_claims.counted_misses()
    ]  # fmt: skip
    few, half = int(random.integers(2, 30)), float(random.uniform(0.1, 0.9))
    numbers = partial(
        czechowski2012_claims.Numbers, counted=counted, anton_points=few, torus=(few, 8, 24), shares=(half, 0.5),
        radix_flops=(5, 5 * half), machines=_other_machine(random, True),
    )  # fmt: skip
    patch.setattr(czechowski2012, "Numbers", numbers)
    machines = [load(machine.name) for machine in all_machines()]
    patch.setattr(fft_since_2012, "all_machines", lambda: machines)
    return czechowski2012.reproduce()


def _hunold(patch: Patch, random: Random) -> Reproduction:
    def scored(instance: hunold2020_scores.Instance) -> hunold2020_scores.Scored:
        names = [*hunold2020_scores.SHOWN, *hunold2020_scores.peers().get(instance, {}), "blocked"]
        scores = {n: (int(bias[n] * least * random.uniform(1, spread)), int(random.integers(20, 90))) for n in names}
        return hunold2020_scores.Scored(instance, scores, int(random.integers(100, 200)))

    least, spread = 200, random.choice([1.1, 2, 4])
    bias = {name: random.choice([1, 1, 3]) for name in hunold2020_scores.SHOWN}
    flat, viem, blocked = random.random() < 0.4, random.choice([0.5, 3]), random.choice([1, 1, 2, 4, 10, 45])

    by = _factor(random, 5)

    def time_of(time: hunold2020_scores.PublishedTime) -> float:
        slow = {"viem": viem, "blocked": blocked}.get(time.mapping, 1)
        if flat or blocked > 1:
            return 1e-6 * time.message_bytes * _factor(random, 1.01) * slow
        return time.time_s * _factor(random, max(by, 1.01)) * slow

    times = tuple(dataclasses.replace(time, time_s=time_of(time)) for time in published_times())
    seconds = {name: [1e-3 * _factor(random, 50)] * 3 for name in hunold2020_scores.INSTANTIATED}
    kept = [
        dataclasses.replace(time, time_s=time.time_s * _factor(random, 20))
        for time in hunold2020_simgrid.kept()
        if time.message_bytes > 4096 or random.random() < 0.9
    ]
    whole = len(kept) if random.random() < 0.5 else 588
    patch.setattr(hunold2020_scores, "scored", scored)
    patch.setattr(hunold2020_scores, "published_times", lambda: times)
    for module in (hunold2020, hunold2020_simgrid):
        patch.setattr(module, "kept", lambda: kept)
    patch.setattr(hunold2020_simgrid, "whole", lambda: whole)
    patch.setattr(hunold2020_scores, "instantiation", lambda: seconds)
    every, last = hunold2020_scores.instances(), int(random.choice([25, 28, 31]))
    patch.setattr(hunold2020_scores, "instances", lambda: [one for one in every if one.nodes <= last])
    ours = {name: 1e-5 * _factor(random, 5) * random.choice([1, 20000]) for name in hunold2020_claims.instantiated()}
    load = _other_machine(random, True)
    machines = {name: load(listed) for name, listed in hunold2020_claims.LISTED.items()}
    more = {"axes": int(random.choice([2, 3])), "primes": [2, int(random.choice([1, 3, 5]))]}
    lists = {"parts": random.integers(1, 9, 6).tolist(), "nodes": [5] * int(random.integers(1, 4))}
    call = str(random.choice(["MPIX_Cart_stencil_comm", "MPI_Cart_create"]))
    evidence = partial(hunold2020_claims.Evidence, seconds=ours, machines=machines, call=call, **more, **lists)
    patch.setattr(hunold2020, "Evidence", evidence)
    return hunold2020.reproduce()


PAPERS: Mapping[str, Callable[[Patch, Random], Reproduction]] = {
    "werner2023": _werner, "wagner2024": _wagner, "czechowski2012": _czechowski, "hunold2020": _hunold,
}  # fmt: skip
CLAIMS: Mapping[str, Sequence[Claim[Any]]] = {
    "wagner2024": wagner2024_claims.CLAIMS, "werner2023": werner2023_claims.CLAIMS,
    "hunold2020": hunold2020_claims.CLAIMS,
    "czechowski2012": czechowski2012_claims.CLAIMS,
}  # fmt: skip


def _forget() -> None:
    """Clear what the papers' modules keep of figures that they have read."""
    for name, module in list(sys.modules.items()):
        if name.startswith("rankwise.papers"):
            for kept in vars(module).values():
                getattr(kept, "cache_clear", lambda: None)()


@cache
def worlds(paper: str) -> list[Reproduction]:
    """The paper redone with its data disturbed, several times."""
    found = []
    for seed in _WORLDS.get(paper, range(10)):
        _forget()
        with pytest.MonkeyPatch.context() as patch:
            found.append(PAPERS[paper](patch, np.random.default_rng(seed)))
    _forget()
    return found


def _compare(name: str, lines: Sequence[str]) -> None:
    """Hold lines against those of ``standing``."""
    path, text = STANDING / f"{name}.txt", "".join(f"{line}\n" for line in lines)
    if os.environ.get("RANKWISE_WRITE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("paper", PAPERS)
def test_what_stands_without_its_figures_is_no_claim(paper: str) -> None:
    _compare(paper, sorted(set.intersection(*map(_sentences, worlds(paper)))))


@pytest.mark.parametrize("paper", PAPERS)
def test_what_is_printed_has_its_schema(redone: Callable[[str], Reproduction], paper: str) -> None:
    schemas.check(f"reproduce-{paper}", json.loads(json_text(Reproduced(redone(paper), []).to_dict())))


@pytest.mark.parametrize("paper", PAPERS)
def test_every_verdict_follows_from_the_data(redone: Callable[[str], Reproduction], paper: str) -> None:
    """With other data every figure changes, and verdicts with them; those that no world turns are listed."""
    unturned = []
    for i, claim in enumerate(CLAIMS[paper]):
        found = [one.claims[i] for one in (*worlds(paper), redone(paper))]
        if claim.ours is None:
            assert all(one.verdict == CANNOT and one.figures for one in found), claim.says
            continue
        assert len({(one.ours, one.figures) for one in found}) > 1, f"{claim.where}, {claim.says}: always {found[0].figures}"
        if claim.allowed != ANY and len({one.verdict for one in found}) == 1:
            unturned.append(f"{found[0].verdict}: {claim.where}: {claim.says}")
    assert len(unturned) < len(CLAIMS[paper]) / 4
    _compare(f"{paper}.verdicts", unturned)
