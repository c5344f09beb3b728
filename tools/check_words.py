"""Refuse private words, and more long sentences than there are, in what rankwise prints.

    python tools/check_words.py

Every string of four words and more in ``python/rankwise`` and ``src`` counts, the docstrings that users read (``PUBLIC``), and
the pages but for their code. Papers quote, and docstrings of the bindings are not public: both are left out, and so is
docs/papers.md. ``PRIVATE`` has the words with the term of the field; ``ALLOWED`` the places that keep one, with the reason.
``LONG_SENTENCES`` only falls.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
PACKAGE = REPOSITORY / "python" / "rankwise"
PUBLIC = re.compile(r"(api|cli)/|__init__|halo|fft\.py|errors")  # modules whose docstrings the help and the reference show
MOST_WORDS = 24  # of a sentence
LONG_SENTENCES = 0
PAGES = ("README.md", "CONTRIBUTING.md", "docs/*.md", "docs/reference/*.md")
PRIVATE = {
    r"told apart|cannot be told|not to be told": "intervals overlap; unknown; no verdict",
    r"\bways? of sending\b": "mode",
    r"\bbeside\b": "next to, compared with, under (load)",
    r"\bjudged?\b": "cost model; evaluated; no verdict",
    r"\bfloor\b": "noise (validate), lower bound (map, advise)",
    r"\bcards?\b(?!-)": "NIC",
    r"\btrust(ed)?\b": "quality",
    r"\bcampaigns?\b": "measurement",
    r"\bvisits?\b": "sample batch",
    r"\bby turns\b": "interleaved",
    r"\bdrift(s|ed)?\b": "machine speed since the profile",
    r"\bborders?\b": "crossover; perimeter",
    r"late partners?\b|moving bytes": "wait (late sender/receiver); transfer and other MPI",
    r"\bcrowded\b": "oversubscribed",
    r"lost (its|their) processor": "descheduled",
    r"\b(priced|costed)\b": "predicted",
    r"\b(cures?|mend)\b": "fix",
    r"\bthe usual\b": "baseline",
    r"\bquieter?\b": "undisturbed, less busy",
    r"\banew\b": "again",
    r"sizes not seen|look-up": "held-out error; interpolated table",
    r"\bours\b": "rankwise's",
}
ALLOWED = {
    "advise/findings.py": "keys of JSON: kinds of findings and of lower bounds",
    "api/reporting.py": "the name of a class in a schema",
    "api/results.py": "the name of a class in a schema",
    "api/schedules.py": "keys of JSON: kinds of steps of a schedule",
    "launch/probe.py": "a shell script",
    "cli/layout.py": "names of options",
    "mapping/mapper.py": "keys of JSON: card-out, card-in, card",
    "workloads/base.py": "keys of JSON: card-out, card-in, card",
    "workloads/comparison.py": "meanings of the JSON key drift",
}


def strings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and text of a file's strings, formatted ones with {} for what is put in; docstrings of public names too."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        for i, line in enumerate(text.splitlines(), 1):
            if not line.lstrip().startswith(("#", "//")):
                yield from ((i, said) for said in re.findall(r'"((?:[^"\\]|\\.)*)"', line))
        return
    tree, is_public = ast.parse(text), PUBLIC.match(str(path.relative_to(PACKAGE)))
    apart = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr) and not isinstance(node, ast.Expression):
            if not is_public or str(getattr(node, "name", "")).startswith("_"):
                apart.add(id(body[0].value))  # a docstring
        if isinstance(node, ast.JoinedStr):
            apart |= {id(inner) for inner in ast.walk(node) if inner is not node}
            yield node.lineno, "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in apart:
            yield node.lineno, node.value


def prose() -> Iterator[tuple[str, int, str]]:
    """Yield page, number and text of the lines of pages, their code left out."""
    for path in sorted(path for pattern in PAGES for path in REPOSITORY.glob(pattern) if path.name != "papers.md"):
        page = re.sub(
            r"```.*?```|`[^`]*`", lambda code: "\n" * code[0].count("\n"), path.read_text(encoding="utf-8"), flags=re.S
        )
        yield from ((str(path.relative_to(REPOSITORY)), i, line) for i, line in enumerate(page.splitlines(), 1))


def words_of_sentences(text: str) -> Iterator[list[str]]:
    """Yield the words of each sentence of a text."""
    for sentence in re.split(r"[.:;?!]\s|\n", text):
        yield re.findall(r"\S*[A-Za-z]\S*", sentence)


def private_words(name: str, line: int, text: str) -> Iterator[str]:
    """Yield what is wrong with a text, and where it stands."""
    for private, term in PRIVATE.items():
        if found := re.search(private, text, re.IGNORECASE):
            yield f"{name}:{line}: '{found[0]}' is a private word: write {term}: {text[max(0, found.start() - 35) :]:.70}"


def main() -> int:
    wrong, long = [], []
    for path in [*sorted(PACKAGE.rglob("*.py")), *sorted((REPOSITORY / "src").rglob("*.?pp"))]:
        name = str(path.relative_to(PACKAGE if path.suffix == ".py" else REPOSITORY))
        if name.startswith(("papers/", "src/bindings/")):
            continue
        for line, text in strings(path):
            if len(re.findall(r"[A-Za-z]{2,}", text)) < 4:
                continue
            if name not in ALLOWED:
                wrong += private_words(name, line, text)
            for words in words_of_sentences(text):
                if name not in ALLOWED and len(words) > MOST_WORDS:
                    long.append(f"{name}:{line}: {' '.join(words):.100}")
    if len(long) != LONG_SENTENCES:
        listed = "\n".join(long)
        wrong.append(f"{listed}\n{len(long)} sentences have more than {MOST_WORDS} words, LONG_SENTENCES is {LONG_SENTENCES}")
    wrong += [words for line in prose() for words in private_words(*line)]
    print("\n".join(wrong) if wrong else f"no private word; {len(long)} long sentences")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
