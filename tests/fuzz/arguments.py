"""Floods every verb with random command lines, in this process: each is answered, or refused in words for a user.

python tests/fuzz/arguments.py [--lines N] [--seed S] [VERB ...]     (make fuzz: 10,000 of each)

Nothing is started and nothing measured: no program is on PATH. Files are those of the readers, and what the verbs write.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import io
import json
import os
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import readers

LIMIT_S = 2.0  # processor time of a command line; what is large by its numbers may take longer, and is left at it
WAIT_S = 120.0  # in all, with what it starts and waits for: longer is a fault
SKIPPED = {"reproduce czechowski2012", "reproduce hunold2020", "reproduce wagner2024", "reproduce werner2023", "quick"}
VALUES = """0 1 2 3 4 8 16 -1 1.5 1e3 1e999 nan inf 4x4 2x2x2 4X4 0x4 4x 1,2 1:3 3:1 1kB 4MiB 1k 10% 0.2 1s 10ms 2min all none
1,0 auto model run simgrid direct shift isend send blocked hyperplane nearest-neighbor component n1 n[1-2] n1,n2 node,socket
fat-tree:2x2 torus:2x2 node:2 frontier fugaku json csv machine.json map.json app.comm validate.json nothing.json samples.jsonl
health.jsonl lengths.json graph.mtx dir out.json x/y.json . / - -- = ,""".split()  # fmt: skip
FILES = {  # by reader
    "profile": "machine.json cluster.json before.json after.json last-week.json today.json",
    "record": "app.comm before.comm after.comm app8.comm app16.comm",
    "samples": "samples.jsonl machine.samples.jsonl",
    "osu": "osu_latency.txt osu_bw.txt run-1.txt run-2.txt run-3.txt",
    "csv": "pingpong.csv",
    "description": "my-machine.toml",
    "ledger": "ledger.jsonl",
    "history": "health.jsonl",
    "jobs": "rankwise-job/jobs.json lva-2/jobs.json",
    "mappings": "map.json",
    "matrix": "graph.mtx",
    "validation": "validate.json",
}
ODD = ["", " ", "\t", "\n", "1\x1cx2", "\x1b[31m", "²", "٣", "１", "é", "\udcff", "\u2028", "9" * 30, "1" * 5000, "'", '"',
       "%s", "{}", "~", "*"]  # fmt: skip


class TooLong(BaseException):
    """Nobody catches it."""


def verbs() -> dict[str, Any]:
    """Return the command of each verb by its words."""
    from rankwise.cli.base import command_tree
    from rankwise.cli.verbs import register_verbs

    register_verbs(())

    def below(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        if hasattr(command, "commands"):
            for name, inner in command.commands.items():
                yield from below(inner, (*words, name))
        else:
            yield " ".join(words), command

    return dict(below(command_tree(), ()))


def value(draw: random.Random, option: Any) -> str:
    """Return a value of an option: one that its help suggests, or any."""
    kind = draw.random()
    if kind < 0.1:
        return draw.choice(ODD)
    words = [word.strip("'.,;:()") for word in (getattr(option, "help", None) or "").split()]
    text = draw.choice(words) if words and kind < 0.2 else draw.choice(VALUES)
    if kind > 0.9 and text:
        at = draw.randrange(len(text))
        text = text[:at] + draw.choice([*ODD[:12], ",", "x", ":", "-"]) + text[at + draw.randrange(2) :]
    return text


def examples_of(verb: str, command: Any) -> list[list[str]]:
    """Return the words of the examples in a verb's help that need no shell and start no program."""
    examples = [shlex.split(text)[1:] for text in getattr(command, "example", "").splitlines() if " -- " not in text]
    return [words for words in examples if words[: len(verb.split())] == verb.split() and not {">", "|", "#"} & {*words}]


def line(draw: random.Random, verb: str, command: Any) -> list[str]:
    """Return a random command line of a verb: made anew, or of an example in its help with a word changed."""
    words, examples = verb.split(), examples_of(verb, command)
    if examples and draw.random() < 0.5:
        words = list(draw.choice(examples))
        at = draw.randrange(len(verb.split()), len(words) + 1)
        words[at : at + draw.randrange(2)] = [value(draw, None)] if draw.random() < 0.8 else []
        return [word.replace("\0", "") for word in words]
    for option in draw.sample(command.params, min(len(command.params), draw.choice([0, 1, 2, 2, 3, 4, 6]))):
        if option.param_type_name == "argument":
            words += [value(draw, option) for _ in range(draw.choice([1, 1, 2]))]
        elif option.is_flag:
            words.append(draw.choice([*option.opts, *option.secondary_opts]))
        elif draw.random() < 0.2:
            words.append(f"{draw.choice(option.opts)}={value(draw, option)}")
        else:
            words += [draw.choice(option.opts), *([value(draw, option)] if draw.random() < 0.97 else [])]
    return [word.replace("\0", "") for word in words]


def files(folder: Path) -> None:
    """Write what command lines, and the examples in helps, name."""
    known = readers.readers()
    profile = json.loads(known["profile"].seeds[1])
    (link,) = profile["links"].values()
    seeds = {reader: known[reader].seeds[0] for reader in known} | {
        "profile": json.dumps(profile | {"links": profile["links"] | {"other-node": link}}).encode(),
        "osu": next(seed for seed in known["osu"].seeds if seed.startswith(b"# OSU MPI Latency Test")),
    }
    for reader, names in FILES.items():
        for name in names.split():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(seeds[reader])
    (folder / "dir").mkdir(exist_ok=True)


def _starved_s() -> float:
    """Return how long threads of this process have waited for a processor."""
    waited_ns = 0
    for thread in Path("/proc/self/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):  # it has ended
            waited_ns += int(thread.read_text().split()[1])
    return waited_ns * 1e-9


class Limits:
    """The limits of a command line: of processor time, and of waiting, that for a processor apart."""

    def __enter__(self) -> Limits:
        self._starved_s = _starved_s()
        for limit in (signal.SIGVTALRM, signal.SIGALRM):
            signal.signal(limit, self._too_long)
        signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT_S)
        signal.setitimer(signal.ITIMER_REAL, WAIT_S)
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _too_long(self, number: int, frame: object) -> None:
        before_s, self._starved_s = self._starved_s, _starved_s()
        if number == signal.SIGALRM and self._starved_s - before_s > WAIT_S / 4:
            signal.setitimer(signal.ITIMER_REAL, WAIT_S)
        else:
            raise TooLong(number)


class Nothing(subprocess.Popen[Any]):
    """No process but one more of this interpreter, which draws."""

    def __init__(self, words: Any, *others: Any, **more: Any) -> None:
        if words[0] != sys.executable:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(words[0]))
        super().__init__(words, *others, **more)


def flood(verb: str, command: Any, lines: int, seed: int) -> list[str]:
    """Run command lines of one verb in the present folder; return what broke."""
    from rankwise.cli import main

    draw, broken, long = random.Random(f"{verb}/{seed}"), [], 0
    codes: dict[int, int] = {}
    begun_s = time.monotonic()
    for number in range(lines):
        if number % 50 == 0:
            files(Path())
        words = line(draw, verb, command)
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="replace") for _ in range(2))
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), Limits():
                code = main.run(words)
        except TooLong as why:
            long += 1
            if why.args[0] == signal.SIGALRM:
                broken.append(f"{words}: still waits after {WAIT_S:.0f} s")
            continue
        except BaseException as error:  # what even the root has not caught
            code = 70 if not isinstance(error, SystemExit) else int(error.code or 0)
            if code == 70:
                broken.append(f"{words}: {type(error).__name__}: {error}")
        codes[code] = codes.get(code, 0) + 1
        out.flush()
        err.flush()
        said = (out.buffer.getvalue() + err.buffer.getvalue()).decode(errors="replace")
        complaint = err.buffer.getvalue().decode(errors="replace").splitlines()[-1:]
        if "internal error" in said or "Traceback" in said:
            broken.append(f"{words}: {said[-300:]}")
        elif (
            code in (1, 2, 4)
            and not (complaint and complaint[0].startswith("rankwise: "))
            and not said.startswith(("\u2717", "{"))
        ):
            broken.append(f"{words}: exit code {code} without a word: {said[-300:]!r}")
        elif code not in (0, 130) and complaint and readers.PYTHONS_OWN.search(complaint[0].split("'")[0]):
            broken.append(f"{words}: no words for a user: {complaint[0]}")
        elif any(ord(sign) < 32 and sign not in "\n\t" for sign in said):
            broken.append(f"{words}: control characters: {said[-300:]!r}")
    print(f"{verb}: {lines} lines, {len(broken)} broken, {long} left, exit codes {dict(sorted(codes.items()))}, "
          f"{time.monotonic() - begun_s:.0f} s", flush=True)  # fmt: skip
    return broken


@contextlib.contextmanager
def nothing_to_start(folder: Path) -> Iterator[None]:
    """A folder of its own to be in, an own cache, and no program on PATH."""
    back = Path.cwd()
    variables = {"PATH": str(folder / "dir"), "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache"), "COLUMNS": "80"}
    with mock.patch.dict(os.environ, variables), mock.patch("subprocess.Popen", Nothing):
        for name in [name for name in os.environ if name.startswith(("RANKWISE_", "SLURM_", "OMPI_", "PMI"))]:
            del os.environ[name]
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(back)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("verbs", nargs="*")
    parser.add_argument("--lines", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    known = {name: command for name, command in verbs().items() if name not in SKIPPED}
    broken: list[str] = []
    with tempfile.TemporaryDirectory() as scratch, nothing_to_start(Path(scratch)):
        for verb in given.verbs or known:
            found = flood(verb, known[verb], given.lines, given.seed)
            print("".join(f"{one}\n" for one in found[:20]), end="", file=sys.stderr, flush=True)
            broken += found
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
