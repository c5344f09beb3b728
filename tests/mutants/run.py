"""How many small wrong changes do the tests of a part notice?  python tests/mutants/run.py [PART ...] [--count N] [--verbose]

Of all mutants of a part's sources those with the smallest hash are run, each only with those of the part's own tests that
reach its line. Fails where fewer than 90 % are noticed, or one stays unnoticed that survivors.txt does not give a reason for.
"""

from __future__ import annotations

import argparse
import ast
import bisect
import hashlib
import importlib
import itertools
import os
import pickle
import resource
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
LEAST = 0.9
QUICK_S = 0.3  # tests of so long are tried first
WORKERS = os.cpu_count() or 1
PRELOADED = ("numpy", "highspy", "scipy.stats", "scipy.interpolate", "typer", "rich.console")
MODULES = {f"rankwise.models.{path.stem}": path for path in sorted(ROOT.glob("python/rankwise/models/[a-z]*.py"))}


@dataclass(frozen=True)
class Mutant:
    name: str  # file: line: what is changed
    path: Path
    lines: range
    number: int


class Reach(NamedTuple):
    """What a test takes, and the mutants that it reaches."""

    seconds: float
    mutants: set[str]


def named(root: Path, path: Path, found: Sequence[tuple[range, str]], first: int = 0) -> list[Mutant]:
    """Name the mutants of a file; what is alike in one line is numbered."""
    lines, seen, mutants = path.read_text().splitlines(), Counter[str](), []
    for i, (extent, what) in enumerate(found):
        name = f"{path.relative_to(root)}: {lines[extent.start - 1].strip()}: {what}"
        seen[name] += 1
        mutants.append(Mutant(name + (f" ({seen[name]})" if seen[name] > 1 else ""), path, extent, first + i))
    return mutants


def sample(mutants: list[Mutant], count: int) -> list[Mutant]:
    return sorted(mutants, key=lambda mutant: hashlib.sha256(mutant.name.encode()).digest())[: count or None]


def in_children(job: Callable[[Any], None], items: Sequence[Any]) -> Iterator[tuple[Any, bool, float]]:
    """Call job(item), which does not return, in children side by side; yields whether each ended with 0, and its seconds."""
    waiting, running = list(reversed(items)), dict[int, Any]()
    while waiting or running:
        while waiting and len(running) < WORKERS:
            item = waiting.pop()
            pid = os.fork()
            if pid == 0:
                try:
                    job(item)
                except BaseException:
                    traceback.print_exc()
                os._exit(1)
            running[pid] = item
        pid, status, used = os.wait4(-1, 0)
        yield running.pop(pid), status == 0, used.ru_utime + used.ru_stime


def quietly(limit_s: float) -> None:
    """In a child: say nothing, and end when so much of a processor's time or the memory is used up."""
    null = os.open(os.devnull, os.O_WRONLY)
    if not os.environ.get("MUTANTS_OUTPUT"):
        os.dup2(null, 1)
        os.dup2(null, 2)
    resource.setrlimit(resource.RLIMIT_CPU, (int(limit_s) + 1, int(limit_s) + 1))
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class CppPart:
    """A folder of src, whose tests are one program."""

    def __init__(self, name: str, root: Path, build: Path) -> None:
        self.name, self._root, self._build = name, root, build

    def mutants(self) -> list[Mutant]:
        import in_cpp

        self._copies, found = list[in_cpp.Copy](), list[Mutant]()
        for path in sorted((self._root / "src" / self.name).glob("*.cpp")):
            self._copies.append(copy := in_cpp.Copy(path, self._root / "src", len(found)))
            found += named(self._root, path, [(range(line, line + 1), what) for line, what in copy.changes], len(found))
        return found

    def prepare(self, chosen: list[Mutant]) -> None:
        """Build the part's tests, and link them anew with a copy of its sources that has all mutants in it."""
        objects, folder = self._build / "cpp", self._build / self.name
        folder.mkdir(parents=True, exist_ok=True)
        options = {"TESTS": "ON", "PYTHON": "OFF", "KERNELS": "OFF", "FORTRAN": "OFF", "UNITY": "ON"}
        run("cmake", "-S", self._root, "-B", objects, *(f"-DRANKWISE_{name}={value}" for name, value in options.items()))
        run("cmake", "--build", objects, "--parallel", WORKERS, "--target", f"{self.name}_tests")
        numbers = {mutant.number for mutant in chosen}
        for copy in self._copies:
            (folder / copy.path.name).write_bytes(copy.render(numbers))
        (folder / "mutated.cc").write_text("".join(f'#include "{copy.path.name}"\n' for copy in self._copies))
        compiler, here = ["c++", "-std=c++20", "-O1", "-w", "-Wno-narrowing"], Path(__file__).parent
        run(*compiler, f"-I{self._root / 'src'}", f"-I{here}", "-c", folder / "mutated.cc", "-o", folder / "mutated.o")
        # Of the core's library all but this part is taken: what is known already is not looked up there.
        tests = objects.rglob(f"{self.name}_tests.dir/**/*.o")
        self._program = folder / f"{self.name}_tests"
        libraries = [*objects.glob("*.a"), f"-L{objects}/lib", "-lgtest_main", "-lgtest", "-lpthread"]
        run(*compiler, "-o", self._program, *tests, folder / "mutated.o", *libraries)

    def reach(self, chosen: list[Mutant]) -> dict[str, Reach]:
        listed = subprocess.run([self._program, "--gtest_list_tests"], capture_output=True, text=True, check=True).stdout
        tests, suite = [], ""
        for line in listed.splitlines()[1:]:
            if line.startswith(" "):
                tests.append(suite + line.split()[0])
            else:
                suite = line.split()[0]
        folder = self._build / self.name / "reached"
        folder.mkdir(parents=True, exist_ok=True)
        file_of = {test: folder / str(i) for i, test in enumerate(tests)}
        name_of = {mutant.number: mutant.name for mutant in chosen}
        reached = {}
        reach = lambda test: self._exec([test], {"RANKWISE_REACHED": str(file_of[test])})  # noqa: E731
        for test, passed, seconds in in_children(reach, tests):
            if not passed:
                raise SystemExit(f"{self.name}: {test} fails without any mutant")
            numbers = map(int, file_of[test].read_text().split())
            reached[test] = Reach(seconds, {name_of[number] for number in numbers if number in name_of})
        return reached

    def run(self, mutant: Mutant, tests: list[str], limit_s: float) -> None:
        self._exec(tests, {"RANKWISE_MUTANT": str(mutant.number)}, limit_s)

    def _exec(self, tests: list[str], environment: Mapping[str, str], limit_s: float = 600) -> None:
        quietly(limit_s)
        words = [str(self._program), f"--gtest_filter={':'.join(tests)}", "--gtest_fail_fast", "--gtest_brief=1"]
        os.execve(self._program, words, {**os.environ, **environment})


def run(*words: object) -> None:
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL)


class PythonPart:
    """Some modules, and the paths of their tests."""

    def __init__(
        self, name: str, modules: Mapping[str, Path], tests: Sequence[str], root: Path, preload: Sequence[str] = PRELOADED
    ) -> None:
        self.name, self._modules, self._tests, self._root, self._preload = name, modules, tests, root, preload

    def mutants(self) -> list[Mutant]:
        import in_python

        found: list[Mutant] = []
        for path in self._modules.values():
            places = list(in_python.changes(ast.parse(path.read_text())))
            found += named(self._root, path, [(range(n.lineno, (n.end_lineno or n.lineno) + 1), what) for n, what, _ in places])
        return found

    def prepare(self, chosen: list[Mutant]) -> None:
        """What all tests import is loaded here once: each child begins with it."""
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
        for name in ("pytest", "hypothesis", *self._preload):
            importlib.import_module(name)

    def reach(self, chosen: list[Mutant]) -> dict[str, Reach]:
        with tempfile.NamedTemporaryFile() as file:
            for _, passed, _ in in_children(lambda _: self._trace(file.name), [None]):
                if not passed:
                    raise SystemExit(f"{self.name}: the tests fail without any mutant")
            found = pickle.load(file)
        in_functions = {path: function_lines(path) for path in self._modules.values()}
        return {
            test: Reach(seconds, {
                mutant.name for mutant in chosen
                if any((str(mutant.path), line) in lines for line in mutant.lines)
                or not in_functions[mutant.path].intersection(mutant.lines)
            })
            for test, (seconds, lines) in found.items()
        }  # fmt: skip

    def run(self, mutant: Mutant, tests: list[str], limit_s: float) -> None:
        import in_python

        quietly(limit_s)
        in_python.Importer(self._modules, mutant.path, mutant.number).install()
        self._exit_with_pytest(tests)

    def _trace(self, file: str) -> None:
        import in_python
        import pytest

        quietly(600)
        in_python.Importer(self._modules).install()
        sources = {str(path) for path in self._modules.values()}
        found: dict[str, tuple[float, set[tuple[str, int]]]] = {}

        class Trace:
            @pytest.hookimpl(wrapper=True)
            def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
                lines, begun = set[tuple[str, int]](), time.process_time()

                def trace(frame: Any, event: str, argument: object) -> Any:
                    if frame.f_code.co_filename not in sources:
                        return None
                    lines.add((frame.f_code.co_filename, frame.f_lineno))
                    return trace

                sys.settrace(trace)
                try:
                    return (yield)
                finally:
                    sys.settrace(None)
                    found[item.nodeid] = (time.process_time() - begun, lines)

            def pytest_sessionfinish(self) -> None:
                Path(file).write_bytes(pickle.dumps(found))

        self._exit_with_pytest(self._tests, [Trace()])

    def _exit_with_pytest(self, tests: Sequence[str], plugins: Sequence[object] = ()) -> None:
        import hypothesis
        import pytest

        hypothesis.settings.register_profile(
            "mutants", deadline=None, database=None, derandomize=True, suppress_health_check=list(hypothesis.HealthCheck)
        )
        hypothesis.settings.load_profile("mutants")
        os.chdir(self._root)
        options = ["-x", "-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
        os._exit(pytest.main([*options, *tests], plugins=list(plugins)))


def function_lines(path: Path) -> set[int]:
    """The lines of a module that run when something is called."""
    functions = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef))
    return {line for node in functions for line in range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)}


Part = CppPart | PythonPart


def measure(part: Part, count: int, verbose: bool = False) -> tuple[list[Mutant], list[Mutant], int]:
    """Return the mutants that were run, those of them that no test notices, and how many there are."""
    every = part.mutants()
    chosen = sample(every, count)
    part.prepare(chosen)
    reach = part.reach(chosen)
    tests_of = {}
    for mutant in chosen:
        tests = sorted((test for test in reach if mutant.name in reach[test].mutants), key=lambda test: reach[test].seconds)
        total_s = list(itertools.accumulate(reach[test].seconds for test in tests))
        quick = max(1, bisect.bisect(total_s, QUICK_S))
        tests_of[mutant.name] = (tests[:quick], tests[quick:])
    left = chosen
    for batch in (0, 1):  # the quick tests, then the others

        def job(mutant: Mutant, batch: int = batch) -> None:
            tests = tests_of[mutant.name][batch]
            part.run(mutant, tests, 1 + 10 * sum(reach[test].seconds for test in tests))

        asked = [mutant for mutant in left if tests_of[mutant.name][batch]]
        noticed = {mutant.name for mutant, passed, _ in in_children(job, asked) if not passed}
        left = [mutant for mutant in left if mutant.name not in noticed]
    if verbose:
        for mutant in left:
            print(f"{mutant.name}\n    reached by {', '.join(sum(tests_of[mutant.name], [])[:3]) or 'no test'}")
    return chosen, left, len(every)


def reasons(path: Path) -> dict[str, str]:
    """The known survivors: names, and after some of them the reason for all of these, indented."""
    found, names = dict[str, str](), list[str]()
    for line in path.read_text().splitlines():
        if line.startswith("    "):
            found.update(dict.fromkeys(names, line.strip()))
            names = []
        elif line and not line.startswith("#"):
            names.append(line)
    if names:
        raise SystemExit(f"{path}: no reason for {names[0]}")
    return found


def parts(root: Path = ROOT) -> dict[str, Part]:
    build = root / "build" / "mutants"
    statistics = {"rankwise.statistics": root / "python/rankwise/statistics.py"}
    return {
        **{name: CppPart(name, root, build) for name in ("cost", "schedule", "decide")},
        "models": PythonPart("models", MODULES, ["tests/python/models"], root),
        "statistics": PythonPart("statistics", statistics, ["tests/python/test_statistics.py"], root),
    }


def main() -> int:
    sys.path.insert(0, str(Path(__file__).parent))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="*", help=", ".join(parts()))
    parser.add_argument("--count", type=int, default=200, help="mutants of each part; 0: all")
    parser.add_argument("--verbose", action="store_true", help="the survivors, and which tests reach them")
    asked = parser.parse_args()
    known = reasons(Path(__file__).with_name("survivors.txt"))
    failed = False
    for name in asked.part or parts():
        begun = time.monotonic()
        chosen, left, every = measure(parts()[name], asked.count, asked.verbose)
        survivors = {mutant.name for mutant in left}
        rate = 1 - len(survivors) / len(chosen)
        print(f"{name}: {len(chosen) - len(left)} of {len(chosen)} noticed ({100 * rate:.1f} %; {every} in all), "
              f"{time.monotonic() - begun:.0f} s", flush=True)  # fmt: skip
        new = survivors - known.keys()
        gone = {mutant.name for mutant in chosen} & known.keys() - survivors
        for text, names in (("not noticed, and no reason given", new), ("noticed by now", gone)):
            for one in sorted(names):
                print(f"{text}: {one}", flush=True)
        failed |= rate < LEAST or bool(new)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
