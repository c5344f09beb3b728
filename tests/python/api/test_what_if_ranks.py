"""How many nodes to request: numbers of ranks as they are written, the answer, its page and its JSON."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

import schemas
from grid_programs import around
from rankwise.api.projecting import WhatIf
from rankwise.api.what_if_ranks import counts_of, other_ranks
from rankwise.errors import InputError
from rankwise.observe.operations import NoTemplateError
from rankwise.observe.record import write_record
from synthetic_events import Op
from test_scaling import on_nodes, stencil
from verbs import Rankwise


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    paths = []
    for dims in ((4, 3), (6, 4)):
        paths.append(tmp_path_factory.mktemp("records") / f"{dims[0] * dims[1]}.comm")
        write_record(paths[-1], stencil(dims))
    return paths


def asked(records: list[Path], **more: Any) -> WhatIf:
    return WhatIf(records=records, machine="frontier", ranks_per_node=8, **more)


def test_numbers_of_ranks() -> None:
    assert counts_of("16:100") == [16, 32, 64, 100]
    assert counts_of("24,12, 64") == [12, 24, 64]
    for text in ("", "x", "1", "8:4", "4:", "0:8", "1e3", ",".join(map(str, range(2, 99)))):
        with pytest.raises(InputError, match="--ranks"):
            counts_of(text)


def test_two_recordings_answer_how_many_nodes(records: list[Path], tmp_path: Path) -> None:
    found = other_ranks(asked(records, ranks="16:4096", latency="4x"))
    times_s = [row.time_s for row in found.rows]
    assert found.recorded == [12, 24] and found.curve is not None and found.refused == []
    assert found.best.ranks == found.curve.within_10_percent
    assert found.best.time_s <= 1.1 * min(times_s)  # type: ignore[type-var, operator]
    assert f"{found.best.ranks} ranks on {found.best.nodes} nodes" in found.conclusion
    text = repr(list(found.blocks()))
    assert "24 predicted from 12: " in text and f"rankwise slurm script --nodes {found.best.nodes}" in text
    schemas.check("project-observed-ranks", found.to_dict())
    assert "95 % interval" in found.page()
    assert found.plot().save(tmp_path / "curve.svg").is_file()


def test_grids_and_nodes_that_cannot_be_are_refused(records: list[Path]) -> None:
    with pytest.raises(InputError, match="--grid 5x5 is of 25 ranks, which --ranks 16,24 does not ask for: give the grid"):
        other_ranks(asked(records, ranks="16,24", grid="5x5"))
    with pytest.raises(InputError, match=r"80000 ranks: 10,000 nodes are more than frontier has \(9,856\): ask for fewer"):
        other_ranks(asked(records, ranks="64,80000"))
    assert other_ranks(asked(records, ranks="78848")).rows[0].nodes == 9856


def test_rows_are_written_as_csv(records: list[Path], tmp_path: Path, rankwise: Rankwise) -> None:
    words = ("--machine", "frontier", "--ranks-per-node", "8", "--csv", str(tmp_path / "rows.csv"))
    done = rankwise("project observed", *map(str, records), "--ranks", "16,24", *words, "--json")
    assert done.code == 0 and "written: " in done.err
    rows = list(csv.DictReader((tmp_path / "rows.csv").read_text().splitlines()))
    assert [(row["ranks"], row["grid"]) for row in rows] == [("16", "4x4"), ("24", "6x4")]
    assert all(float(row["time_lo_s"]) < float(row["time_s"]) < float(row["time_hi_s"]) for row in rows)
    assert [float(row["time_s"]) for row in rows] == [row["time_s"] for row in done.json["rows"]]
    assert rankwise("project observed", str(records[0]), *words[:4], "--grid", "4x3").code == 2
    assert rankwise("project observed", *map(str, records), *words[:4]).code == 2


def test_what_cannot_be_said_of_some_numbers_is_left_out(tmp_path: Path) -> None:
    write_record(path := tmp_path / "small.comm", stencil((4, 3), (24, 24), offsets=around(2)))
    found = other_ranks(asked([path], ranks="48,1024"))
    assert [row.ranks for row in found.rows] == [48]
    assert "1024 ranks: " in found.refused[0] and "smaller than the halo" in found.refused[0]


def test_computing_that_was_not_measured_is_refused(tmp_path: Path) -> None:
    crowded = stencil((4, 3))
    crowded.header["cores_of_host"] = [1]
    crowded.node_of_rank[:] = 0
    write_record(path := tmp_path / "crowded.comm", crowded)
    with pytest.raises(InputError, match="12 ranks shared 1 cores .* give --no-compute"):
        other_ranks(asked([path], ranks="64"))
    assert other_ranks(asked([path], ranks="64", compute=False)).rows[0].time_s is not None


def test_a_start_up_alone_is_refused(tmp_path: Path) -> None:
    start: list[list[Op]] = [[("compute", 1000), ("allreduce", 8)] for _ in range(12)]
    write_record(path := tmp_path / "start.comm", on_nodes(start))
    with pytest.raises(NoTemplateError, match="observe more steps"):
        other_ranks(asked([path], ranks="64"))
