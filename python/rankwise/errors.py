"""Errors that a user sees: one line that says what is wrong, where, and the fix, and an exit code.

Exit codes: 0 ok, 1 failure, 2 wrong usage or input, 3 regression or fault found, 4 environment unusable,
5 unclear (a difference could not have been seen), 6 unusable figures (the machine was busy with other work), 130 interrupted.
"""

import errno
import re
from collections.abc import Iterable

EXIT_OK = 0
EXIT_FAILURE = 1
EXIT_USAGE = 2
EXIT_REGRESSION = 3
EXIT_ENVIRONMENT = 4
EXIT_UNCLEAR = 5
EXIT_UNUSABLE = 6
EXIT_INTERRUPTED = 130
_OF_VERDICTS = {"slower": EXIT_REGRESSION, "unclear": EXIT_UNCLEAR, "unusable": EXIT_UNUSABLE}


def exit_code(verdict: str, strict: bool) -> int:
    """Return the exit code of an alarm's verdict; ``strict`` turns unclear and unusable into plain failure."""
    code = _OF_VERDICTS.get(verdict, EXIT_OK)
    return EXIT_FAILURE if strict and code in (EXIT_UNCLEAR, EXIT_UNUSABLE) else code


def memory_limits() -> str:
    """Name the limits that are set on this process's memory; nothing where there are none."""
    import resource

    limits = {"-v": resource.RLIMIT_AS, "-d": resource.RLIMIT_DATA}
    known = {name: soft for name, of in limits.items() if (soft := resource.getrlimit(of)[0]) != resource.RLIM_INFINITY}
    return " and ".join(f"'ulimit {name}' of {soft >> 20} MiB" for name, soft in known.items())


class RankwiseError(Exception):
    """Something went wrong while working: a rank died, a result did not verify."""

    exit_code = EXIT_FAILURE


class InputError(RankwiseError):
    """The user's input cannot be used: an option's value, a file's content.

    A message that names a value and offers others, as in "--mode 'sendd' is unknown: choose send or isend", guesses the one
    that is meant, wherever it comes from.
    """

    exit_code = EXIT_USAGE

    def __init__(self, message: str) -> None:
        offer = _OFFER.fullmatch(message)
        near = closest(offer["given"], _WORD.findall(offer["known"])) if offer else None
        super().__init__(message if offer is None or near is None else f"{offer['what']}: did you mean {near}?")


_OFFER = re.compile(r"(?P<what>.*'(?P<given>[^']+)'[^':]*): (?:choose|take) (?P<known>[^;]+)(;.*)?", re.DOTALL)
_WORD = re.compile(r"(?<![\w.-])(?!(?:or|one|of|some)\b)[\w:.-]*[a-z][\w:.-]*")


def closest(given: str, known: Iterable[str]) -> str | None:
    """Return the word that is meant by one that is nearly it, or its beginning; None where none is near."""
    from difflib import get_close_matches

    words, meant = {word.lower().replace("_", "-"): word for word in known}, given.lower().replace("_", "-")
    begun = [word for word in words if word.replace("-", "").startswith(meant.replace("-", ""))] if len(meant) > 2 else []
    near = begun or get_close_matches(meant, words, n=1, cutoff=0.65)
    return words[near[0]] if near else None


class UnusableEnvironmentError(RankwiseError):
    """The machine lacks what is needed: no launcher, a launcher of another MPI, no compiler."""

    exit_code = EXIT_ENVIRONMENT


class UnusableFiguresError(RankwiseError):
    """The machine was too busy with other work for figures that tell anything."""

    exit_code = EXIT_UNUSABLE


class InterruptedWorkError(RankwiseError):
    """The user (Ctrl-C) or the system (SIGTERM) stopped the work; the message says how to go on."""

    exit_code = EXIT_INTERRUPTED


def unreadable(error: Exception) -> str:
    """Say in plain words what is with a file that could not be read, to stand after its name."""
    if isinstance(error, FileNotFoundError):
        return "does not exist"
    if isinstance(error, IsADirectoryError):
        return "is a folder, not a file"
    if isinstance(error, PermissionError):
        return "may not be read by you"
    if isinstance(error, OSError) and error.errno in (errno.ESPIPE, errno.ENODEV):
        return str(error.strerror)
    if isinstance(error, UnicodeDecodeError):
        return "cannot be read (it is no UTF-8 text)"
    return f"cannot be read ({getattr(error, 'strerror', None) or error})"


def split_message(message: str) -> tuple[str, str]:
    """Split an error's message into what is wrong and its fix, at the last colon outside of brackets."""
    depth, at = 0, None
    for place, letter in enumerate(message):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and message[place : place + 2] == ": ":
            at = place
    return (message, "") if at is None else (message[:at], message[at + 2 :])
