"""Job scripts as people read them, and what is refused before Slurm sees it."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise.errors import InputError
from rankwise.slurm.script import Settings, Work, job_script
from verbs import Rankwise, Refused

WHOLE = Settings(
    name="osu", nodes=2, tasks=4, tasks_per_node=2, time="1:30:00", partition="lva", account="p1", array="1-10%1",
    dependency="afterok:7", mail_user="me@example.org", mail_type="END", grace_s=60, requeue=True, modules=("openmpi/3.1.6",),
    environment={"OMP_NUM_THREADS": "1", "NOTE": "it's two words"}, extra=("--constraint=skylake",),
)  # fmt: skip


def test_the_whole_script() -> None:
    work = Work(("measure", "-o", "m.json", "--seconds", "3"), "m.samples.jsonl")
    assert job_script(WHOLE, work, ["/opt/bin/rankwise"]) == (Path(__file__).parent / "golden" / "job.sh").read_text()


def test_a_job_that_needs_little_asks_for_little() -> None:
    lines = job_script(Settings(), Work(("doctor",)), ["rankwise"]).splitlines()
    assert lines[:6] == [
        "#!/bin/bash", "#SBATCH --job-name=rankwise", "#SBATCH --nodes=1", "#SBATCH --exclusive", "#SBATCH --output=log-%j.txt",
        "#SBATCH --open-mode=append",
    ]  # fmt: skip
    assert lines[-1] == "exec rankwise doctor"


@pytest.mark.parametrize(
    ("words", "restarts", "samples", "resumes"),
    [
        (("measure",), "0", "x", False),
        (("measure",), "1", "x", True),
        (("measure",), "1", "", False),
        (("measure", "--resume"), "0", "x", True),
        (("measure", "--resume"), "0", "", False),
    ],
)
def test_a_job_begun_anew_goes_on_where_there_is_something_to_go_on_with(
    tmp_path: Path, words: tuple[str, ...], restarts: str, samples: str, resumes: bool
) -> None:
    (tmp_path / "m.samples.jsonl").write_text(samples)
    script = tmp_path / "job.sh"
    script.write_text(job_script(Settings(), Work(words, "m.samples.jsonl"), ["echo"]))
    done = subprocess.run(
        ["bash", str(script)], cwd=tmp_path, env={"SLURM_RESTART_COUNT": restarts, "PATH": "/bin:/usr/bin"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["measure", *(["--resume"] if resumes else [])]


@settings(deadline=None)  # a shell a time
@given(value=st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=30))
def test_values_reach_the_job_as_they_are(value: str) -> None:
    script = job_script(Settings(environment={"VALUE": value}), Work(("doctor", value)), ["printf", "%s|%s|%s", "$VALUE"])
    # What stands in the environment and on the command line is never the shell's to interpret.
    script = script.replace("'$VALUE'", '"$VALUE"')
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == f"{value}|doctor|{value}"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"time": "soon"}, "write 30 (minutes)"),
        ({"array": "1..3"}, "write 1-10"),
        ({"nodes": 0}, "at least 1"),
        ({"nodes": 4, "tasks": 2}, "give each node one at least"),
        ({"partition": "a b"}, "--partition"),
        ({"partition": "a\n#SBATCH --account=x"}, "cannot stand in a script"),
        ({"name": ""}, "--job-name"),
        ({"name": "x --wrap=id"}, "--job-name"),
        ({"extra": ("--comment=x --wrap=id",)}, "give each option on its own"),
        ({"nodelist": "-oProxyCommand=id"}, "node[001-016]"),
        ({"mail_type": "SOMETIMES"}, "choose one of NONE"),
        ({"nodelist": "n[1-"}, "node[001-016]"),
        ({"environment": {"A B": "1"}}, "NAME=VALUE"),
        ({"extra": ("gres",)}, "no option of sbatch"),
        ({"grace_s": -1}, "--grace"),
    ],
)
def test_what_cannot_stand_in_a_script_is_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as refused:
        Settings(**settings)
    assert words in str(refused.value)


def test_settings_come_back_from_their_record() -> None:
    assert Settings.from_dict(WHOLE.to_dict()) == WHOLE


def test_options_of_slurm_and_of_the_verb_may_be_mixed(rankwise: Rankwise) -> None:
    script = rankwise("slurm script measure --nodes 2 -o x/m.json --time 10 --launches 1 --json").answer["script"]
    assert "#SBATCH --nodes=2\n" in script and "#SBATCH --time=10\n" in script
    assert 'measure -o x/m.json --launches 1 "$@"' in script and "[ -s x/m.samples.jsonl ]" in script


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("", "what is the job to do"),
        ("profile show", "no work for a job"),
        ("run nothing", "no verb of rankwise"),
        ("measure --secconds 3", "--secconds"),
        ("measure --launches many", "--launches"),
        ("measure --launcher aprun", "did you mean srun?"),
        ("measure --env A", "--env NAME=VALUE"),
        ("measure --time soon", "--time 'soon'"),
        ("--resume", "does not exist"),
    ],
)
def test_wrong_options_are_told_before_a_job_waits_for_hours(refused: Refused, arguments: str, words: str) -> None:
    assert words in refused(f"slurm script {arguments}")


def test_help_is_help(rankwise: Rankwise) -> None:
    assert "\n\n  rankwise slurm script measure" in rankwise("slurm script measure --help").out


def test_a_file_that_is_no_record_of_jobs(refused: Refused) -> None:
    Path("rankwise-job").mkdir()
    Path("rankwise-job/jobs.json").write_text('{"jobs": [1]}')
    for verb in (["status"], ["fetch"], ["submit", "--resume"]):
        assert "jobs[0] is of another kind than it should be: name the folder" in refused("slurm", *verb)


def test_without_slurm_the_mend_is_told(rankwise: Rankwise, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    for verb in (["submit", "measure"], ["status", "1"], ["cancel", "1"], ["wait", "1"]):
        result = rankwise("slurm", *verb)
        assert result.code == 4 and "login node of a Slurm cluster" in result.err, result.err


def test_slurm_is_not_asked_more_often_than_every_five_seconds(refused: Refused) -> None:
    assert "give 5 or more" in refused("slurm wait 1 --interval 1")


def test_the_commands_of_the_cluster_page_are_understood(rankwise: Rankwise) -> None:
    page = (Path(__file__).parents[3] / "docs" / "cluster.md").read_text()
    blocks = "".join(re.findall(r"```sh\n(.*?)```", page, re.DOTALL))
    jobs = [line for line in blocks.splitlines() if re.match(r"rankwise slurm (script|submit) [^-]", line)]
    assert len(jobs) >= 3
    for line in jobs:
        result = rankwise("slurm script", *shlex.split(line)[3:])
        assert result.code == 0 and result.out.startswith("#!/bin/bash\n#SBATCH"), (line, result.err)
    (mapped,) = [line for line in blocks.splitlines() if line.startswith("rankwise map")]
    result = rankwise(*shlex.split(mapped.partition(">")[0])[1:])
    assert result.code == 0 and sorted(result.out.split()) == sorted(f"n{i}" for i in range(1, 5) for _ in range(4))
