"""The command line: the root of all verbs, and the one place where errors become a line and an exit code."""

from __future__ import annotations

import atexit
import errno
import os
import signal
import sys
from collections.abc import Sequence
from functools import partial
from types import FrameType
from typing import Annotated, NoReturn

import typer

from rankwise import errors
from rankwise.cli.base import app, begin_printing, command_tree, has_printed, print_json
from rankwise.cli.terminal import fit_streams
from rankwise.cli.verbs import register_verbs
from rankwise.progress import visible


def _show_version(asked: bool) -> None:
    if asked:
        from rankwise import __version__

        print(f"rankwise {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Measures MPI communication, predicts what a pattern costs, and says what to
    change in your program. New here? One minute, no program needed:

      rankwise quick
    """


def _terminated(signum: int, frame: FrameType | None) -> None:
    """Take Ctrl-C, SIGTERM (a batch system's time limit) and SIGHUP alike, so that every verb keeps what it has."""
    _signals.append(signum)
    raise KeyboardInterrupt


_signals: list[int] = []  # that have ended a verb


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; every error becomes one line on stderr."""
    complain = partial(_complain, arguments=arguments)
    begin_printing()
    try:
        register_verbs(arguments or ["-h"])
        result = command_tree()(args=list(arguments), prog_name="rankwise", standalone_mode=False)
        if result == errors.EXIT_INTERRUPTED and _signals:  # typer has taken the interrupt for an exit code
            raise KeyboardInterrupt
        sys.stdout.flush()
    except errors.RankwiseError as error:
        return complain(str(error), error.exit_code)
    except KeyboardInterrupt:
        return complain("interrupted", errors.EXIT_INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output (head, say) has enough; keep the interpreter from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return errors.EXIT_OK
    except SystemExit as leave:
        if not isinstance(leave.__context__, BrokenPipeError):  # as rich and typer end for such a reader
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return errors.EXIT_OK
    except typer.Exit as leave:
        return int(leave.exit_code)
    except typer.Abort:
        return complain("interrupted", errors.EXIT_INTERRUPTED)
    except Exception as error:
        if hasattr(error, "format_message"):  # typer's own usage errors
            from rankwise.cli.usage import words_of_usage

            return complain(words_of_usage(error, arguments), errors.EXIT_USAGE)
        if os.environ.get("RANKWISE_TRACEBACK"):
            raise
        limits = errors.memory_limits()
        if isinstance(error, MemoryError) or (isinstance(error, ImportError) and limits):  # libraries find no room, either
            mend = f"raise {limits}, or ask for less" if limits else "ask for less, or take a node that has more"
            return complain(f"memory ran out: {mend}", errors.EXIT_ENVIRONMENT)
        if isinstance(error, OSError) and error.errno in (errno.ENAMETOOLONG, errno.ELOOP):
            return complain(f"{error.strerror}: {error.filename!s:.60}: name another file", errors.EXIT_USAGE)
        if isinstance(error, OSError):
            return complain(f"{error.strerror or error}: {error.filename or ''}".rstrip(": "), errors.EXIT_FAILURE)
        return complain(
            f"internal error: {type(error).__name__}: {error}; set RANKWISE_TRACEBACK=1 to see where, and report it",
            errors.EXIT_FAILURE,
        )
    return result if isinstance(result, int) else errors.EXIT_OK


def _complain(message: str, exit_code: int, arguments: Sequence[str]) -> int:
    """Say on stderr in one line what is wrong; where JSON was asked for and none was printed, on stdout as JSON, too."""
    line = " ".join(message.split())
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if "--json" in own and not has_printed():
        what, mend = errors.split_message(line)
        print_json({"error": {"what": what, "mend": mend, "exit_code": exit_code}})
        sys.stdout.flush()
    print(f"rankwise: {visible(line)}", file=sys.stderr)
    return exit_code


def main() -> NoReturn:
    """Entry point of the ``rankwise`` command."""
    for ends in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(ends) is not signal.SIG_IGN:  # as nohup leaves SIGHUP
            signal.signal(ends, _terminated)
    atexit.register(_leave)
    fit_streams()
    _code.append(run(sys.argv[1:]))
    sys.exit(_code[-1])


_code: list[int] = []  # to end with


def _leave() -> None:
    """End with our code after a signal, the last of all that is left to do.

    Python itself ends by SIGINT once an interrupt has fallen into a string that it executed, whoever has caught it since.
    """
    if _signals and _code:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_code[-1])
