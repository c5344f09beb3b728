"""What is advised of an observed program as one HTML page: the conclusion, what to change, where a step goes, what crosses."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from rankwise.advise.evidence import Evidence
from rankwise.advise.findings import Advice, gain_in_words, start_of
from rankwise.mapping.traffic import Traffic
from rankwise.report.page import environment, themed
from rankwise.report.reproduction import Picture, Section, Table
from rankwise.report.style import FONT_PT, INK, MUTED, RULE, WIDTH_PT, drawing, duration, look, new_figure, to_svg
from rankwise.units import format_time, format_volume

_MOST_ROWS = 64  # of the picture of ranks
_MOST_CELLS = 256  # of the matrix: more ranks are drawn together


def render(advice: Advice, hosts: Sequence[str]) -> str:
    """Return the page. The same advice gives the same bytes."""
    evidence = advice.evidence
    step = Picture("step", _step_caption(evidence), partial(step_picture, evidence))
    sections = [Section("step", _step_title(evidence), [], [step])]
    pictures = [step]
    if len(evidence.traffic.bytes) and len(hosts) > 1:
        pictures.append(Picture("matrix", _matrix_caption(advice), partial(matrix_picture, advice, hosts)))
        title = f"Who sends to whom: {evidence.pattern.words}"
        sections.append(Section("messages", title, [], [pictures[-1], _placements_table(advice)]))
    record = evidence.record
    return (
        environment()
        .get_template("advice.html.j2")
        .render(
            title=advice.headline,
            answer=_answer(advice),
            change_title="What to change, the best first" if advice.findings else "Nothing to change",
            changes=[
                {"what": finding.what, "gain": gain_in_words(finding, evidence), "why": finding.why, "command": finding.command}
                for finding in advice.findings
            ],
            nothing=[f"{words[0].upper()}{words[1:]}." for words in advice.nothing],
            sections=sections,
            pictures={picture.name: picture.draw() for picture in pictures},
            sources=[
                f"{evidence.name}: {record.ranks} ranks on {', '.join(record.hosts)}; {record.header.get('mpi', 'unknown MPI')}.",
                "Times of messages are the model's, from where the ranks are, in the order in which the step sends them.",
                *(f"{note}." for note in dict.fromkeys((*advice.notes, *evidence.notes))),
            ],
            themed=themed,
        )
    )


def step_picture(evidence: Evidence) -> str:
    """Draw of each rank how long a step computes, moves bytes and waits."""
    shares = evidence.shares
    order = np.arange(len(shares.total_s))
    if len(order) > _MOST_ROWS:  # those that make others wait, and some of all
        worst = np.argsort(-shares.blamed_s, kind="stable")[: _MOST_ROWS // 4]
        order = np.unique(np.concatenate((worst, np.linspace(0, len(order) - 1, _MOST_ROWS - len(worst)).astype(int))))
    moving = "moving bytes" if shares.split else "in MPI"
    parts: list[tuple[str, Any, str, str | None, str]] = [
        ("computing", shares.computing_s, RULE, None, INK),
        (moving, shares.moving_s, look(0).colour, None, look(0).colour),
    ]
    if shares.split:
        parts.append(("waiting for a late partner", shares.waiting_s, "none", "////", look(1).colour))
    with drawing():
        figure = new_figure(WIDTH_PT, 60 + 13 * len(order))
        axes = figure.subplots()
        left = np.zeros(len(order))
        for name, seconds, colour, hatch, edge in parts:
            width = seconds[order]
            axes.barh(
                range(len(order)),
                width,
                left=left,
                height=0.72,
                color=colour,
                hatch=hatch,
                edgecolor=edge,
                linewidth=0.5,
                label=name,
            )
            left += width
        axes.set_yticks(range(len(order)), [f"rank {rank}" for rank in order])
        axes.invert_yaxis()
        axes.set_xlim(0, float(left.max()) * 1.02 or 1.0)
        axes.xaxis.set_major_formatter(lambda value, _: "0" if value == 0 else duration(value))
        axes.legend(ncols=3, loc="lower left", bbox_to_anchor=(0, 1.0), frameon=False, fontsize=FONT_PT)
        return to_svg(figure, "step", _step_title(evidence), _step_caption(evidence))


def matrix_picture(advice: Advice, hosts: Sequence[str]) -> str:
    """Draw the bytes of each pair of ranks, those between nodes apart: as observed, and as advised."""
    start, best = start_of(advice.mappings), advice.mappings.best
    traffic = advice.evidence.traffic
    shown = [("now", start), ("placed by the file", best)] if best is not start else [("now", start)]
    with drawing():
        figure = new_figure(WIDTH_PT, WIDTH_PT / 2 + 40 if len(shown) > 1 else WIDTH_PT * 0.7)
        panels = figure.subplots(1, len(shown), squeeze=False)[0]
        for panel, (words, result) in zip(panels, shown, strict=True):
            _draw_matrix(panel, traffic, result.node_of_cell, hosts)
            panel.set_title(f"{words}: {format_volume(result.j_sum)} between nodes", loc="left")
        return to_svg(figure, "matrix", "Who sends to whom", _matrix_caption(advice))


def _draw_matrix(panel: Any, traffic: Traffic, node_of_rank: Any, hosts: Sequence[str]) -> None:
    order = np.argsort(node_of_rank, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    cells = min(len(order), _MOST_CELLS)
    rows, columns = place[traffic.source] * cells // len(order), place[traffic.peer] * cells // len(order)
    cut = traffic.crossing(node_of_rank)
    for of_kind, map_name in ((~cut, "Greys"), (cut, "Oranges")):
        matrix = np.zeros((cells, cells))
        np.add.at(matrix, (rows[of_kind], columns[of_kind]), traffic.bytes[of_kind])
        if matrix.any():
            shade = np.ma.masked_equal(matrix, 0)
            panel.imshow(
                shade,
                cmap=map_name,
                vmin=-0.3 * float(matrix.max()),
                vmax=1.7 * float(matrix.max()),
                interpolation="nearest",
                extent=(0, cells, cells, 0),
            )
    borders = np.flatnonzero(np.diff(node_of_rank[order])) + 1
    edges = np.concatenate(([0], borders, [len(order)])) * cells / len(order)
    for low, high in zip(edges, edges[1:], strict=False):
        panel.plot([low, high, high, low, low], [low, low, high, high, low], color=MUTED, linewidth=0.8, clip_on=False)
    if len(edges) <= 17:
        middles = (edges[1:] + edges[:-1]) / 2
        names = [hosts[node] for node in dict.fromkeys(node_of_rank[order].tolist())]
        panel.set_yticks(middles, names)
        panel.set_xticks(middles, names, rotation=0 if sum(map(len, names)) < 40 else 90)
    else:
        panel.set_xticks([])
        panel.set_yticks([])
    panel.tick_params(length=0)
    panel.spines[["left", "bottom"]].set_visible(False)


def _answer(advice: Advice) -> list[str]:
    evidence, shares = advice.evidence, advice.evidence.shares
    in_mpi = 1 - shares.share(shares.computing_s)
    waiting = f", {shares.share(shares.waiting_s):.0%} of all is waiting for late partners" if shares.split else ""
    words = [f"{in_mpi:.0%} of each {evidence.per} of {format_time(evidence.time_s)} is communication{waiting}."]
    if advice.findings:
        words.append(f"{advice.findings[0].why[0].upper()}{advice.findings[0].why[1:]}.")
        if advice.headroom.now_bytes:
            room = advice.headroom.words(evidence.per)
            words.append(f"{room[0].upper()}{room[1:]}.")
    return words


def _step_title(evidence: Evidence) -> str:
    return f"Where a {evidence.per} of {format_time(evidence.time_s)} goes"


def _step_caption(evidence: Evidence) -> str:
    shares = evidence.shares
    mean = [format_time(float(part.mean())) for part in (shares.computing_s, shares.moving_s, shares.waiting_s)]
    last = f", {mean[2]} waiting for a partner that is late" if shares.split else "; waiting is not told from it"
    return f"Mean over ranks: {mean[0]} computing, {mean[1]} {'moving bytes' if shares.split else 'in MPI'}{last}."


def _matrix_caption(advice: Advice) -> str:
    room = advice.headroom
    return (
        f"Rows send, columns receive, a frame is a node; orange crosses between nodes. {format_volume(room.now_bytes)} a "
        f"{advice.evidence.per} now, {format_volume(room.best_bytes)} as placed by the file; the worst placement known sends "
        f"{format_volume(room.worst_bytes)}."
    )


def _placements_table(advice: Advice) -> Table:
    timed = advice.headroom.now_s is not None
    rows = [["placement", "between nodes", "out of the busiest node", *(["messages take"] if timed else [])]]
    for result in advice.mappings.results:
        times = [format_time(result.time_s * advice.evidence.rounds)] if timed and result.time_s is not None else []
        rows.append([result.algorithm, format_volume(result.j_sum), format_volume(result.j_max), *times])
    return Table("placements", f"A {advice.evidence.per}, by placement.", rows[0], rows[1:], rows)
