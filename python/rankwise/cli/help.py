"""``rankwise help``: of one command, the list of all, the terms on the screens; what a shell completes, and the manual pages:
made of the same declarations.
"""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from rankwise.cli.base import app, command_tree, verb
from rankwise.cli.layout import commands_of, first_sentence, options_of
from rankwise.cli.verbs import GROUPS, SAYS, register_verbs
from rankwise.errors import InputError
from rankwise.files import make_folder, write_whole
from rankwise.progress import visible

# The terms on rankwise's screens: 'rankwise help words' prints them, and the glossary of the documentation has them.
TERMS = {
    "quality": "of a measurement: good, limited, poor or unknown; poor gives no advice",
    "95 %": "95 % interval of the value before it; a range is minimum to maximum",
    "~": "the 95 % interval overlaps that of the best: not clearly different",
    "profile": "what was measured of a machine, machine.json",
    "link class": "distance of two ranks: same core, cache, socket, other socket, node",
    "launch": "one start of mpiexec with its ranks; intervals come from several",
    "mode": "how MPI sends: send, ssend, isend, persistent (isend-self: passed on)",
    "k, cutoff": "layers of neighbours on each side that a rank exchanges with",
    "c, replication": "ranks of a team, which pool their blocks (team-shift)",
    "J_sum, J_max": "messages between nodes: of all, and of the node that sends most",
    "case, candidate": "one predicted or measured configuration; one to choose from",
    "crossover": "the size or cutoff from which another candidate is fastest",
    "noise": "what repetitions of one measurement differ by",
    "cost model": "predicts a time from schedule, placement and machine",
    "source": "where a time comes from: model, simgrid (simulated), run (measured)",
    "interpolated table": "pchip: measured points, joined smoothly",
    "held-out error": "error at sizes that the model was not fitted to",
    "step": "the shortest sequence of MPI calls that all ranks repeat",
    "wait": "time in MPI for a late sender or receiver",
    "transfer": "time in MPI that is no wait: copies, progress, the network",
    "lower bound": "what no placement falls below; optimal: it is reached",
    "baseline": "the level of earlier sessions (health)",
    "NIC": "network interface of a node",
}


SHELLS = ("bash", "zsh", "fish")


@verb(
    "completion",
    """rankwise completion bash > ~/.local/share/bash-completion/completions/rankwise
    rankwise completion man --folder ~/.local/share/man/man1""",
    listed="Print shell completion, or write manual pages",
)
def completion(
    shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh, fish; man: manual pages.")],
    folder: Annotated[Path, typer.Option("--folder", help="Where manual pages are written.")] = Path("man1"),
) -> int:
    """Print a shell's completion of commands and options, or write manual pages.

    bash: as in the example. zsh: add it to ~/.zshrc. fish: to ~/.config/fish/completions/rankwise.fish.
    """
    register_verbs([])
    root = command_tree()
    if shell == "man":
        make_folder(folder)
        for path, command, context in commands(root):
            write_whole(folder / f"{path.replace(' ', '-')}.1", manual_page(path, command, context))
        print(visible(f"{folder}: man {folder}/rankwise.1"))
    elif shell == "fish":
        print("\n".join(_fish(root)))
    elif shell in SHELLS:
        print(("autoload -U bashcompinit && bashcompinit\n" if shell == "zsh" else "") + _bash(root))
    else:
        raise InputError(f"shell {shell!r} is unknown: choose {', '.join(SHELLS)} or man")
    return 0


def commands(root: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield all commands that the help lists: their words, themselves, and click's context."""
    waiting = [("rankwise", root, typer.Context(root, info_name="rankwise"))]
    while waiting:
        path, command, context = waiting.pop(0)
        yield path, command, context
        for name, inner in getattr(command, "commands", {}).items():
            if not inner.hidden:
                waiting.append((f"{path} {name}", inner, typer.Context(inner, info_name=name, parent=context)))


def _words(command: Any, context: Any) -> list[str]:
    """Return what may follow a command: its commands, and its options."""
    names = [name for name, _ in commands_of(command, context)[1]] if hasattr(command, "commands") else []
    default = command.commands[command.default] if getattr(command, "default", None) else command
    return [*names, *(name for param in default.params for name in param.opts if name.startswith("--")), "--help"]


def _bash(root: Any) -> str:
    """Return the completion for bash: the words that may follow each command, files where none fits."""
    cases = []
    for path, command, context in commands(root):
        cases.append(f"    {shlex.quote(path)}) words={shlex.quote(' '.join(_words(command, context)))} ;;")
    known = "|".join(shlex.quote(path) for path, *_ in commands(root))
    return f"""_rankwise() {{
  local path=rankwise words= word
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    [ "$word" = -- ] && return
    case "$path $word" in
    {known}) path="$path $word" ;;
    esac
  done
  case "$path" in
{chr(10).join(cases)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _rankwise rankwise"""


def _fish(root: Any) -> Iterator[str]:
    """Yield the lines of the completion for fish, with what each command and option does."""
    yield "function __rankwise_at"
    yield "  set --local path (string match --invert --regex '^-' -- (commandline -opc) | string join ' ')"
    yield '  test "$path" = "$argv[1]"; and return 0'
    yield '  test (count $argv) -gt 1; and string match --quiet -- "$argv[1] *" "$path"'
    yield "end"
    for path, command, context in commands(root):
        at = f"__rankwise_at {shlex.quote(path)}"
        if hasattr(command, "commands"):
            for name, says in commands_of(command, context)[1]:
                yield f"complete -c rankwise -f -n {shlex.quote(at)} -a {name} -d {shlex.quote(says)}"
        for rows in options_of(command, context).values():
            for names, says, _ in rows:
                if long := re.search(r"--([a-z0-9-]+)", names):
                    yield (
                        f"complete -c rankwise -n {shlex.quote(at + ' options')} -l {long[1]} "
                        f"-d {shlex.quote(first_sentence(says.partition('  [')[0]))}"
                    )


def manual_page(path: str, command: Any, context: Any) -> str:
    """Return the manual page of a command: the text of its help, in the man macros."""
    from rankwise import __version__

    name = path.replace(" ", "-")
    text = " ".join((command.help or "").partition("\n\n")[0].split())
    written = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
    lines = [
        f'.TH "{name.upper()}" "1" "{time.strftime("%Y-%m-%d", written)}" "rankwise {__version__}"',
        ".SH NAME",
        f"{name} \\- {_roff(first_sentence(text))}",
    ]
    lines += [".SH SYNOPSIS", f".B {_roff(path)}", "[OPTIONS]", ".SH DESCRIPTION"]
    paragraphs = [_roff(" ".join(paragraph.split())) for paragraph in re.split(r"\n\s*\n", command.help or "")]
    lines += "\n.PP\n".join(paragraphs).splitlines()
    if command.example:
        lines += [".SH EXAMPLES", ".nf", *map(_roff, command.example.splitlines()), ".fi"]
    title, listed = commands_of(command, context)
    sections = [(title, listed)] if listed else []
    sections += [(group, [(names, says) for names, says, _ in rows]) for group, rows in options_of(command, context).items()]
    for heading, rows in sections:
        lines.append(f'.SH "{heading.upper()}"')
        for term, says in rows:
            lines += [".TP", f".B {_roff(term)}", _roff(" ".join(says.split()))]
    return "\n".join([*lines, ""])


def _roff(text: str) -> str:
    """Return a line of text that troff prints as it is."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = "".join(letter if letter.isascii() else f"\\[u{ord(letter):04X}]" for letter in text)
    return f"\\&{text}" if text.startswith((".", "'")) else text


@verb(
    "help",
    """rankwise help predict halo
    rankwise help --all
    rankwise help words""",
)
def show_help(
    command: Annotated[list[str] | None, typer.Argument(metavar="[COMMAND]...", help="A command, such as: measure.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="List all commands, also those that few people need.")] = False,
) -> int:
    """Show the help of a command."""
    if command == ["words"]:
        from rankwise.blocks import Listing
        from rankwise.blocks.terminal import show

        show([Listing(list(TERMS.items()))])
        return 0
    if not everything:
        register_verbs(command or ["-h"])
        return int(app(args=[*(command or []), "--help"], prog_name="rankwise", standalone_mode=False) or 0)
    for group, (first, further) in GROUPS.items():
        print(f"{group:<22}{' '.join(first)}")
        for name in further:
            print(f"  {name:<11}{SAYS[name]}")
    return 0
