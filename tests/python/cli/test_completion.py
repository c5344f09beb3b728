"""Completion in a real bash, and manual pages that a formatter takes."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from verbs import Rankwise, Refused

_TRY = """
source {script}
COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _rankwise; echo "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("rankwise pre", "preload predict"),
        ("rankwise predict ha", "halo"),
        ("rankwise predict halo --bo", "--box"),
        ("rankwise predict halo --grid 4x4 --bo", "--box"),
        ("rankwise measure --sec", "--seconds"),
        ("rankwise measure latency --sec", "--seconds"),
        ("rankwise observe -- predict ha", ""),
        ("rankwise slurm script --part", "--partition"),
    ],
)
def test_bash_completes_commands_and_their_options(words: str, found: str, rankwise: Rankwise, tmp_path: Path) -> None:
    script = tmp_path / "completion"
    script.write_text(rankwise("completion bash").out)
    done = subprocess.run(["bash", "-c", _TRY.format(script=script, words=words)], capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == (found, "")


def test_each_command_has_a_manual_page(rankwise: Rankwise, tmp_path: Path) -> None:
    assert rankwise("completion man --folder", tmp_path / "man1").code == 0
    pages = {path.name: path.read_text() for path in (tmp_path / "man1").iterdir()}
    assert {"rankwise.1", "rankwise-measure-latency.1", "rankwise-predict-collective.1"} <= pages.keys()
    page = pages["rankwise-predict-halo.1"]
    assert (
        re.search(r'.TH "RANKWISE-PREDICT-HALO" "1" "\d{4}-\d\d-\d\d" ', page)
        and ".B \\-\\-box" in page
        and "rankwise predict halo" in page
    )
    assert all(text.isascii() and text.count(".SH NAME") == 1 for text in pages.values())
    macros = {line.split()[0] for text in pages.values() for line in text.splitlines() if line.startswith(".")}
    assert macros <= {".TH", ".SH", ".B", ".PP", ".TP", ".nf", ".fi"}


def test_a_folders_name_does_not_steer_the_terminal(rankwise: Rankwise, tmp_path: Path) -> None:
    folder = tmp_path / "\x1b[31mred"
    result = rankwise(f"completion man --folder {folder}")
    assert (folder / "rankwise.1").is_file() and "\\x1b[31mred: man" in result.out and "\x1b" not in result.out


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes links of another user")
def test_manual_pages_are_not_written_through_a_link_of_another_user(rankwise: Rankwise, tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("kept")
    (tmp_path / "rankwise.1").symlink_to("victim")
    os.lchown(tmp_path / "rankwise.1", 65534, 65534)
    assert rankwise(f"completion man --folder {tmp_path}").code == 2
    assert (tmp_path / "victim").read_text() == "kept"


def test_fish_has_a_line_for_each_command_and_option(rankwise: Rankwise) -> None:
    lines = rankwise("completion fish").out.splitlines()
    assert any("-a halo " in line and "'__rankwise_at '\"'\"'rankwise predict'\"'\"''" in line for line in lines)
    assert any("-l box " in line and "rankwise predict halo" in line for line in lines)


def test_another_shell_is_refused(refused: Refused) -> None:
    assert "'tcsh' is unknown: choose bash, zsh, fish or man" in refused("completion tcsh")
