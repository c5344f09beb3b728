"""What commands print and write, held against what they printed before.

``cases.txt`` has the commands, in sections: those of a section run in order in a folder of their own, which holds ``inputs/``
and what the section names of the repository. A line that begins with ``python`` is an expression of the Python interface.
``expected/`` has what came of them: exit code, stderr, JSON as it is, short text as it is, long text and files as a digest.
Figures are compared to nine digits; times of day, durations, versions and folders are left out.

    python tests/python/frozen/outputs.py check [SECTION ...]
    python tests/python/frozen/outputs.py write [SECTION ...]

Screens are also held against what all of them keep to (``screens.py``).

``RANKWISE_FROZEN_TEXTS`` names a folder for the whole texts: written with ``write``, shown as a difference with ``check``.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import io
import json
import os
import platform
import re
import shlex
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from rankwise.units import format_day
from screens import faults

REPOSITORY = HERE.parents[2]
SHORT, SHORT_JSON = 1000, 3000  # characters of text and of JSON that are kept as they are
DIGITS = 9
# JSON keys whose values are the clock's, the machine's or the version's.
VARYING = frozenset({"created", "seconds", "instantiation_s"})
_NUMBER = re.compile(r"(?<![\w.])[+-]?\d+\.\d+(?:[eE][+-]?\d+)?(?![\w.])")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?")
_SVG = re.compile(r"<svg\b.*?</svg>", re.DOTALL)
Record = dict[str, Any]


@dataclass(frozen=True)
class Section:
    """Commands that run one after the other in one folder."""

    name: str
    commands: tuple[str, ...]
    takes: tuple[str, ...] = ()  # files of the repository that are copied there
    varies: tuple[str, ...] = ()  # patterns of text that differs from one run to the next; columns are not kept apart then
    needs: str = ""  # a program without which the section cannot run

    @property
    def expected(self) -> Path:
        return HERE / "expected" / f"{self.name}.jsonl"


def sections() -> list[Section]:
    """Read ``cases.txt``."""
    found: list[dict[str, Any]] = []
    for line in (HERE / "cases.txt").read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("["):
            found.append({"name": line.strip("[] "), "commands": [], "takes": [], "varies": [], "needs": ""})
        elif line.startswith("takes "):
            found[-1]["takes"] += line.split()[1:]
        elif line.startswith("varies "):
            found[-1]["varies"].append(line.removeprefix("varies "))
        elif line.startswith("needs "):
            found[-1]["needs"] = line.split()[1]
        else:
            found[-1]["commands"].append(line.strip())
    return [
        Section(one["name"], tuple(one["commands"]), tuple(one["takes"]), tuple(one["varies"]), one["needs"]) for one in found
    ]


def run(section: Section, folder: Path) -> Iterator[tuple[Record, dict[str, str]]]:
    """Run a section's commands in an empty folder; yield what is kept of each, and the whole texts by name."""
    for path in (HERE / "inputs").iterdir():
        shutil.copyfile(path, folder / path.name)
    for name in section.takes:
        source = REPOSITORY / name
        if source.is_dir():
            shutil.copytree(source, folder / source.name)
        else:
            shutil.copyfile(source, folder / source.name)
    with _surroundings(folder):
        for command in section.commands:
            before = _files(folder)
            texts = _outcome(command)
            code = int(texts.pop("code"))
            screen = "\n".join(faults(command, texts["out"], texts["err"])) if command.startswith("rankwise") else ""
            after = {path: text for path, text in _files(folder).items() if before.get(path) != text}
            texts |= {f"file {name}": _text_of_file(name, content) for name, content in after.items()}
            texts = {what: _steady(section, _without_folder(text, folder)) for what, text in texts.items()}
            yield _kept(command, code, texts), {**texts, "screen": screen}


@contextlib.contextmanager
def _surroundings(folder: Path) -> Iterator[None]:
    """Stand in a folder, 80 columns wide, with an empty cache and without settings."""
    was, here = dict(os.environ), Path.cwd()
    for name in [
        name for name in os.environ if name.startswith(("RANKWISE_", "SLURM_")) and not name.startswith("RANKWISE_FROZEN")
    ]:
        del os.environ[name]
    os.environ |= {
        "COLUMNS": "80", "XDG_CACHE_HOME": str(folder / "cache"), "RANKWISE_PROGRESS_S": "0", "NO_COLOR": "1",
        "RANKWISE_LEDGER": str(folder / "ledger.jsonl"),
    }  # fmt: skip
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(here)
        os.environ.clear()
        os.environ.update(was)


def _files(folder: Path) -> dict[str, bytes]:
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    found = {str(path.relative_to(folder)): path.read_bytes() for path in paths}
    return {name: content for name, content in found.items() if not name.startswith("cache/")}


def _outcome(command: str) -> dict[str, str]:
    if command.startswith("python "):
        return _of_expression(command.removeprefix("python "))
    from rankwise.cli.main import run as run_command

    with _written() as said, patch("rankwise.blocks.terminal.on_terminal", return_value=True):
        try:
            code = run_command(shlex.split(command)[1:])
        except SystemExit as leave:
            code = int(leave.code or 0)
    return {"code": str(code), **said}


@contextlib.contextmanager
def _written() -> Iterator[dict[str, str]]:
    """Gather what is written to stdout and stderr, as a terminal that shows all signs would show it."""
    said: dict[str, str] = {}
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)]
    with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from rankwise.cli.terminal import fit_streams

        fit_streams()
        yield said
    for name, stream in zip(("out", "err"), streams, strict=True):
        stream.flush()
        said[name] = stream.buffer.getvalue().decode("utf-8")  # type: ignore[attr-defined]


def _of_expression(expression: str) -> dict[str, str]:
    """Evaluate an expression over ``rankwise``'s names; of an answer its JSON, conclusion and how a notebook shows it."""
    import rankwise

    names = {name: getattr(rankwise, name) for name in dir(rankwise) if re.search(rf"\b{name}\b", expression)}
    code, texts = 0, {}
    with _written() as said:
        try:
            found = eval(expression, {**names, "rankwise": rankwise})
            texts["value"] = json.dumps(found.to_dict() if hasattr(found, "to_dict") else found, default=str)
            for what in ("conclusion", "_repr_html_"):
                if hasattr(found, what):
                    shown = getattr(found, what)
                    texts[what.strip("_")] = str(shown() if callable(shown) else shown)
        except Exception as error:
            code = 1
            texts["error"] = f"{type(error).__name__}: {error}"
    return {"code": str(code), **said, **texts}


def _text_of_file(name: str, content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return hashlib.sha256(content).hexdigest()


def _without_folder(text: str, folder: Path) -> str:
    for path in {str(folder), str(folder.resolve())}:
        text = text.replace(path, "FOLDER")
    text = text.replace(str(REPOSITORY), "REPOSITORY").replace(sys.prefix, "PREFIX").replace(platform.release(), "KERNEL")
    for day in {format_day(time.strftime("%Y-%m-%d", at)) for at in (time.gmtime(), time.localtime())}:
        text = text.replace(day, "TODAY")
    return _TIME.sub("TIME", re.sub(rf"(?<![\d.]){re.escape(_version())}(?![\d.])", "VERSION", text))


def _steady(section: Section, text: str) -> str:
    """Return a text without what differs from one run to the next."""
    if section.varies and _json_of(text) is None:
        text = re.sub(r" +", " ", re.sub(r"-{3,}", "---", text))
        for pattern in section.varies:
            text = re.sub(pattern, "VARIES", text, flags=re.MULTILINE)
    return text


def _version() -> str:
    from rankwise import _core

    return str(_core.version)


def _kept(command: str, code: int, texts: Mapping[str, str]) -> Record:
    """Return what stands in ``expected/`` for a command: empty texts are left out."""
    kept: Record = {"command": command, "code": code}
    for what, text in texts.items():
        if not text:
            continue
        value = _json_of(text) if what in ("out", "value") else None
        if value is not None:
            exact = json.dumps(rounded(value), sort_keys=True)
            kept[f"{what} json"] = rounded(value) if len(exact) <= SHORT_JSON else _digest(exact)
        elif what.endswith((".html", ".svg", "repr_html")):
            kept[what] = _digest(words_of_page(text))
            if pictures := "".join(_SVG.findall(text)):
                kept[f"{what} pictures"] = {"drawn by": _drawn_by(), **_digest(_rounded_text(pictures, 3))}
        elif what.endswith((".json", ".jsonl")):
            kept[what] = _digest(json.dumps([rounded(_json_of(line)) for line in _lines_of_json(text)], sort_keys=True))
        else:
            exact = _rounded_text(text, DIGITS)
            kept[what] = exact if len(exact) <= SHORT and not what.startswith("file ") else _digest(exact)
    return kept


def _lines_of_json(text: str) -> list[str]:
    return [text] if _json_of(text) is not None else text.splitlines()


def _json_of(text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict | list) else None


def rounded(value: Any) -> Any:
    """Return a JSON value with its figures to nine digits, and without what varies from one run to the next."""
    if isinstance(value, dict):
        return {key: "VARIES" if key in VARYING else rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _rounded_text(text: str, digits: int) -> str:
    return _NUMBER.sub(lambda found: f"{float(found[0]):.{digits}g}" if len(found[0]) > digits else found[0], text)


def words_of_page(text: str) -> str:
    """Return a page with only the words of its pictures, still or live, and without scripts."""
    text = re.sub(r'<script type="application/json">(.*?)</script>', _words_of_live_picture, text, flags=re.DOTALL)
    text = re.sub(r"<script\b.*?</script>", "<script/>", text, flags=re.DOTALL)
    return _rounded_text(_SVG.sub(lambda found: " ".join(re.findall(r">([^<>]+)<", found[0])), text), DIGITS)


def _words_of_live_picture(script: re.Match[str]) -> str:
    words = set()

    def gather(value: Any) -> None:
        if isinstance(value, dict):
            words.update(one for key, one in value.items() if key in ("tip", "title", "subtitle") and isinstance(one, str))
        for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            gather(one)

    gather(_json_of(script[1]))
    return "\n".join(sorted(words))


def _drawn_by() -> str:
    from importlib.metadata import version

    return version("vl-convert-python")


def _digest(text: str) -> Record:
    return {"sha256": hashlib.sha256(text.encode()).hexdigest()[:20], "characters": len(text)}


def differences(expected: Record, found: Record, path: str = "") -> Iterator[str]:
    """Yield where two records differ; figures may differ in the last of their digits, pictures of other programs wholly."""
    if isinstance(expected, dict) and isinstance(found, dict):
        if "drawn by" in expected and "drawn by" in found and expected["drawn by"] != found["drawn by"]:
            return
        for key in {**expected, **found}:
            if key not in expected:
                yield f"{path}/{key}: new: {_short(found[key])}"
            elif key not in found:
                yield f"{path}/{key}: gone: {_short(expected[key])}"
            else:
                yield from differences(expected[key], found[key], f"{path}/{key}")
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for i, (one, other) in enumerate(zip(expected, found, strict=True)):
            yield from differences(one, other, f"{path}[{i}]")
    elif _is_number(expected) and _is_number(found):
        if abs(expected - found) > 2 * 10.0 ** (1 - DIGITS) * max(abs(expected), abs(found)):
            yield f"{path}: {expected} -> {found}"
    elif type(expected) is not type(found) or expected != found:
        if isinstance(expected, str) and isinstance(found, str) and "\n" in expected + found:
            lines = difflib.unified_diff(expected.splitlines(), found.splitlines(), "before", "now", lineterm="", n=1)
            yield f"{path}:\n" + "\n".join(list(lines)[:40])
        else:
            yield f"{path}: {_short(expected)} -> {_short(found)}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 160 else f"{text[:160]}..."


def can_run(section: Section) -> bool:
    return not section.needs or shutil.which(section.needs) is not None


def check(section: Section) -> list[str]:
    """Run a section and return in words what differs from what is expected."""
    wanted = [json.loads(line) for line in section.expected.read_text(encoding="utf-8").splitlines()]
    if [record["command"] for record in wanted] != list(section.commands):
        return [f"{section.name}: cases.txt and expected/ have other commands: write the section anew"]
    wrong = []
    with tempfile.TemporaryDirectory(prefix="rankwise-frozen-") as folder:
        for number, ((found, texts), expected) in enumerate(zip(run(section, Path(folder)), wanted, strict=True)):
            said = [*differences(expected, json.loads(json.dumps(found))), *texts["screen"].splitlines()]
            if said:
                said += _whole_differences(section, number, texts)
                wrong.append(f"{section.name}: {expected['command']}\n  " + "\n  ".join(said[:12]))
    return wrong


def _whole_differences(section: Section, number: int, texts: Mapping[str, str]) -> Iterator[str]:
    folder = os.environ.get("RANKWISE_FROZEN_TEXTS")
    for what, text in texts.items():
        path = None if folder is None else _text_path(Path(folder), section, number, what)
        if path is not None and path.exists() and (before := path.read_text(encoding="utf-8")) != text:
            split = [re.sub(r"(?<=>)(?=<)", "\n", one).splitlines() for one in (before, text)]
            lines = list(difflib.unified_diff(*split, "before", "now", lineterm="", n=0))
            yield f"{what} (before: {path})\n" + "\n".join(line[:300] for line in lines[:30])


def _text_path(folder: Path, section: Section, number: int, what: str) -> Path:
    return folder / section.name / f"{number:02}-{re.sub(r'[^A-Za-z0-9.-]+', '_', what)}"


def write(section: Section) -> None:
    """Run a section and keep what comes of it."""
    kept = []
    with tempfile.TemporaryDirectory(prefix="rankwise-frozen-") as folder:
        for number, (record, texts) in enumerate(run(section, Path(folder))):
            kept.append(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")
            for what, text in texts.items() if "RANKWISE_FROZEN_TEXTS" in os.environ else ():
                path = _text_path(Path(os.environ["RANKWISE_FROZEN_TEXTS"]), section, number, what)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    section.expected.write_text("".join(kept), encoding="utf-8")


def main(arguments: list[str]) -> int:
    # As for all tests (conftest.py).
    os.environ |= {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR"}
    os.environ |= {"OMP_NUM_THREADS": "1"}
    verb, *names = arguments
    asked = [section for section in sections() if (section.name in names if names else not section.needs)]
    if verb == "write":
        for section in asked:
            write(section)
        return 0
    wrong = []
    for section in asked:
        began = time.process_time()
        wrong += check(section)
        if "RANKWISE_FROZEN_TIMES" in os.environ:
            print(f"{time.process_time() - began:6.2f} s {section.name}", file=sys.stderr)
    print("\n".join(wrong) if wrong else f"{sum(len(s.commands) for s in asked)} commands give what they gave before")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
