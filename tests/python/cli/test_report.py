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
from rankwise.errors import EXIT_ENVIRONMENT, EXIT_OK
from verbs import Rankwise, Refused


@pytest.fixture(autouse=True)
def inputs(rankwise: Rankwise) -> None:
    """A profile, a comparison and mappings, where the report looks for them."""
    sample_figures.profile().save(Path("machine.json"))
    Path("validate.json").write_text(json.dumps(sample_figures.validation_record()))
    Path("map.json").write_text(json.dumps(sample_figures.mapping_record_3d()))


def test_reads_what_is_here_and_prints_the_path(rankwise: Rankwise) -> None:
    answer, quality, page = rankwise("report").out.splitlines()
    assert answer.startswith("✓ ") and quality.startswith("Quality: ") and page == "Page  rankwise-report.html"
    text = Path("rankwise-report.html").read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>") and text.rstrip().endswith("</html>")
    assert "node17" in text


def test_named_files_and_json(rankwise: Rankwise) -> None:
    for name in ("machine.json", "map.json"):
        Path(name).rename(f"my-{name}")
    Path("validate.json").unlink()
    result = rankwise("report --profile my-machine.json --mapping my-map.json -o sub/r.html --json").json
    assert result.pop("trust")["level"] == "unknown"
    assert result["report"] == "sub/r.html" and result["sections"] == ["machine", "latency", "bandwidth", "mapping"]
    assert result["headline"].startswith("Between cores of one socket a message starts in 321 ns")
    assert result["links"]["same-socket"]["bandwidth_of_bytes"] == 4 * 2**20 and result["next"][0]["command"].startswith(
        "rankwise "
    )
    assert Path("sub/r.html").exists()


def test_profiles_side_by_side(rankwise: Rankwise, refused: Refused) -> None:
    before = sample_figures.profile()
    before.save(Path("a.json"))
    sample_figures.slower(before, 2).save(Path("b.json"))
    assert rankwise("report a.json b.json -o both.html --json").json["profiles"][1]["name"] == "b.json"
    assert "a.json to b.json" in Path("both.html").read_text(encoding="utf-8")
    assert "stands alone" in refused("report a.json")
    assert "leave these out" in refused("report a.json b.json --profile a.json")
    assert "one of the inputs" in refused("report a.json b.json -o b.json")


def test_nothing_to_report_names_quick(refused: Refused) -> None:
    for path in Path().iterdir():
        path.unlink()
    assert "rankwise quick" in refused("report")


@pytest.mark.parametrize("name", ["machine.json", "validate.json", "map.json"])
def test_a_half_written_file_is_named_and_nothing_written(refused: Refused, name: str) -> None:
    Path(name).write_text('{"schema": 1, "rows": [')
    assert name in refused("report")
    assert not Path("rankwise-report.html").exists()


def test_inputs_are_never_overwritten(refused: Refused) -> None:
    before = Path("machine.json").read_bytes()
    assert "one of the inputs" in refused("report -o ./machine.json")
    assert Path("machine.json").read_bytes() == before
    assert "is a folder" in refused("report -o .")


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
def test_what_forbids_drawing_leaves_static_pictures_out(before: str, why: str, built: bool) -> None:
    """The engine is an extra, and batch systems set limits in which it would end the process. What was built draws in the
    reader's browser all the same."""
    script = Path("vega.js").resolve()
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
    page, how = unescape(Path("rankwise-report.html").read_text(encoding="utf-8")), " without a script" * built
    assert page.count(f"<p>Not drawn{how}, as {why}.") == page.count('<div class="chart only"') > 0
    assert ("vegaEmbed=" in page) == built
    if not built:
        found = limited("map", "--grid", "4x4", "--nodes", "4", "--ppn", "4", "--plot", "map.svg")
        assert found.returncode == EXIT_ENVIRONMENT and "J_sum" in found.stdout
        assert found.stderr.splitlines()[-1] == f"rankwise: a picture cannot be drawn, as {why}, or write a page (.html)"
