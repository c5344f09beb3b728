"""Every numbered equation, table, figure and stated future work of the four papers: the command, the result, the verdict.

``docs/papers.md`` is made from this and from the reproductions; a test makes it anew and compares. Results are computed from
the records of the reproductions wherever they have figures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rankwise.papers.claims import Tally, Verdict, summary

REPRODUCED, DIFFERS, CANNOT, ELSEWHERE = "reproduced", "differs", "cannot be done", "done here"
Record = Mapping[str, Any]
Result = Callable[[Record], tuple[str, str]]  # the result in words, and the verdict with its reason


@dataclass(frozen=True)
class Item:
    """One numbered thing of a paper."""

    paper: str
    number: str
    what: str
    command: str
    result: Result


def _said(result: str, verdict: str) -> Result:
    return lambda record: (result, verdict)


def _if(holds: bool, why: str) -> str:
    return REPRODUCED if holds else f"{DIFFERS}: {why}"


W, A, H, C = "werner2023", "wagner2024", "hunold2020", "czechowski2012"
_CZECHOWSKI = f"`rankwise reproduce {C}`"


def _prediction(number: int) -> Result:
    def result(record: Record) -> tuple[str, str]:
        rows = record["predictions"][number - 1]["figures"]
        literal, effective = (Tally(rows, f"{name}_within_5_percent") for name in ("literal", "paper_effective"))
        words = f"{literal} figures within 5 % by the text, {effective.held} by the memory term that the figures imply"
        return words, _if(not literal.wrong, "the text and its figures contradict each other")

    return result


def _figure6(record: Record) -> tuple[str, str]:
    trends = Tally(record["figure6_statements"], "trend_agrees")
    return f"{trends} trends as the text says", _if(not trends.wrong, "trends")


def _table1(record: Record) -> tuple[str, str]:
    slips = record["table1"]["slips"]
    return f"{len(record['table1']['cells'])} cells recomputed", _if(
        not slips, f"{len(slips)} figures do not follow from each other"
    )


def _sensitivity(record: Record) -> tuple[str, str]:
    grown = record["balance"]["sensitivity_to_twice_the_node_peak"]
    told = ", ".join(f"{name} x {value:.2f}" for name, value in grown.items())
    values = list(grown.values())
    return f"nodes twice as fast at the same peak: {told}", _if(values[0] == max(values), "T_mem is not the most sensitive")


def _stacked(record: Record) -> tuple[str, str]:
    known = [one for one in record["balance"]["balance"] if one["excess"] is not None]
    beyond = sum(one["excess"] > 1 for one in known)
    return (
        f"{beyond} of {len(known)} machines with a known cache are beyond it",
        f"{ELSEWHERE}, with the constants of Eq. 1 and 2",
    )


def _measured(record: Record) -> tuple[str, str]:
    told = Tally(record["measured"]["statements"], "literal_agrees")
    words = f"{told} things that are said of them follow from the equations; the times are printed nowhere"
    return words, _if(not told.wrong, "the rest does not follow from the equations")


def items() -> list[Item]:
    """All numbered things, in the order of the papers."""
    fft = "`rankwise project fft3d`"
    return [
        Item(C, "Eqs. 1 to 5", "flops, memory, network", fft, _said("each term by name",
             f"{REPRODUCED}; Eq. 5's constant is eight times what is needed")),
        Item(C, "Eqs. 6, 7", "both at a given peak", _CZECHOWSKI, _sensitivity),
        Item(C, "Eqs. 8, 9", "shuffle and I/O bus", "`rankwise project fft3d --artifacts`", _said("counted when asked for",
             REPRODUCED)),
        Item(C, "Eq. 10, Figure 6", "T_mem / T_net over the years", _CZECHOWSKI, _figure6),
        Item(C, "Eq. 11", "balance with stacked memory", _CZECHOWSKI, _stacked),
        Item(C, "Table 1", "trends", "`rankwise project table`", _table1),
        Item(C, "Figure 1", "pencils", "`rankwise run fft3d`", _said("the same transposes, run and checked", REPRODUCED)),
        Item(C, "Figures 2 to 4", "P3DFFT on Hopper, DiGPUFFT on Keeneland", _CZECHOWSKI, _measured),
        *(Item(C, f"Prediction {number}" + (", Figure 5" if number == 2 else ""), what, _CZECHOWSKI, _prediction(number))
          for number, what in ((1, "0.08 % of peak"), (2, "CPU-like against GPU-like"), (3, "memory against network"))),
        Item(C, "Section 7", "future: other computations; power, energy, cost", "`rankwise project stencil`",
             _said("a stencil step and an exchange, with their energy where a node's power is known; no cost", ELSEWHERE)),
        Item(C, "Appendix", "announced: raw data and code", _CZECHOWSKI, _said("recomputed from the printed Table 1",
             f"{CANNOT}: neither is with the paper")),
    ]  # fmt: skip


def page(records: Mapping[str, Record], verdicts: Mapping[str, Sequence[Verdict]]) -> str:
    """Return docs/papers.md: a table a paper, of its sentences or else from the record of its reproduction."""
    lines = [
        "# The four papers",
        "",
        "Every numbered equation, table, figure and stated future work: the command, the result, the verdict. This page is "
        "made from",
        "`rankwise reproduce` by a test (`RANKWISE_WRITE_GOLDEN=1 pytest tests/python/papers/test_index.py` writes it); "
        "nothing in the",
        "columns of results is typed in where the reproduction has a figure.",
    ]
    for paper, title in ((W, "Werner et al. 2023, the Shift"), (A, "Wagner 2024, OSU by placement"),
                         (H, "Hunold et al. 2020, stencil mapping"), (C, "Czechowski et al. 2012, the 3-D FFT")):  # fmt: skip
        if paper in verdicts:
            lines += [
                "",
                f"## {title}",
                "",
                summary(verdicts[paper]),
                "",
                "| where | the paper says | command | result | verdict |",
            ]
            lines += ["|---|---|---|---|---|"]
            for one in verdicts[paper]:
                command = f"`{one.command}`" if one.command else "–"
                lines.append(f"| {one.where} | {one.says} | {command} | {one.figures} | {one.verdict} |")
            continue
        lines += ["", f"## {title}", "", "| number | what | command | result | verdict |", "|---|---|---|---|---|"]
        for item in items():
            if item.paper == paper:
                result, verdict = item.result(records[paper])
                lines.append(f"| {item.number} | {item.what} | {item.command} | {result} | {verdict} |")
    return "\n".join(lines) + "\n"
