"""Pages of the reference are made from the sources while the site is built.

A page holds a line ``<!-- made from the sources: WHAT -->``; what stands in its place comes from the function of that name
below, as MyST. Links to the repository's other files are turned into copies that lie in the site, so that it needs no network.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from inspect import cleandoc, isclass
from pathlib import Path
from typing import Any

from c_header import c_header
from fortran_modules import fortran_modules
from schema_tables import json_schemas

ROOT = Path(__file__).parents[2]
MARK = re.compile(r"^<!-- made from the sources: (\w+) -->$", re.MULTILINE)


def command_line() -> str:
    """Return a table of all verbs, then each with its example, what it does and its options, as ``--help`` has them."""
    found = list(verbs())
    table = [
        f"| [`rankwise {words}`](#rankwise-{words.replace(' ', '-')}) | {_first_sentence(command.help or '')} |"
        for words, command in found
        if not getattr(command, "commands", {})
    ]
    return "\n".join(["| verb | what it does |", "|---|---|", *table, "", *(_verb(words, command) for words, command in found)])


def verbs() -> Iterator[tuple[str, Any]]:
    """Yield all verbs of the command line and their groups: words and what typer made of them."""
    import typer.main

    from rankwise.cli.base import app
    from rankwise.cli.verbs import register_verbs

    register_verbs([])
    return _below((), typer.main.get_command(app))


def _below(words: tuple[str, ...], command: Any) -> Iterator[tuple[str, Any]]:
    for name, below in sorted(getattr(command, "commands", {}).items()):
        if below.hidden:
            continue
        yield " ".join((*words, name)), below
        yield from _below((*words, name), below)


def _verb(words: str, command: Any) -> str:
    lines = [f"{'#' * min(2 + words.count(' '), 3)} rankwise {words}", ""]
    if example := getattr(command, "example", ""):
        lines += ["```text", *example.splitlines(), "```", ""]
    lines += [_escaped(command.help or "").replace("\\\\\\[", "\\["), ""]
    options = [_option(param) for param in command.params]
    if options:
        lines += ["| option | meaning | default |", "|---|---|---|", *options, ""]
    return "\n".join(lines)


def _option(param: Any) -> str:
    from rankwise.cli.layout import value_of

    flag = getattr(param, "is_flag", False)
    names = ", ".join(f"`{name}`" for name in [*param.opts, *param.secondary_opts])
    if param.param_type_name == "argument":
        names = f"`{value_of(param)}`"
    elif not flag:
        names += f" *{_escaped(value_of(param))}*"
    default = param.default if not (param.default is None or flag or callable(param.default)) else ""
    needed = "*needed*" if param.required else f"`{_plain(default)}`" if default not in ("", [], ()) else ""
    return f"| {names} | {_escaped(param.help or '')} | {needed} |".replace("\\\\\\[", "\\[")


def _first_sentence(text: str) -> str:
    return _escaped(text.splitlines()[0].partition(". ")[0]).replace("\\\\\\[", "\\[")


def _plain(default: Any) -> str:
    return ", ".join(map(str, default)) if isinstance(default, list | tuple) else str(default)


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
    from rankwise.cli.words import TERMS

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
    app.connect("source-read", _read)
    app.connect("env-get-outdated", _outdated)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
