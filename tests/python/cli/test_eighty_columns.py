"""What verbs print at fewer than 80 columns holds every figure and every name whole; at 80 what is frozen does."""

from pathlib import Path

import pytest

from rankwise.cli.main import run
from rankwise.machine.library import all_machines
from verbs import Rankwise

DATA = Path(__file__).parents[2] / "data"
PING_PONG = DATA / "werner2023_pingpong.csv"


@pytest.mark.parametrize(
    "line",
    [
        "machines list", "machines show frontier", "machines check frontier", "project table",
        "project fft3d --machine frontier --n 32768 --nodes 4096 --vary link_bandwidth=0.5x:2x --match time --against "
        "aurora,fugaku",
        "project exchange --machine frontier --cutoff 1:2 --bytes 1kB,100kB --algorithm all --mode all",
        "project stencil --machine frontier --cells 1024x1024x1024 --nodes 64",
        "choose --profile pp.json --dims 3 --cutoff 2", "choose stencil --profile pp.json --grid 8x8 --nodes 64 --ppn 1",
        "predict exchange --profile pp.json --dims 3", "predict alltoall --profile pp.json --ranks 8",
        "fit PP", "profile show pp.json", "profile compare pp.json pp.json --all",
        "map --grid 50x48 --nodes 50 --ppn 48 --stencil "
        "nearest-neighbor", "map --mesh 100x80x40 --ranks 240 --ppn 48 --levels socket:2",
        "exchange show --dims 2 --ranks 64 --rank 9 --algorithm team-shift --replication "
        "4", "exchange check --dims 2 --ranks 16",
        "health show --history HISTORY",
    ],
    ids=lambda line: " ".join(line.split()[:2]),
)  # fmt: skip
def test_no_verb_cuts_anything(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "60")
    assert run(["profile", "import", str(PING_PONG), "--link", "other-node", "-o", "pp.json"]) == 0
    capsys.readouterr()
    words = [{"PP": str(PING_PONG), "HISTORY": str(DATA / "health.jsonl")}.get(word, word) for word in line.split()]
    code = run(words)
    out, err = capsys.readouterr()
    assert code in (0, 3, 5, 6), err
    assert out and "…" not in out


def test_wide_only_adds_columns(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    shown = {}
    for options in ((), ("--wide",)):
        assert run(["machines", "list", *options]) == 0
        shown[options] = capsys.readouterr().out
    assert "More columns with --wide:" in shown[()]
    assert "--wide" not in shown[("--wide",)] and "unverified" in shown[("--wide",)]
    for name in (machine.name for machine in all_machines()):
        assert name in shown[()].split() and name in shown[("--wide",)].split()


def test_errors_under_json_are_json(rankwise: Rankwise) -> None:
    for line, code in (
        ("choose --bogus", 2), ("predict exchange --profile none.json", 2), ("nothing", 2), ("quick --directory /dev/null", 2),
        ("measure --hosts no.such.host.invalid", 4), ("reproduce werner2023 -o /dev/null", 2), ("map --observed none.comm", 2),
        ("profile compare none.json other.json", 2), ("observe show none.comm", 2), ("exchange show --dims 0", 2),
    ):  # fmt: skip
        found = rankwise(*line.split(), "--json")
        assert found.code == code, (line, found.err)
        error = found.json["error"]
        assert error["exit_code"] == code and error["what"] and set(error) == {"what", "mend", "exit_code"}
        assert found.err.count("\n") == 1 and error["what"] in found.err
