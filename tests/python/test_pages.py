"""What the pages say of themselves: pictures as they are drawn, words as the sources have them, every variable, every form of
a term."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from pages import PAGES, ROOT

DOCS = ROOT / "docs"


def _text(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def test_pictures_are_as_they_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``python docs/make_pictures.py`` draws them again."""
    monkeypatch.syspath_prepend(str(DOCS))
    monkeypatch.chdir(tmp_path)
    import make_pictures

    for name, draw in make_pictures.PICTURES.items():
        assert (DOCS / "images" / f"{name}.svg").read_text(encoding="utf-8") == draw().file(), name
        assert f"images/{name}.svg" in _text("concepts.md")


def _said() -> str:
    """Return the sources of the package without comments, in which the lines of a text are joined."""
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "python" / "rankwise").rglob("*.py"))
    return re.sub(r'"\n\s*f?"', "", re.sub(r"^\s*#.*\n", "", sources, flags=re.MULTILINE))


def test_symptoms_are_words_of_the_sources() -> None:
    rows = [line.split("|")[1] for line in _text("troubleshooting.md").splitlines() if line.startswith("| ")]
    words = [words for cell in rows for words in re.findall(r"`([^`]+)`", cell) if words != "rankwise preload"]
    assert len(words) > 20
    said = _said()
    assert [one for one in words if one not in said] == []


def test_every_environment_variable_is_told_and_no_other() -> None:
    sources = [
        path for part in ("python", "src") for path in (ROOT / part).rglob("*") if path.suffix in (".py", ".cpp", ".c", ".hpp")
    ]
    sources.remove(ROOT / "python" / "rankwise" / "launch" / "build.py")  # names variables of CMake
    used = {name for path in sources for name in re.findall(r'"(RANKWISE_[A-Z_]+)"', path.read_text(encoding="utf-8"))}
    assert set(re.findall(r"`(RANKWISE_[A-Z_]+)`", _text("environment.md"))) == used


def test_links_to_files_and_places_lead_somewhere() -> None:
    """The site's build holds links between its pages; this holds those of README and CONTRIBUTING, as they stand on disk."""
    for page in PAGES:
        text = re.sub(r"```.*?```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)
        for target, _, place in re.findall(r"\]\((?!https?:)([^)#\s]*)(#([^)\s]+))?\)", text):
            path = ((ROOT / page).parent / target).resolve() if target else ROOT / page
            assert path.exists(), f"{page}: {target}"
            if place and path.suffix == ".md" and "reference" not in path.parts:
                assert place in _places(path), f"{page}: {target}#{place}"


@cache
def _places(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_reference_is_made_of_all_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS / "site"))
    import made_from_sources

    import rankwise

    header = (ROOT / "include" / "rankwise" / "rankwise.h").read_text(encoding="utf-8")
    functions = set(re.findall(r"^RANKWISE_API [^(]*?(\w+)\(", header, re.MULTILINE))
    page = made_from_sources.c_header()
    assert len(functions) > 60
    assert {
        name for name in functions if not re.search(rf"{{c:function}}.* \*?{name}\(|^[\w *]+{name}\(", page, re.MULTILINE)
    } == set()
    from rankwise.cli.layout import value_of
    from rankwise.cli.verbs import MODULES, SAYS

    pages = {name: made_from_sources.verb(name) for name in MODULES}
    for words, command, _ in made_from_sources.verbs():
        page = pages[words.split()[0]]
        assert re.search(rf"^#+ rankwise {words}$", page, re.MULTILINE) and command.example.splitlines()[0] in page, words
        hidden = {option for option in command.params if getattr(option, "hidden", False)}
        shown = {value_of(one) if one.param_type_name == "argument" else one.opts[-1] for one in {*command.params} - hidden}
        assert [name for name in shown if name not in page] == [], words
    assert all(f"](verbs/{name}.md)" in made_from_sources.command_line() for name in SAYS)
    python = made_from_sources.python_api()
    offered = [name for name in rankwise._module_of() if not name.startswith("_")]
    assert [name for name in offered if not re.search(rf"\.{name}[(\n]", python)] == []
    halo = re.sub(r"&\n +", "", (ROOT / "src/fortran/rankwise_halo.f90").read_text(encoding="utf-8"))
    procedures, constants = re.findall(r"^  public :: (.*)", halo, re.MULTILINE)
    fortran = made_from_sources.fortran_modules()
    assert [name for name in procedures.split(", ") if not re.search(rf"^### (type )?{name}$", fortran, re.MULTILINE)] == []
    assert [name for name in constants.split(", ") if f":: {name} = " not in fortran] == []


def test_examples_of_verbs_give_options_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples stand in every help and in the reference. Those of Slurm take other verbs' options, too."""
    monkeypatch.syspath_prepend(str(DOCS / "site"))
    import made_from_sources

    known = {words: command for words, command, _ in made_from_sources.verbs()}
    lines = [line for command in known.values() for line in getattr(command, "example", "").splitlines()]
    checked = 0
    for line in lines:
        words = re.split(r" -- | \| | > ", line)[0].split()
        assert words[0] == "rankwise" or "=" in words[0] or words[0] in ("salloc", "mpiexec"), line
        words = words[words.index("rankwise") + 1 :]
        command = next(known[name] for n in (3, 2, 1) if (name := " ".join(words[:n])) in known)
        if getattr(command, "commands", None) or command.context_settings.get("ignore_unknown_options"):
            continue
        options = {option for param in command.params for option in (*param.opts, *param.secondary_opts)} | {"--help"}
        given = [word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)]
        assert [option for option in given if option not in options] == [], line
        checked += 1
    assert checked > 100
