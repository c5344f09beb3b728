"""The help of commands: ``-h`` on one screen with what people need most, ``--help`` with all there is, options in groups.

An option means the same in all verbs, so its group, what its value is called and whether most people need it stand here once,
by its name. What is not named is a What.
"""

from __future__ import annotations

import inspect
import re
import shutil
import textwrap
from typing import Any, NamedTuple

from rankwise.cli.terminal import shown

LINES = 32  # of what -h prints at most

# By group: names of options, with a star where most people need it, and after = what its value is called where the type does
# not say enough.
_NAMED = {
    "What": """
        against=LIST algorithm*=LIST batch bound box*=SHAPE by=LIST bytes*=SIZES cell-bytes=BYTES cells*=SHAPE chunks compare
        cutoff*=LAYERS decomposition=NAME dims*=SHAPE direction engine*=NAME engines=LIST env=NAME=VALUE fields=FIELDSxBYTES
        flops-per-cell graph grid*=SHAPE halo=SIZES latency=TIME library=NAME link-model=MODEL match=WHAT mesh=SHAPE method=NAME
        mode*=LIST model=NAME n*=LIST neighbor=WHEN network=TIMES objective=J observed* order=NAME periodic=AXES planning=HOW
        reading=NAME replication=RANKS set=KEY=VALUE shell=NAME sizes*=SIZES statistic=NAME stencil*=STENCIL team-boxes=NAME
        tolerance=PERCENT torus-constant=NAME vary*=KEY=VALUES weights=LIST width=LAYERS year*""",
    "Where": """
        account*=PROJECT as=NAME cpus-per-task exclusive hop-latency=TIME hosts*=LIST launcher=PROGRAM levels=LEVELS
        link*=CLASS links=LIST loaded machine*=NAME module=NAME name=NAME node-sizes=LIST nodelist=LIST nodes*=N
        partition*=NAME placement=HOW ppn*=N profile* qos=NAME ranks*=N ranks-per-node*=N sbatch=OPTION slots=LIST
        tasks tasks-per-node* topology=KIND""",
    "How long": """
        array=RANGE confirm-after=TIME dependency=JOBS effort=TIME grace interval jobs launches* pairs* paired precision=SHARE
        repetitions requeue resume* rounds seconds*=S spread=TIME steps threads time*=TIME""",
    "Output": """
        all csv directory=FOLDER folder*=FOLDER force format*=NAME front history html* job-name=NAME json mail-type=WHEN
        mail-user=ADDRESS output* page* plot prometheus samples simulations=FOLDER strict timeline verbose wide with-mapping""",
}  # fmt: skip
_OF_TYPES = {"path": "FILE", "float": "X", "str": "TEXT"}  # else a number


class Place(NamedTuple):
    """Where an option stands in the help."""

    group: str
    often: bool = False  # most people need it
    value: str = ""  # what its value is called


_PLACES = {
    name.rstrip("*"): Place(group, name.endswith("*"), value)
    for group, names in _NAMED.items()
    for name, _, value in (entry.partition("=") for entry in names.split())
}


def place_of(param: Any) -> Place:
    """Return where an option or argument of a command stands in the help: arguments first of all."""
    found = _PLACES.get(max(param.opts, key=len).removeprefix("--"), Place("What"))
    return found if param.param_type_name == "option" else Place("What", True)


def value_of(param: Any) -> str:
    """Return what the value of an option or argument is called."""
    if param.param_type_name == "argument":
        return str(param.metavar or str(param.name).upper() + "..." * (param.nargs != 1)).strip("[]").replace("]...", "...")
    return str(param.metavar or place_of(param).value or _OF_TYPES.get(param.type.name, "N"))


def first_sentence(text: str) -> str:
    """Return the first sentence of a text."""
    return re.split(r"(?<=\.)\s+(?=[^a-z])", " ".join(text.split("\n\n")[0].split()), maxsplit=1)[0]


def group_of(command: Any, ctx: Any) -> Any:
    """Return the group whose help a command's help is: itself, or the group whose default it is; else None."""
    if hasattr(command, "commands"):
        return command
    above = ctx.parent.command if ctx.parent is not None else None
    return above if getattr(above, "default", None) == ctx.info_name else None


def commands_of(command: Any, ctx: Any) -> tuple[str, list[tuple[str, str]]]:
    """Return what stands over a list of commands, and each with what it does: of a group, and of the default of one."""
    if (group := group_of(command, ctx)) is None:
        return "", []
    listed = {
        name: first_sentence(each.short_help or each.help or "") for name, each in group.commands.items() if not each.hidden
    }
    rows = [(name, says.removesuffix(".")) for name, says in listed.items()]
    return f"{group.title} (default: {group.default})" if group.default else str(group.title), rows


def usage_of(command: Any, ctx: Any) -> str:
    """Return what stands after a command's words: its verbs, or its options and arguments."""
    if hasattr(command, "commands"):
        return f"{command.title} [OPTIONS]"
    words = ["[OPTIONS]"]
    for param in command.params:
        if param.param_type_name == "argument":
            dashes = "-- " * (param.name == "command" and ctx.command_path != "rankwise help")
            words.append(f"{dashes}{value_of(param)}" if param.required else f"[{value_of(param)}]")
    return " ".join(words)


def options_of(command: Any, ctx: Any) -> dict[str, list[tuple[str, str, bool]]]:
    """Return the options of a command by group: names with what the value is called, what each does, whether many need it."""
    found: dict[str, list[tuple[str, str, bool]]] = {group: [] for group in _NAMED}
    if not hasattr(command, "commands"):
        for param in command.get_params(ctx):
            place = place_of(param)
            param.metavar = value_of(param)
            names, text = param.get_help_record(ctx) or ("", "")
            if names:
                found[place.group].append((names, text, place.often or param.required))
    return {group: rows for group, rows in found.items() if rows}


def brief(command: Any, ctx: Any) -> str:
    """Return the help of a command that fits on a screen: all of it, or what most people need."""
    pages = (page(command, ctx, left_out) for left_out in range(4))
    return next((text for text in pages if len(text.splitlines()) <= LINES), "") or page(command, ctx, 3)


def page(command: Any, ctx: Any, left_out: int = 0) -> str:
    """Return the help of a command.

    ``left_out``: from 1 on examples after the first, from 2 on sentences after the first, from 3 on options that few need.
    """
    to = ctx.make_formatter()
    text = inspect.cleandoc(command.help or "")
    first, _, details = text.partition("\n\n")
    to.write_text(" ".join(first.split()) if left_out < 2 else first_sentence(text))
    to.write("\n")
    for example in command.example.splitlines()[: 1 if left_out else None]:
        to.write(f"{_continued(example)}\n")
    to.write("\n")
    path = ctx.command_path if group_of(command, ctx) in (None, command) else ctx.parent.command_path
    to.write_usage(path, usage_of(command, ctx))
    if details and left_out < 2:
        to.write_paragraph()
        to.write_text(details)
    title, commands = commands_of(command, ctx)
    if commands:
        with to.section(title):
            to.write_dl(commands)
    options = options_of(command, ctx)
    if left_out < 3:
        for group, rows in options.items():
            with to.section(group):
                to.write_dl([(names, _shortened(help) if left_out > 1 else help) for names, help, _ in rows])
    else:
        rows = [row for of in options.values() for row in of]
        with to.section("Often needed"):
            to.write_dl([(names, _shortened(help)) for names, help, often in rows if often])
        further = " ".join(re.sub(r"( [^-].*|, -\w)$|^-\w, ", "", names) for names, _, often in rows if not often)
        more = f"More: {further} ({path} --help)"
        to.write(f"\n{textwrap.fill(more, to.width, break_long_words=False, break_on_hyphens=False)}\n")
    return shown(to.getvalue().rstrip("\n"))


def _shortened(help: str) -> str:
    """Return the first sentence of an option's help, and its default."""
    text, gap, default = help.partition("  [")
    return first_sentence(text) + gap + default


def _continued(command: str) -> str:
    """Return an example as wide as the screen at most, its further lines indented."""
    width = max(40, min(shutil.get_terminal_size().columns, 120))
    lines = textwrap.wrap(command, width - 4, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    return " \\\n".join(f"  {line}" for line in lines)
