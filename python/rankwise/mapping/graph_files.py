"""Any program's traffic from files: what ``rankwise observe`` wrote, MatrixMarket, METIS, CSV."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rankwise.errors import InputError
from rankwise.files import plain, read_text
from rankwise.mapping.traffic import Traffic
from rankwise.observe.record import MAGIC, Record, read_record

_MEND = (
    "give a MatrixMarket coordinate matrix, a METIS graph, a CSV of bytes with a line a rank, or what 'rankwise observe' wrote"
)
_MOST_RANKS = 10_000_000
_MOST_BYTES = 2**53  # of all weights together


def traffic_of(record: Record, name: str) -> Traffic:
    """Return what an observed program sent; what was fetched from a rank counts as sent by it."""
    source = np.repeat(np.arange(record.ranks), np.diff(record.pointer))
    sent = record.bytes.astype(np.int64) + record.pulled.astype(np.int64)
    messages = np.maximum(record.messages.astype(np.int64), record.pulled > 0)
    nodes = np.asarray(record.node_of_rank, dtype=np.int32)
    known = {} if (nodes < 0).any() else {"node_of_rank": nodes, "hosts": record.hosts}
    return Traffic.of_pairs(name, record.ranks, (source, record.peer, sent), messages, **known)


def read_graph(path: Path) -> Traffic:
    """Read a graph whose vertices are ranks and whose weights are bytes.

    MatrixMarket (the rank of the row sends to that of the column), METIS (each edge is sent once each way), CSV (a line of
    bytes for each rank), or a record of ``rankwise observe``. Raises InputError, with the line, for ranks that send to
    themselves, edges that are missing or stand at one end only, and weights that are negative or no whole numbers.
    """
    try:
        with plain(path).open("rb") as file:
            if file.read(len(MAGIC)) == MAGIC:
                return traffic_of(read_record(path), path.name)
    except OSError:
        pass  # the next reader says it
    text = _Text(path, read_text(path, "--graph", _MEND).splitlines())
    first = next((line for line in text.lines if line.strip()), "")
    if first.lower().startswith("%%matrixmarket"):
        ranks, triples = _matrix_market(text)
    elif not first:
        raise InputError(f"--graph {path} is empty: {_MEND}")
    else:
        ranks, triples = (_csv if "," in first else _metis)(text)
    if sum(triples[2]) >= _MOST_BYTES:
        raise InputError(f"--graph {path}: its weights come to 2^53 or more: give them in larger units")
    return Traffic.of_pairs(path.name, ranks, triples)


_Triples = tuple[list[int], list[int], list[int]]


@dataclass
class _Text:
    """A file's lines; what is wrong with one is told with its number."""

    path: Path
    lines: list[str]

    def wrong(self, number: int, what: str) -> InputError:
        return InputError(f"--graph {self.path}, line {number}: {what}")

    def rows(self, comment: str, blank: bool = False) -> Iterator[tuple[int, list[str]]]:
        """Return the words of each line and its number, without comments and, unless ``blank``, empty lines."""
        for number, line in enumerate(self.lines, 1):
            if not line.startswith(comment) and (blank or line.strip()):
                yield number, line.split()

    def whole(self, number: int, word: str, what: str) -> int:
        try:
            value = float(word)
            if not value.is_integer():
                raise self.wrong(number, f"{what} {word} is no whole number: give bytes")
        except (ValueError, OverflowError):
            raise self.wrong(number, f"'{word[:20]}' is no number: {what} is missing") from None
        if value < 0:
            raise self.wrong(number, f"{what} {word} is negative: give 0 or more")
        return int(value)

    def rank(self, number: int, word: str, ranks: int, own: int | None = None) -> int:
        """Return the rank, from 0, of a word that counts from 1; ``own`` is the one that must not be named."""
        value = self.whole(number, word, "the rank")
        if not 1 <= value <= ranks:
            raise self.wrong(number, f"rank {word} does not exist: ranks count from 1 to {ranks}")
        if value - 1 == own:
            raise self.wrong(number, f"rank {word} sends to itself: leave that out")
        return value - 1

    def ranks(self, number: int, word: str) -> int:
        value = self.whole(number, word, "the number of ranks")
        if not 1 <= value <= _MOST_RANKS:
            raise self.wrong(number, f"{word} ranks: give 1 to {_MOST_RANKS}")
        return value


def _matrix_market(text: _Text) -> tuple[int, _Triples]:
    words = text.lines[0].lower().split()
    known = len(words) == 5 and words[3] in ("real", "integer", "pattern") and words[4] in ("general", "symmetric")
    if not known or words[1:3] != ["matrix", "coordinate"]:
        raise text.wrong(1, "it is no 'matrix coordinate', 'real', 'integer' or 'pattern', 'general' or 'symmetric'")
    with_values, mirrored = words[3] != "pattern", words[4] == "symmetric"
    rows = text.rows("%")
    at, size = next(rows, (len(text.lines), []))
    if len(size) != 3:
        raise text.wrong(at, "rows, columns and entries are missing")
    if size[0] != size[1]:
        raise text.wrong(at, f"{size[0]} rows and {size[1]} columns are no square: give a row and a column for each rank")
    ranks, entries = text.ranks(at, size[0]), text.whole(at, size[2], "the number of entries")
    source: list[int] = []
    dest: list[int] = []
    weight: list[int] = []
    found = 0
    for at, row in rows:
        found += 1
        if len(row) != 2 + with_values:
            raise text.wrong(at, f"{len(row)} words, not {2 + with_values}")
        a = text.rank(at, row[0], ranks)
        b = text.rank(at, row[1], ranks, own=a)
        sent = text.whole(at, row[2], "the weight") if with_values else 1
        for i, j in ((a, b), (b, a)) if mirrored else ((a, b),):
            source.append(i)
            dest.append(j)
            weight.append(sent)
    if found != entries:
        raise text.wrong(at, f"the last of {found} entries, and the head promises {entries}")
    return ranks, (source, dest, weight)


def _metis(text: _Text) -> tuple[int, _Triples]:
    rows = text.rows("%", blank=True)
    at, head = next(rows, (1, []))
    if not 2 <= len(head) <= 4:
        raise text.wrong(at, f"it is no graph that is understood: {_MEND}")
    ranks, edges = text.ranks(at, head[0]), text.whole(at, head[1], "the number of edges")
    form = (head[2] if len(head) > 2 else "0").zfill(3)
    if len(form) > 3 or set(form) - {"0", "1"}:
        raise text.wrong(at, f"the format {head[2]} is unknown: give 0, 1, 10, 11, 100 or so")
    constraints = text.whole(at, head[3], "the number of weights") if len(head) > 3 else 1
    skip = (form[0] == "1") + (constraints if form[1] == "1" else 0)
    stride = 1 + (form[2] == "1")
    pairs: dict[tuple[int, int], int] = {}
    own = 0
    line_of: list[int] = []
    for at, words in rows:
        line_of.append(at)
        if own == ranks:
            if words:
                raise text.wrong(at, f"a line more than the {ranks} vertices of the head")
            continue
        others, sent = words[skip::stride], words[skip + 1 :: stride] if stride == 2 else []
        if stride == 2 and len(sent) != len(others):
            raise text.wrong(at, "the last edge has no weight")
        for i, word in enumerate(others):
            other = text.rank(at, word, ranks, own)
            pairs[own, other] = pairs.get((own, other), 0) + (text.whole(at, sent[i], "the weight") if sent else 1)
            if other < own and pairs.get((other, own)) is None:
                raise text.wrong(at, f"the edge to vertex {word} does not stand there: name it at both ends")
        own += 1
    if own < ranks:
        raise text.wrong(at, f"the last of {own} vertices, and the head promises {ranks}")
    for (a, b), sent_there in pairs.items():
        if pairs.get((b, a)) != sent_there:
            raise text.wrong(line_of[a], f"the edge from {a + 1} to {b + 1} does not weigh the same at both: mend one end")
    if len(pairs) != 2 * edges:
        raise InputError(f"--graph {text.path}: it has {len(pairs) // 2} edges, and its head promises {edges}: mend the head")
    return ranks, ([a for a, _ in pairs], [b for _, b in pairs], list(pairs.values()))


def _csv(text: _Text) -> tuple[int, _Triples]:
    source: list[int] = []
    dest: list[int] = []
    weight: list[int] = []
    rows = [(at, line.split(",")) for at, line in enumerate(text.lines, 1) if line.strip() and not line.startswith("#")]
    for own, (at, words) in enumerate(rows):
        if len(words) != len(rows):
            raise text.wrong(at, f"{len(words)} columns and {len(rows)} lines are no square: give each rank both")
        for other, word in enumerate(words):
            sent = text.whole(at, word.strip(), f"column {other + 1}")
            if sent and other == own:
                raise text.wrong(at, f"rank {own + 1} sends to itself: write 0 in column {own + 1}")
            if sent:
                source.append(own)
                dest.append(other)
                weight.append(sent)
    return len(rows), (source, dest, weight)
