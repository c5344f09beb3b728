"""``rankwise project``: machines that need not exist: the trends of a paper, the 3-D FFT, exchanges, a halo code."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import rankwise
from rankwise.api import projecting
from rankwise.api.projecting import Described, FftProjection, Projected, StencilCode, WhatIf
from rankwise.blocks import csv_text
from rankwise.cli.base import Json, drawable, flattened, group, print_json, show, tell, verb, writable, write_plot
from rankwise.errors import InputError
from rankwise.files import write_whole
from rankwise.workloads.exchange import ExchangeOptions

project_verbs = group(
    "project",
    "Predict a pattern for a machine that you do not have.\n\nThe machines: rankwise machines list.",
    "rankwise project stencil --machine frontier --cells 8192x8192x8192 --nodes 64,512,4096",
    title="PATTERN",
)

Plot = Annotated[
    Path | None,
    typer.Option(
        callback=drawable,
        help="Draw FILE.svg or FILE.html: with --vary the time over those values, otherwise a tornado of the sensitivities.",
    ),
]


@verb("table", "rankwise project table --year 2026", under=project_verbs)
def table(year: Annotated[float, typer.Option(help="The year to extrapolate to.")] = 2020, as_json: Json = False) -> None:
    """Recompute Table 1 of czechowski2012: doubling times, ten-year factors, values; and extrapolate them to a year.

    A cell that does not follow from its neighbours is flagged.
    """
    if not 1950 <= year <= 2100:
        raise InputError(f"--year {year:g} is out of range: give a year between 1950 and 2100")
    from rankwise.api.project_blocks import Trends

    show(Trends(year), as_json)


@verb(
    "fft3d",
    """rankwise project fft3d --machine frontier --n 32768 --nodes 4096
    rankwise project fft3d --machine frontier --n 32768 --nodes 4096 --vary link_bandwidth=0.5x:4x --plot tornado.svg
    rankwise project fft3d --machine paper-gpu-2020 --n 21000 --reading paper-effective --match time --against paper-cpu-2020
    """,
    under=project_verbs,
)
def project_fft3d(question: FftProjection, on: Described, plot: Plot = None, as_json: Json = False) -> None:
    """Project a 3-D FFT: time of each phase, fraction of peak, what bounds it, and what would help.

    n³ points on all nodes, by the model of czechowski2012. Where a parameter is a range, so is the answer.
    """
    found = projecting.project_fft3d(question, on)
    write_plot(found, plot, "written: ")
    if as_json:
        print_json(found.to_dict() | ({"plot": str(plot)} if plot else {}))
    else:
        show(found, as_json)


def project_exchange(question: ExchangeOptions, on: Described, plot: Plot = None, as_json: Json = False) -> None:
    """Project neighbour exchanges: how long they take by the cost model of 'rankwise predict exchange'.

    A message takes the machine's latency, and its bytes over one link; ranks of a node share what it injects.
    """
    found = projecting.project_exchange(question, on)
    write_plot(found, plot, "written: ")
    _show(found, as_json)


verb(
    "exchange",
    """rankwise project exchange --machine frontier --latency 2us --cutoff 1:4 --bytes 1kB,100kB
    rankwise project exchange --machine frontier --against alps,lumi-g,jupiter --cutoff 1 --bytes 1MB --plot machines.svg
    rankwise project exchange --machine machine.json --algorithm all --mode all --ranks-per-node 4 --cutoff 2""",
    under=project_verbs,
)(flattened(project_exchange, verb="exchange", mode="isend", dims="3"))


@verb(
    "stencil",
    """rankwise project stencil --machine frontier --latency 2us --cells 8192x8192x8192 --nodes 64,512,4096
    rankwise project stencil --machine fugaku --latency 1us:2us --cells 64x64x64 --weak --width 80 --nodes 1000,100000""",
    under=project_verbs,
)
def project_stencil(question: StencilCode, on: Described, plot: Plot = None, as_json: Json = False) -> None:
    """Project one step of a halo code, strong or weak scaling: compute, exchange (the Shift of werner2023), efficiency.

    One block a node, periodic, as near to a cube as the nodes allow. The defaults are a 7-point stencil on doubles.
    """
    found = projecting.project_stencil(question, on)
    write_plot(found, plot, "written: ")
    _show(found, as_json)


@verb(
    "observed",
    """rankwise project observed app.comm --latency 1/2 --bandwidth 2x --ranks-per-node 8
    rankwise project observed app.comm --machine frontier --ranks-per-node 8
    rankwise project observed app8.comm app16.comm --ranks 16:1024 --scaling strong --grid 8x4x4""",
    under=project_verbs,
)
def project_observed(
    question: WhatIf,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw the curve as FILE.svg, or write a page with sliders, FILE.html.", callback=drawable),
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="Write the rows as FILE.csv, in SI units.", callback=writable)] = None,
    as_json: Json = False,
) -> None:
    """Project a recorded program: the time of its step on another network, machine or number of ranks, and what limits it.

    Messages and collectives are predicted; what ranks compute is taken as recorded, or divided among other ranks.
    """
    found = rankwise.what_if(question) if question.ranks is None else rankwise.other_ranks(question)
    if plot is not None and plot.suffix == ".html":
        write_whole(plot, found.page())
    elif plot is not None:
        found.plot().save(plot)
    if csv is not None:
        write_whole(csv, csv_text(found.table))
    for written in filter(None, (plot, csv)):
        tell(f"written: {written}")
    show(found, as_json)


def _show(found: Projected, as_json: bool) -> None:
    for lacking in found.left_out:
        tell(f"left out: {lacking}")
    show(found, as_json)
