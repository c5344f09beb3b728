import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from rankwise.machine.link import Parameter
from rankwise.machine.profile import Profile
from rankwise.models.curve import limited
from verbs import Rankwise, Refused

SAMPLES = Path(__file__).parents[2] / "data" / "osu-samples"


def test_osu_output_is_imported_and_its_doubts_are_told(rankwise: Rankwise, refused: Refused) -> None:
    result = rankwise("profile import", SAMPLES / "osu74_latency_tail.txt", "-o", "a.json", "--link", "same-socket")
    assert result.code == 0 and result.out.startswith("✓ Written to a.json: ")
    assert "no 0 B row" in result.err
    added = rankwise("profile import", SAMPLES / "osu74_bw_default.txt", "--add", "-o", "a.json",
                     "--link", "same-socket", "--window", "32", "--json")  # fmt: skip
    assert added.code == 0
    assert set(added.json["links"]["same-socket"]["variants"]) == {"bandwidth-window-32"}
    assert "no 0 B row" not in added.err  # said when it was imported
    assert "no ping-pong" in refused("profile import", SAMPLES / "osu74_bw_default.txt", "--link", "other-node", "-o", "b.json")
    assert not Path("b.json").exists()


def test_compare_says_what_is_slower_and_exits_3(rankwise: Rankwise) -> None:
    rows = {size: 1.0 + size / 1000 for size in (0, 8, 64, 512, 4096, 32768)}
    for name, factor in (("a", 1.0), ("b", 1.3)):
        text = "".join(f"{size},{factor * time},{0.01 * time}\n" for size, time in rows.items())
        Path(f"{name}.csv").write_text("message_bytes,latency_us,sigma_us\n" + text)
        assert rankwise(f"profile import {name}.csv --link other-node -o {name}.json").code == 0
    same = rankwise("profile compare a.json a.json")
    assert (same.code, same.out.splitlines()[0]) == (0, "✓ The same within 10 %.")
    slower = rankwise("profile compare a.json b.json")
    assert slower.code == 3 and slower.out.startswith("✗ Slower: ")
    assert rankwise("profile compare a.json b.json --tolerance 0.5").code == 0
    faster = rankwise("profile compare b.json a.json --all --json")
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
        poor = rankwise(f"profile compare {other} poor-b.json --json")
        assert (poor.code, poor.json["slower"]) == (code, False)
        assert rankwise(f"profile compare {other} poor-b.json --strict").code == (1 if code else 0)
    wrong = rankwise("profile compare a.json b.json --tolerance -1")
    assert wrong.code == 2 and len(wrong.err.splitlines()) == 1


def test_a_line_that_meets_0_bytes_below_zero_has_no_alpha(rankwise: Rankwise) -> None:
    rows = "".join(f"{size},{1000 + size},0\n" for size in (0, 512, 1024, 2048, 4096))
    Path("table.csv").write_text("message_bytes,latency_ns,sigma_ns\n" + rows)
    assert rankwise("profile import table.csv --link other-node -o machine.json").code == 0
    profile = Profile.load(Path("machine.json"))
    link = profile.links["other-node"]
    slower = limited(link.send, Parameter(1e8))  # a card of a tenth of the rate
    assert slower.models["hockney"].segments[-1].alpha_s < 0
    replace(profile, links={"other-node": replace(link, send=slower)}).save(Path("machine.json"))
    shown = rankwise("profile show --all --wide").out.splitlines()
    beyond = [line for line in shown if re.search(r" (0\.100|100)\b.*%?$", line) and " 4 KiB " in line]
    assert beyond and all(re.search(r" 4 KiB +– ", line) for line in beyond), shown


def test_what_is_no_way_of_sending_is_shown_too(rankwise: Rankwise, refused: Refused) -> None:
    Path("host.txt").write_text("# OSU MPI Latency Test v7.2\n# Size Latency (us)\n1 1.50\n8 1.60\n64 2.10\n")
    Path("device.txt").write_text(
        "# OSU MPI-CUDA Latency Test v7.2\n# Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)\n# Size Latency (us)\n"
        "# Datatype: MPI_CHAR.\n1 4.06\n8 4.22\n64 5.00\n"
    )
    assert "is a ping-pong (device-to-host), and other-node has no ping-pong of hosts yet" in refused(
        "profile import device.txt --link other-node -o a.json"
    )
    assert rankwise("profile import host.txt device.txt --link other-node -o a.json").code == 0
    assert "latency-device-to-host: 4.06 us at 1 B, 5.00 us at 64 B" in rankwise("profile show a.json").out
