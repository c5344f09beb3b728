"""What holds for every verb: help that starts with an example, one-line errors, exit codes, stdout for results only."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import sample_figures
from rankwise.cli.base import app, command_tree
from rankwise.cli.layout import commands_of
from rankwise.cli.verbs import GROUPS, MODULES, SAYS, register_verbs
from verbs import Rankwise, Refused


def _verbs() -> Iterator[list[str]]:
    def walk(application: typer.Typer, path: list[str]) -> Iterator[list[str]]:
        for command in application.registered_commands:
            yield [*path, str(command.name)]
        for under in application.registered_groups:
            assert under.typer_instance is not None
            yield from walk(under.typer_instance, [*path, str(under.typer_instance.info.name)])

    register_verbs([])
    yield from walk(app, [])


VERBS = list(_verbs())
DEFAULTED = ["choose", "health", "measure", "observe"]  # groups with a default
GROUPED = sorted({verb[0] for verb in VERBS if len(verb) > 1} - {*DEFAULTED})


def test_the_verbs_of_the_contract_are_there() -> None:
    names = {" ".join(verb) for verb in VERBS}
    assert names >= {
        "quick", "doctor", "measure latency", "fit", "profile show", "profile fit", "profile import",
        "predict exchange", "run exchange",
        "validate exchange", "map", "report", "machines list", "machines show", "project table", "project fft3d",
        "project exchange", "project stencil", "reproduce czechowski2012",
    }  # fmt: skip


IMPERATIVES = {
    "Check", "Compare", "Find", "Fit", "Let", "List", "Measure", "Predict", "Print", "Rank", "Record", "Redo", "Run", "Say",
    "Show", "Take", "Write",
}  # fmt: skip


def test_the_first_help_has_twelve_verbs_in_four_groups(rankwise: Rankwise) -> None:
    lines = rankwise("--help").out.splitlines()
    assert len(lines) <= 32 and any("rankwise quick" in line for line in lines[:5])
    assert len(GROUPS) == 4 and sum(len(first) for first, _ in GROUPS.values()) <= 12
    for title, (first, _) in GROUPS.items():
        at = lines.index(f"{title}:") + 1
        rows = [line.split(maxsplit=1) for line in lines[at : at + len(first)]]
        assert [name for name, _ in rows] == [*first] and not lines[at + len(first)].strip()
        assert {says.split()[0].rstrip(",") for _, says in rows} <= IMPERATIVES
    everything = rankwise("help --all").out.splitlines()
    rows = [line.split(maxsplit=1) for line in everything if line.startswith("  ")]
    assert [name for name, _ in rows] == [name for _, further in GROUPS.values() for name in further]
    assert {says.split()[0].rstrip(",") for _, says in rows} <= IMPERATIVES
    assert max(map(len, [*lines, *everything])) <= 76


@pytest.mark.parametrize("words", ["predict halo", "measure", "profile"], ids=" ".join)
def test_help_shows_that_of_a_command(rankwise: Rankwise, words: str) -> None:
    assert rankwise(f"help {words}").out == rankwise(words, "--help").out


def test_help_of_what_is_no_command_is_one_line_and_exit_2(refused: Refused) -> None:
    assert "measure" in refused("help mesure")


@pytest.mark.parametrize("verb", [[], *VERBS, *([group] for group in GROUPED)], ids=" ".join)
def test_help_says_what_a_verb_does_gives_an_example_and_fits(rankwise: Rankwise, verb: list[str]) -> None:
    """Asked for shortly or in full: the short one is a screen that names each option."""
    short, whole = (rankwise(*verb, option) for option in ("-h", "--help"))
    named = verb[:1] if verb == ["measure", "latency"] else verb
    for shown in (short, whole):
        says, _, example = shown.out.partition("\n\n")
        assert shown.code == 0 and all(len(line) <= 80 and "…" not in line for line in shown.out.splitlines())
        assert not verb or (len(says.splitlines()) <= 3 and example.startswith("  rankwise " + " ".join(named)))
    assert len(short.out.splitlines()) <= 32
    options = set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", whole.out, re.MULTILINE))
    assert options == {option for option in options if option in short.out}
    assert not options or {"What:", "Where:", "How long:", "Output:"} & {*whole.out.splitlines()}


def test_what_is_said_of_options_by_name_is_of_options_that_there_are() -> None:
    from rankwise.cli.layout import _PLACES

    register_verbs([])
    named = {max(option.opts, key=len).removeprefix("--") for _, option in _options(command_tree())}
    assert _PLACES.keys() <= named


def _options(command: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, inner in getattr(command, "commands", {}).items():
        yield from _options(inner, f"{path} {name}".strip())
    if not hasattr(command, "commands"):
        yield from ((path, option) for option in command.params)


def test_what_is_written_at_the_end_is_checked_at_the_beginning() -> None:
    register_verbs([])
    files = {"plot", "page", "prometheus", "timeline", "html", "output"}
    folders = ("older", "command's record")  # checked where these are made, and where programs are observed
    written = {(verb, option) for verb, option in _options(command_tree()) if option.name in files}
    unchecked = [
        (verb, option.name)
        for verb, option in written
        if option.callback is None and not any(word in option.help for word in folders)
    ]
    assert len(written) > 30 and not unchecked


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_an_unknown_option_is_one_line_and_exit_2(refused: Refused, verb: list[str]) -> None:
    said = refused(*verb, "--no-such-option")
    assert "--no-such-option" in said and "see 'rankwise" in said


def test_an_unknown_verb_is_one_line_and_exit_2(rankwise: Rankwise) -> None:
    result = rankwise("mesure")
    assert result.code == 2
    assert len(result.err.splitlines()) == 1


@pytest.mark.parametrize("group", GROUPED)
def test_a_group_without_a_command_shows_its_help(rankwise: Rankwise, group: str) -> None:
    result = rankwise(group)
    assert (result.code, result.err) == (0, "") and result.out == rankwise(group, "-h").out
    listed = re.split(r"^[A-Z]+:$", result.out, flags=re.MULTILINE)[1].split()
    assert {verb[1] for verb in VERBS if verb[0] == group and len(verb) > 1} <= set(listed)


@pytest.mark.parametrize("group", DEFAULTED)
def test_a_group_with_a_default_lists_its_commands(rankwise: Rankwise, group: str) -> None:
    for option in ("-h", "--help"):
        listed = re.split(r"^[A-Z]+ \(default: \w+\):$", rankwise(group, option).out, flags=re.MULTILINE)[1].split("\n\n")[0]
        assert {verb[1] for verb in VERBS if verb[0] == group and len(verb) > 1} - {"pingpong"} <= set(listed.split())


def test_no_verb_at_all_shows_the_formatted_help(rankwise: Rankwise) -> None:
    result = rankwise()
    assert (result.code, result.err) == (0, "")
    assert result.out == rankwise("--help").out


def test_the_version_is_the_package_s(rankwise: Rankwise) -> None:
    import rankwise as package

    assert rankwise("--version").out == f"rankwise {package.__version__}\n"


def test_a_verb_is_registered_by_the_modules_of_its_first_word() -> None:
    assert {verb[0] for verb in VERBS} == MODULES.keys()
    for application, first in [(app, None), *((g.typer_instance, g.typer_instance.info.name) for g in app.registered_groups)]:
        for command in application.registered_commands:
            assert command.callback.__module__.removeprefix("rankwise.cli.") in MODULES[first or command.name]


def test_what_is_not_needed_is_not_imported(two_level_profile: Path) -> None:
    def imported(*words: str) -> set[str]:
        script = f"import sys; from rankwise.cli.main import run; run({[*words]!r}); print(*sys.modules, file=sys.stderr)"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
        return set(done.stderr.split())

    listing = imported("--help")
    assert not listing & {"numpy", "highspy", "vl_convert", "jinja2", "pydantic", "rankwise.api.results", "rankwise.workloads"}
    predicted = imported("predict", "exchange", "--profile", str(two_level_profile))
    assert "rankwise.engines.predict" in predicted
    assert not predicted & {f"rankwise.engines.{name}" for name in ("session", "run", "simulate", "fft_lengths", "platform")}
    described = imported("project", "fft3d", "--machine", "frontier", "--n", "32768", "--nodes", "4096", "--json")
    assert not described & {"numpy", "highspy", "vl_convert", "jinja2", "rich.table"}
    for words in (["choose", "exchange", "-h"], ["choose", "-h"], ["predict"]):
        assert "numpy" not in imported(*words), words
    assert "rankwise.workloads.collective" in imported("predict") - imported("predict", "halo", "-h")


def test_lists_of_verbs_say_what_their_helps_say() -> None:
    register_verbs([])
    assert dict(commands_of(command_tree(), None)[1]) == {**SAYS, "help": "Show the help of a command"}


def test_an_internal_error_is_one_line(rankwise: Rankwise, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: object) -> object:
        raise KeyError("oops")

    monkeypatch.delenv("RANKWISE_TRACEBACK", raising=False)
    monkeypatch.setattr("rankwise.machine.profile.Profile.load", broken)
    result = rankwise("profile show")
    assert result.code == 1
    assert len(result.err.splitlines()) == 1
    assert "internal error: KeyError" in result.err


@pytest.mark.parametrize("verb", [["machines", "list"], ["map", "--grid", "7x11", "--nodes", "7", "--ppn", "11"]])
def test_a_reader_that_has_enough_is_no_failure(verb: list[str]) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-m", "rankwise", *verb], stdout=pipe, stderr=pipe, text=True) as child:
        assert child.stdout is not None and child.stderr is not None
        child.stdout.close()
        words = child.stderr.read()
        assert child.wait(60) == 0
        assert "Traceback" not in words and "Broken" not in words


@pytest.mark.parametrize("words", ["measure -o", "report --profile", "profile show"])
def test_a_name_that_is_too_long_is_wrong_input(refused: Refused, words: str) -> None:
    assert "File name too long" in refused(words, "x" * 300)


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.mark.parametrize("ends", SIGNALS)
def test_a_signal_is_one_line_and_130(ends: signal.Signals) -> None:
    def as_in_a_terminal() -> None:
        for number in SIGNALS:  # nohup and background jobs have some of them ignored
            signal.signal(number, signal.SIG_DFL)

    command = [sys.executable, "-m", "rankwise", "observe", "show", "/dev/stdin"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stderr=pipe, text=True, preexec_fn=as_in_a_terminal) as child:
        try:
            until = time.monotonic() + 60
            while not _handles(child.pid, signal.SIGHUP) and time.monotonic() < until:
                time.sleep(0.02)
            child.send_signal(ends)
            child.wait(60)
            assert child.stderr is not None and child.stderr.read() == "rankwise: interrupted\n"
            assert child.returncode == 130
        finally:
            child.kill()


def _handles(process: int, number: int) -> bool:
    """Tell whether a process has a handler for a signal of its own."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)


def test_a_name_that_is_nearly_right_is_guessed(rankwise: Rankwise) -> None:
    result = rankwise("reproduce czechowsky2012 --json")
    assert result.code == 2
    assert result.json["error"]["what"] == "unknown STUDY 'czechowsky2012' of rankwise reproduce"
    assert result.json["error"]["mend"] == "did you mean czechowski2012? see 'rankwise reproduce -h'"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_open_to_nowhere(tmp_path: Path, closed: str) -> None:
    """Neither an error, nor a complaint among results, nor a file in the stream's place."""
    for words, code in (("map --grid 4x4 --nodes 4 --ppn 4 -o map.json", 0), ("map --grid 4y4 --nodes 4 --ppn 4", 2)):
        script = f'"$0" -m rankwise {words} {closed}'
        done = subprocess.run(["sh", "-c", script, sys.executable], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        assert (done.stdout != "") == (code == 0 and " >&-" not in f" {closed}"), done.stdout
        assert (done.stderr != "") == (code == 2 and "2>&-" not in closed), done.stderr
    assert json.loads((tmp_path / "map.json").read_text())["results"]


def test_names_in_files_of_others_do_not_steer_a_terminal(rankwise: Rankwise) -> None:
    odd = "\x1b]0;title\x07\x9b2J\u202eevil"
    profile = sample_figures.profile()
    profile.machine["cpu_model"] = odd
    profile.save(Path("machine.json"))
    Path("bad.json").write_text(json.dumps({"schema": 1, odd: odd, "links": odd}))
    for words in (["profile", "show", "machine.json"], ["profile", "show", "bad.json"], ["report", "-o", f"x/{odd}/"]):
        done = rankwise(*words)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", done.out + done.err), (done.out, done.err)
    assert "\\x1b]0;title\\x07" in rankwise("profile show machine.json").out


def test_a_limit_of_memory_is_named_where_it_leaves_no_room(tmp_path: Path) -> None:
    script = 'ulimit -v 60000; exec "$0" -m rankwise map --grid 4x4 --nodes 2 --ppn 8'
    done = subprocess.run(["sh", "-c", script, sys.executable], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr == "rankwise: memory ran out: raise 'ulimit -v' of 58 MiB, or ask for less\n"
