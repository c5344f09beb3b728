import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rankwise.machine.link import Parameter
from rankwise.machine.profile import Profile
from rankwise.models.curve import limited

TABLE = Path(__file__).parents[2] / "data" / "werner2023_pingpong.csv"


def test_a_table_becomes_a_profile_that_shows(rankwise: Callable[..., Any]) -> None:
    result = rankwise("profile", "import", TABLE, "--link", "other-node", "-o", "jureca.json")
    assert result.code == 0 and result.out.startswith("✓ Written to jureca.json: ")
    assert "latency" in rankwise("profile", "show", "jureca.json").out
    shown = rankwise("profile", "show", "jureca.json", "--all")
    assert shown.code == 0
    row = next(line for line in shown.out.splitlines() if line.startswith("send  piecewise"))
    assert "2.12" in row.split() and "alpha" in shown.out and " us " in shown.out
    record = rankwise("profile", "show", "jureca.json", "--json").json
    assert record["schema"] == 2
    assert record["links"]["other-node"]["alpha_s"] == pytest.approx(2.122e-6)


@pytest.mark.parametrize("content", ["", "{", '{"schema": 1, "links": {"same-', "[]", "null", '{"schema": 2}'])
def test_an_unreadable_profile_is_one_line_and_exit_2(rankwise: Callable[..., Any], content: str) -> None:
    Path("machine.json").write_text(content)
    for command in (["profile", "show"], ["predict", "exchange"]):
        result = rankwise(*command)
        assert result.code == 2
        assert len(result.err.splitlines()) == 1
        assert "machine.json" in result.err


def test_a_missing_profile_names_the_command_that_makes_one(rankwise: Callable[..., Any]) -> None:
    result = rankwise("profile", "show")
    assert result.code == 2
    assert "rankwise measure" in result.err


def test_an_unknown_link_class_is_refused(rankwise: Callable[..., Any]) -> None:
    result = rankwise("profile", "import", TABLE, "--link", "wormhole")
    assert result.code == 2
    assert "same-socket" in result.err


SAMPLES = Path(__file__).parents[2] / "data" / "osu-samples"


def test_osu_output_is_imported_and_its_doubts_are_told(rankwise: Callable[..., Any]) -> None:
    result = rankwise("profile", "import", SAMPLES / "osu74_latency_tail.txt", "-o", "a.json", "--link", "same-socket")
    assert result.code == 0 and result.out.startswith("✓ Written to a.json: ")
    assert "no 0 B row" in result.err
    added = rankwise("profile", "import", SAMPLES / "osu74_bw_default.txt", "--add", "-o", "a.json",
                     "--link", "same-socket", "--window", "32", "--json")  # fmt: skip
    assert added.code == 0
    assert set(added.json["links"]["same-socket"]["variants"]) == {"bandwidth-window-32"}
    assert "no 0 B row" not in added.err  # said when it was imported
    alone = rankwise("profile", "import", SAMPLES / "osu74_bw_default.txt", "--link", "other-node", "-o", "b.json")
    assert alone.code == 2 and len(alone.err.splitlines()) == 1 and "no ping-pong" in alone.err
    assert not Path("b.json").exists()


def test_compare_says_what_is_slower_and_exits_3(rankwise: Callable[..., Any]) -> None:
    rows = {size: 1.0 + size / 1000 for size in (0, 8, 64, 512, 4096, 32768)}
    for name, factor in (("a", 1.0), ("b", 1.3)):
        text = "".join(f"{size},{factor * time},{0.01 * time}\n" for size, time in rows.items())
        Path(f"{name}.csv").write_text("message_bytes,latency_us,sigma_us\n" + text)
        assert rankwise("profile", "import", f"{name}.csv", "--link", "other-node", "-o", f"{name}.json").code == 0
    same = rankwise("profile", "compare", "a.json", "a.json")
    assert (same.code, same.out.splitlines()[0]) == (0, "✓ The same within 10 %.")
    slower = rankwise("profile", "compare", "a.json", "b.json")
    assert slower.code == 3 and slower.out.startswith("✗ Slower: ")
    assert rankwise("profile", "compare", "a.json", "b.json", "--tolerance", "0.5").code == 0
    faster = rankwise("profile", "compare", "b.json", "a.json", "--all", "--json")
    assert faster.code == 0 and not faster.json["slower"]
    times = [row for row in faster.json["comparisons"] if row["quantity"] == "time"]
    assert [row["size_bytes"] for row in times] == list(rows)
    assert all(row["ratio"] == pytest.approx(1 / 1.3) for row in times)
    assert all(row["ratio_lo"] < row["ratio"] < row["ratio_hi"] for row in times)
    for name in ("a", "b"):  # the same figures, measured on a disturbed machine
        record = json.loads(Path(f"{name}.json").read_text())
        record["trust"] = {"level": "poor"}
        Path(f"poor-{name}.json").write_text(json.dumps(record))
    for other, code in (("a.json", 5), ("poor-a.json", 6), ("poor-b.json", 0)):
        poor = rankwise("profile", "compare", other, "poor-b.json", "--json")
        assert (poor.code, poor.json["slower"]) == (code, False)
        assert rankwise("profile", "compare", other, "poor-b.json", "--strict").code == (1 if code else 0)
    wrong = rankwise("profile", "compare", "a.json", "b.json", "--tolerance", "-1")
    assert wrong.code == 2 and len(wrong.err.splitlines()) == 1


def test_export_writes_what_import_reads(rankwise: Callable[..., Any]) -> None:
    assert rankwise("profile", "import", TABLE, "--link", "other-node", "-o", "a.json").code == 0
    assert rankwise("profile", "export", "a.json", "-o", "a.csv").out == "a.csv\n"
    assert rankwise("profile", "import", "a.csv", "-o", "b.json").code == 0
    assert rankwise("profile", "compare", "a.json", "b.json", "--tolerance", "0").code == 0
    assert "# OSU MPI Latency Test" in rankwise("profile", "export", "a.json", "--format", "osu").out
    assert "<platform" in rankwise("profile", "export", "a.json", "--format", "simgrid", "--link", "other-node").out
    for arguments, says in (
        (["--format", "pdf"], "choose csv, osu, simgrid or prometheus"),
        (["--format", "osu", "--link", "same-core"], "no link 'same-core'"),
    ):
        result = rankwise("profile", "export", "a.json", *arguments)
        assert result.code == 2 and len(result.err.splitlines()) == 1 and says in result.err


def test_a_line_that_meets_0_bytes_below_zero_has_no_alpha(rankwise: Callable[..., Any]) -> None:
    rows = "".join(f"{size},{1000 + size},0\n" for size in (0, 512, 1024, 2048, 4096))
    Path("table.csv").write_text("message_bytes,latency_ns,sigma_ns\n" + rows)
    assert rankwise("profile", "import", "table.csv", "--link", "other-node", "-o", "machine.json").code == 0
    profile = Profile.load(Path("machine.json"))
    link = profile.links["other-node"]
    slower = limited(link.send, Parameter(1e8))  # a card of a tenth of the rate
    assert slower.models["hockney"].segments[-1].alpha_s < 0
    replace(profile, links={"other-node": replace(link, send=slower)}).save(Path("machine.json"))
    shown = rankwise("profile", "show", "--all", "--wide").out.splitlines()
    beyond = [line for line in shown if re.search(r" (0\.100|100)\b.*%?$", line) and " 4 KiB " in line]
    assert beyond and all(re.search(r" 4 KiB +– ", line) for line in beyond), shown


def test_what_is_no_way_of_sending_is_shown_too(rankwise: Callable[..., Any]) -> None:
    Path("host.txt").write_text("# OSU MPI Latency Test v7.2\n# Size Latency (us)\n1 1.50\n8 1.60\n64 2.10\n")
    Path("device.txt").write_text(
        "# OSU MPI-CUDA Latency Test v7.2\n# Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)\n# Size Latency (us)\n"
        "# Datatype: MPI_CHAR.\n1 4.06\n8 4.22\n64 5.00\n"
    )
    alone = rankwise("profile", "import", "device.txt", "--link", "other-node", "-o", "a.json")
    assert alone.code == 2 and "is a ping-pong (device-to-host), and other-node has no ping-pong of hosts yet" in alone.err
    assert rankwise("profile", "import", "host.txt", "device.txt", "--link", "other-node", "-o", "a.json").code == 0
    assert "latency-device-to-host: 4.06 us at 1 B, 5.00 us at 64 B" in rankwise("profile", "show", "a.json").out
