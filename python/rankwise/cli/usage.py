"""Wrong words of a command line in one line: what is wrong, and the words that are meant."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rankwise.cli.layout import value_of
from rankwise.launch.command import LAUNCHERS

_TAKE_COMMANDS = ("advise", "observe", "preload", "try")
_IN_WORDS = re.compile(r"(?<=is not )(?:a valid (int|float)(?:eger)?|in the range x(>=)(?=\d))")
_WORDS = {"int": "a whole number", "float": "a number", ">=": "at least "}
_SAID = (
    (r"Option '(.*)' requires an argument", r"\1 needs a value"),
    (r"Option '(.*)' does not take a value", r"\1 takes no value"),
    (r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", r"'\1' is too much"),
)
_OF_LAUNCHERS = re.compile(r"(-n|-np|-N|-c|--np|--ntasks|--nodes|-ppn|-hosts|--hostfile)")


def words_of_usage(error: Any, arguments: Sequence[str]) -> str:
    """Return the message of one of click's usage errors, met while reading ``arguments``."""
    context: Any = getattr(error, "ctx", None)
    verbs = [*itertools.takewhile(lambda word: re.fullmatch(r"\w[\w-]*", word), arguments)]
    path = " ".join(["rankwise", *verbs]) if context is None else context.command_path
    see = f"see '{path} -h'"
    text = str(error.format_message()).rstrip(".")
    option = getattr(error, "option_name", "")
    if arguments[:1] and arguments[0] in _TAKE_COMMANDS and (meant := _with_dashes(arguments, option)):
        return meant
    if option and hasattr(error, "possibilities"):
        near = f"did you mean {error.possibilities[0]}? " if error.possibilities else ""
        return f"unknown option {option}: {near}{see}"
    unknown = re.fullmatch(r"No such command '(.*?)'(?:\. \(?Did you mean (?:one of: )?'(.*?)'.*)?", text)
    if unknown is not None:
        what = "command" if context is None or context.command.title == "COMMAND" else context.command.title
        near = f"did you mean {unknown[2]}? " if unknown[2] else ""
        return f"unknown {what} '{unknown[1]}'{f' of {path}' if path != 'rankwise' else ''}: {near}{see}"
    if (param := getattr(error, "param", None)) is not None:
        name = value_of(param) if param.param_type_name == "argument" else max(param.opts, key=len)
        if hasattr(error, "param_type"):
            return f"{name} is missing: write {context.command.example.splitlines()[0]}"
        text = f"{name} {_IN_WORDS.sub(lambda found: _WORDS[found[1] or found[2]], error.message).rstrip('.')}"
    for pattern, words in _SAID:
        text = re.sub(pattern, words, text)
    return f"{text}: {see}"


def _with_dashes(arguments: Sequence[str], option: str) -> str:
    """Say that -- is missing before a program's command, or that an option before it is the launcher's; or nothing."""
    words = list(arguments)
    at = words.index("--") if "--" in words else len(words)
    taken = option and [i for i, word in enumerate(words[:at]) if word.startswith(option) and _OF_LAUNCHERS.fullmatch(word)]
    of_launcher = taken[0] if taken else at
    begins = next((i for i, word in enumerate(words[:at]) if LAUNCHERS.fullmatch(Path(word).name)), of_launcher)
    if begins >= at:
        return ""
    command = [word for word in words[begins:] if word != "--"]
    launcher = next((word for word in command if LAUNCHERS.fullmatch(Path(word).name)), "mpiexec")
    meant = shlex.join(["rankwise", *words[:begins], "--", launcher, *(word for word in command if word != launcher)])
    if begins == of_launcher:
        return f"{words[begins]} is an option of {Path(launcher).name}, and stands after --: {meant}"
    return f"-- is missing before {words[begins]}: {meant}"
