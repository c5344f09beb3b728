#!/usr/bin/env python3
"""Count the lines of the sources that git tracks, by folder, without tests.

    tools/count_lines.py [--largest 15] [FOLDER]   # a table; FOLDER: another checkout
    tools/count_lines.py --limit 600               # exit code 1, with the files above it, where there are any

Raw lines are all lines; code lines are those that are left without blank lines, comments, docstrings, imports and includes.
Schemas and templates of the package are counted apart from the rest of ``python``.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path

FOLDERS = ("src", "include", "python", "benchmarks")
DATA = {".csv", ".jsonl", ".toml", ".typed"}  # tables and descriptions, not sources
C_LIKE = {".c", ".h", ".cpp", ".hpp", ".in", ".js"}
FORTRAN = {".F90", ".f90"}
SOURCES = C_LIKE | FORTRAN | {".py"}


def room_of(path: Path) -> str:
    """Return the folder that a file is counted under: two levels of src and python, one of the others."""
    parts = path.parts
    if "schemas" in parts or "templates" in parts:
        return next(part for part in parts if part in ("schemas", "templates"))
    if parts[0] == "python":
        return "/".join(("python", *(parts[2:3] if len(parts) > 3 else ())))
    return "/".join(parts[:2]) if parts[0] == "src" and len(parts) > 2 else parts[0]


def sources(root: Path) -> list[Path]:
    """Return what git tracks in the counted folders, and is written by hand."""
    words = ["git", "-C", str(root), "ls-files", "-z", *FOLDERS]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{root} is no git checkout ({done.stderr.strip()}): name the folder of a clone")
    listed = done.stdout.split("\0")
    return [Path(name) for name in listed if name and Path(name).suffix not in DATA and (root / name).is_file()]


def code_lines(path: Path, text: str) -> int:
    """Count the lines that say what is to be done."""
    if path.suffix == ".py":
        return len(_python_lines(text))
    if path.suffix in C_LIKE:
        text = re.sub(r"/\*.*?\*/", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL)
        lines = (re.sub(r"(^|\s)//.*", "", line).strip() for line in text.splitlines())
        return sum(1 for line in lines if line and not re.match(r"#\s*include\b|#\s*pragma\s+once", line))
    if path.suffix in FORTRAN:
        lines = (line.strip() for line in text.splitlines())
        return sum(1 for line in lines if line and not line.startswith("!") and not re.match(r"use\b|#\s*include", line))
    return sum(1 for line in text.splitlines() if line.strip())


def _python_lines(text: str) -> set[int]:
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING,
               tokenize.ENDMARKER}  # fmt: skip
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in skipped:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
                lines.difference_update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parents[1], help="the checkout to count")
    parser.add_argument("--largest", type=int, default=15, help="how many of the largest files to name")
    parser.add_argument("--limit", type=int, help="only name the files of src, include and python that have more lines")
    asked = parser.parse_args()
    raw: dict[Path, int] = {}
    rooms: dict[str, Counter[str]] = {}
    for path in sources(asked.folder):
        text = (asked.folder / path).read_text(encoding="utf-8")
        raw[path] = len(text.splitlines())
        rooms.setdefault(room_of(path), Counter()).update(files=1, raw=raw[path], code=code_lines(path, text))
    by_size = sorted(raw, key=lambda path: (-raw[path], path))
    if asked.limit is not None:
        above = [
            path for path in by_size if raw[path] > asked.limit and path.parts[0] != "benchmarks" and path.suffix != ".json"
        ]
        for path in above:
            print(f"{path} has {raw[path]} lines, more than {asked.limit}: one concept a file")
        return 1 if above else 0
    print(f"{'folder':<22}{'files':>7}{'raw':>9}{'code':>9}")
    for room, counts in sorted(rooms.items()):
        print(f"{room:<22}{counts['files']:>7,}{counts['raw']:>9,}{counts['code']:>9,}")
    for name, without in (("sum", ()), ("without benchmarks", ("benchmarks",))):
        whole: Counter[str] = sum((counts for room, counts in rooms.items() if room not in without), Counter())
        print(f"{name:<22}{whole['files']:>7,}{whole['raw']:>9,}{whole['code']:>9,}")
    print(f"files in src and python: {sum(path.parts[0] in ('src', 'python') and path.suffix in SOURCES for path in raw):,}")
    print("largest:")
    for path in by_size[: asked.largest]:
        print(f"{raw[path]:>7,}  {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
