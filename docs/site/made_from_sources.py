"""Pages of the reference are made from the sources while the site is built.

A page holds a line ``<!-- made from the sources: WHAT -->``; what stands in its place comes from the function of that name
below, as MyST. Links to the repository's other files are turned into copies that lie in the site, so that it needs no network.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from inspect import cleandoc, isclass
from pathlib import Path
from typing import Any

from c_header import c_header
from fortran_modules import fortran_modules
from schema_tables import json_schemas

ROOT = Path(__file__).parents[2]
MARK = re.compile(r"^<!-- made from the sources: (\w+) -->$", re.MULTILINE)


def command_line() -> str:
    """Return the verbs in the groups of the help: each with what it does, and a link to its page."""
    from rankwise.cli.verbs import GROUPS, SAYS

    lines = []
    for group, parts in GROUPS.items():
        lines += ["", f"### {group}", "", "| verb | what it does |", "|---|---|"]
        lines += [f"| [`rankwise {name}`](verbs/{name}.md) | {_escaped(SAYS[name])} |" for part in parts for name in part]
    return "\n".join(lines)


# The page that explains what a verb is for, where it is not called as the verb is.
_GUIDES = {
    "advise": "observe", "fit": "concepts", "map": "mapping", "measure": "measuring", "predict": "concepts",
    "preload": "reordering", "quick": "tutorial", "report": "pages", "reproduce": "papers", "slurm": "cluster",
    "try": "observe", "validate": "concepts",
}  # fmt: skip


def verb(name: str) -> str:
    """Return the page of a verb and of all below it: each as ``--help`` has it, options in its groups."""
    guide = _GUIDES.get(name, name)
    read_on = f"\n[How to use it](../../{guide}.md)\n" if (ROOT / "docs" / f"{guide}.md").exists() else ""
    return "\n".join(_help(*entry) for entry in verbs() if entry[0].split()[0] == name) + read_on


def _write_verbs(app: Any) -> None:
    """Write the page of each verb, unless it stands there: Sphinx reads what lies in the folder of its sources."""
    from rankwise.cli.verbs import SAYS

    folder = Path(app.srcdir) / "reference" / "verbs"
    folder.mkdir(exist_ok=True)
    pages = {folder / f"{name}.md": verb(name) for name in SAYS}
    for path in {*folder.glob("*.md")} - pages.keys():
        path.unlink()
    for path, text in pages.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def verbs() -> Iterator[tuple[str, Any, Any]]:
    """Yield all verbs of the command line and their groups: words, what typer made of them, and click's context."""

    from rankwise.cli.base import command_tree
    from rankwise.cli.help import commands
    from rankwise.cli.verbs import register_verbs

    register_verbs([])
    return ((path.removeprefix("rankwise "), *rest) for path, *rest in commands(command_tree()) if " " in path)


def _help(words: str, command: Any, context: Any) -> str:
    from rankwise.cli.layout import commands_of, first_sentence, options_of

    told = command.help or ""
    first = first_sentence(told)
    lines = [f"{'#' * min(1 + words.count(' '), 3)} rankwise {words}", "", _as_text(first), ""]
    lines += ["```text", *command.example.splitlines(), "```", "", _as_text(told.strip()[len(first) :].strip()), ""]
    if hasattr(command, "commands"):
        anchor = f"rankwise-{words.replace(' ', '-')}"
        title, listed = commands_of(command, context)
        lines += _table(title, (f"[`{name}`](#{anchor}-{name}) | {_as_text(says)}" for name, says in listed))
    for group, options in options_of(command, context).items():
        lines += _table(group, (f"`{names}` | {_as_text(says)}" for names, says, _ in options))
    return "\n".join(lines)


def _table(head: str, rows: Iterable[str]) -> list[str]:
    return [f"| {head} | |", "|---|---|", *(f"| {row} |" for row in rows), ""]


def _as_text(help: str) -> str:
    """Return a piece of help as MyST; click escapes brackets."""
    return _escaped(help.replace("\\[", "["))


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_<>\[\]|#$])", r"\\\1", text)


def python_api() -> str:
    """Return what ``rankwise`` offers in Python, in the order of its table: functions, questions, and what results have."""
    import rankwise

    places = {name: where for name, where in rankwise._module_of().items() if not name.startswith("_")}
    classes = [name for name in places if isclass(getattr(rankwise, name))]
    # A function by the module that has it: a part of the package may have its name.
    functions = [f"rankwise.{where.replace(':', '.')}" for name, where in places.items() if name not in classes]
    parts: dict[str, list[tuple[str, str, tuple[str, ...]]]] = {
        "Functions": [(name, "autofunction", ()) for name in functions],
        "Questions and classes": [(f"rankwise.{name}", "autoclass", (":members:",)) for name in classes],
        "Results": [("rankwise.api.results.Result", "autoclass", (":members:",))],
        "Errors": [("rankwise.errors", "automodule", (":members:",))],
    }
    lines = []
    for title, entries in parts.items():
        lines += [f"## {title}", "", "```{eval-rst}"]
        for name, directive, options in entries:
            lines += _question(name) or [f".. {directive}:: {name}", *(f"   {option}" for option in options), ""]
        lines += ["```", ""]
    return "\n".join(lines)


def _question(name: str) -> list[str]:
    """Return a question with its fields, each with what its option says of it; nothing for what is none."""
    import rankwise
    from rankwise.questions import Options

    kind = getattr(rankwise, name.rpartition(".")[2], None)
    if not (isclass(kind) and issubclass(kind, Options)):
        return []
    fields = kind.__dataclass_fields__
    told = "" if (kind.__doc__ or "").startswith(f"{kind.__name__}(") else cleandoc(kind.__doc__ or "")
    lines = [f".. py:class:: {name}({', '.join(fields)})", "", *(f"   {line}" for line in told.splitlines()), ""]
    for field in fields.values():
        meaning = re.sub(r"([\\*`|_])", r"\\\1", field.metadata["help"])
        lines += [f"   ``{field.name}``", f"      {meaning} Default: ``{field.default!r}``.", ""]
    return lines


def changelog() -> str:
    """Return CHANGELOG.md without its title."""
    return _of_the_root("CHANGELOG.md").partition("\n")[2]


def contributing() -> str:
    """Return CONTRIBUTING.md without its title."""
    return _of_the_root("CONTRIBUTING.md").partition("\n")[2]


def first_screen() -> str:
    """Return the README from its first question to what it needs, and on which systems."""
    text, where = _of_the_root("README.md"), "\n## Where it works\n"
    parts = [text.partition(before)[2].partition("\n## ")[0] for before in ("received\nbyte is checked.\n", where)]
    return where.join(parts)


_PAGE_OF = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "README.md": "index.md"}


def _of_the_root(name: str) -> str:
    """Return a page of the repository's root with its links as they are in docs/."""

    def link(found: re.Match[str]) -> str:
        path, hash_, place = found[1].partition("#")
        moved = _PAGE_OF.get(path) or (path[5:] if path.startswith("docs/") else f"../{path}")
        return f"]({moved if path else ''}{hash_}{place})"

    text = (ROOT / name).read_text(encoding="utf-8")
    return re.sub(r"\]\((?!https?:)([^)\s]+)\)", link, text)


def terms() -> str:
    """Return the terms on the screens, as ``rankwise help words`` prints them."""
    from rankwise.cli.help import TERMS

    return "\n".join(
        ["| term | meaning |", "|---|---|", *(f"| {_escaped(name)} | {_escaped(says)} |" for name, says in TERMS.items())]
    )


def python_layers() -> str:
    """Return the layers of the Python package, as the contract of import-linter has them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return "\n".join(["```text", *settings["tool"]["importlinter"]["contracts"][0]["layers"], "```"])


MAKERS: dict[str, Callable[[], str]] = {
    maker.__name__: maker
    for maker in (
        changelog,
        contributing,
        first_screen,
        terms,
        command_line,
        python_api,
        json_schemas,
        python_layers,
        c_header,
        fortran_modules,
    )
}


def made(text: str) -> str:
    """Return a page's source with what is made from the sources in its places."""
    return MARK.sub(lambda mark: MAKERS[mark[1]](), text)


def _read(app: Any, name: str, source: list[str]) -> None:
    source[0] = made(source[0])


def _outdated(app: Any, env: Any, added: set[str], changed: set[str], removed: set[str]) -> list[str]:
    """Name the pages that are made from sources: whether these have changed Sphinx cannot know."""
    return [page for page in env.found_docs if MARK.search(Path(env.doc2path(page)).read_text(encoding="utf-8"))]


def setup(app: Any) -> dict[str, bool]:
    """Take part in a build by Sphinx."""
    app.connect("builder-inited", _write_verbs)
    app.connect("source-read", _read)
    app.connect("env-get-outdated", _outdated)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
