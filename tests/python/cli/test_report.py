"""``rankwise report`` from the command line: which files it reads, what it prints, how it complains."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

import sample_figures
from rankwise.cli import main
from rankwise.errors import EXIT_ENVIRONMENT, EXIT_OK, EXIT_USAGE


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_inputs(folder: Path) -> None:
    sample_figures.profile().save(folder / "machine.json")
    (folder / "validate.json").write_text(json.dumps(sample_figures.validation_record()))
    (folder / "map.json").write_text(json.dumps(sample_figures.mapping_record_3d()))


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main.run(["report", *arguments]) == EXIT_USAGE
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("rankwise: ") and printed.err.count("\n") == 1
    return printed.err


def test_reads_what_is_here_and_prints_the_path(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_inputs(folder)
    assert main.run(["report"]) == EXIT_OK
    answer, quality, page = capsys.readouterr().out.splitlines()
    assert answer.startswith("✓ ") and quality.startswith("Quality: ") and page == "Page  rankwise-report.html"
    text = (folder / "rankwise-report.html").read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>") and text.rstrip().endswith("</html>")
    assert "node17" in text


def test_named_files_and_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_inputs(folder)
    for name in ("machine.json", "map.json"):
        (folder / name).rename(folder / f"my-{name}")
    (folder / "validate.json").unlink()
    arguments = ["--profile", "my-machine.json", "--mapping", "my-map.json", "-o", "sub/r.html", "--json"]
    assert main.run(["report", *arguments]) == EXIT_OK
    result = json.loads(capsys.readouterr().out)
    assert result.pop("trust")["level"] == "unknown"
    assert result["report"] == "sub/r.html" and result["sections"] == ["machine", "latency", "bandwidth", "mapping"]
    assert result["headline"].startswith("Between cores of one socket a message starts in 321 ns")
    assert result["links"]["same-socket"]["bandwidth_of_bytes"] == 4 * 2**20 and result["next"][0]["command"].startswith(
        "rankwise "
    )
    assert (folder / "sub" / "r.html").exists()


def test_profiles_side_by_side(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sample_figures.profile()
    before.save(folder / "a.json")
    sample_figures.slower(before, 2).save(folder / "b.json")
    assert main.run(["report", "a.json", "b.json", "-o", "both.html", "--json"]) == EXIT_OK
    assert json.loads(capsys.readouterr().out)["profiles"][1]["name"] == "b.json"
    assert "a.json to b.json" in (folder / "both.html").read_text(encoding="utf-8")
    assert "stands alone" in complaint(capsys, "a.json")
    assert "leave these out" in complaint(capsys, "a.json", "b.json", "--profile", "a.json")
    assert "one of the inputs" in complaint(capsys, "a.json", "b.json", "-o", "b.json")


def test_nothing_to_report_names_quick(capsys: pytest.CaptureFixture[str]) -> None:
    assert "rankwise quick" in complaint(capsys)


@pytest.mark.parametrize("option", ["--profile", "--validation", "--mapping"])
def test_a_named_file_must_be_there(folder: Path, capsys: pytest.CaptureFixture[str], option: str) -> None:
    write_inputs(folder)
    assert "gone.json does not exist" in complaint(capsys, option, "gone.json")
    assert not (folder / "rankwise-report.html").exists()


@pytest.mark.parametrize("name", ["machine.json", "validate.json", "map.json"])
@pytest.mark.parametrize("text", ["", '{"schema": 1, "rows": [', "[]", '{"schema": 1}', "\x00", '{"schema": 1e400}'])
def test_half_written_or_other_files(folder: Path, capsys: pytest.CaptureFixture[str], name: str, text: str) -> None:
    write_inputs(folder)
    (folder / name).write_text(text)
    assert name in complaint(capsys)
    assert not (folder / "rankwise-report.html").exists()


def test_a_wrong_value_names_file_and_key(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_inputs(folder)
    rows = [sample_figures.comparison(measured_time_s="fast")]
    (folder / "validate.json").write_text(json.dumps(sample_figures.validation_record(rows)))
    assert "validate.json: rows[0].measured_time_s 'fast' is not a finite number" in complaint(capsys)


def test_inputs_are_never_overwritten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_inputs(folder)
    before = (folder / "machine.json").read_bytes()
    assert "one of the inputs" in complaint(capsys, "-o", "./machine.json")
    assert (folder / "machine.json").read_bytes() == before
    assert "is a folder" in complaint(capsys, "-o", ".")


_LIMIT = "import resource; resource.setrlimit(resource.RLIMIT_{}, ({} << 20,) * 2)"
_WITHOUT, _MISSING = (
    "import sys; sys.modules['vl_convert'] = None",
    "vl-convert is not installed: pip install 'rankwise[pictures]'",
)


@pytest.mark.parametrize(
    ("before", "why", "built"),
    [
        (_LIMIT.format("AS", 1024), "'ulimit -v' of 1024 MiB forbids drawing: raise it", False),
        (_LIMIT.format("DATA", 300), "'ulimit -d' of 300 MiB forbids drawing: raise it", True),
        (_WITHOUT, _MISSING, True),
        (_WITHOUT, _MISSING, False),
    ],
)
def test_what_forbids_drawing_leaves_static_pictures_out(folder: Path, before: str, why: str, built: bool) -> None:
    """The engine is an extra, and batch systems set limits in which it would end the process. What was built draws in the
    reader's browser all the same."""
    write_inputs(folder)
    script = folder / "vega.js"
    if built:
        script.write_text("window.vegaEmbed=null")
    code = (
        f"{before}; import pathlib; from rankwise.report import vega; vega.SCRIPT = pathlib.Path({str(script)!r}); "
        "from rankwise.cli.main import main; main()"
    )

    def limited(*arguments: str) -> subprocess.CompletedProcess[str]:
        variables = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        return subprocess.run(
            [sys.executable, "-c", code, *arguments], capture_output=True, text=True, env=variables, check=False
        )

    found = limited("report")
    said = "" if built else f"the page has no pictures, as {why}\n"
    assert (found.returncode, found.stderr) == (EXIT_OK, said) and "Page  rankwise-report.html" in found.stdout
    page, how = unescape((folder / "rankwise-report.html").read_text(encoding="utf-8")), " without a script" * built
    assert page.count(f"<p>Not drawn{how}, as {why}.") == page.count('<div class="chart only"') > 0
    assert ("vegaEmbed=" in page) == built
    if not built:
        found = limited("map", "--grid", "4x4", "--nodes", "4", "--ppn", "4", "--plot", "map.svg")
        assert found.returncode == EXIT_ENVIRONMENT and "J_sum" in found.stdout
        assert found.stderr.splitlines()[-1] == f"rankwise: a picture cannot be drawn, as {why}, or write a page (.html)"
