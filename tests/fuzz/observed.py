"""Records of programs and what ranks left of one, changed where their format has fields, and all that is asked of them."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import lzma
import os
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np

EXTREMES = [0, 1, 2, 7, *((1 << bits) - less for bits in (8, 16, 31, 32, 47, 62, 63, 64) for less in (0, 1))]


def ask(path: Path) -> None:
    """Show a record as each verb does: its JSON, its blocks, what it is exported as, compared with itself, with advice."""
    from rankwise.api.advising import Target, advise
    from rankwise.api.observing import compare_runs, load_record
    from rankwise.blocks.terminal import show
    from rankwise.observe.formats import FORMATS, exported

    found = load_record(path)
    found.to_dict()
    with contextlib.redirect_stdout(io.StringIO()):
        for answer in (found, compare_runs(path, path), advise([str(path)], Target())):
            show(answer.rendered())
        show(found.rank_blocks())
        show(found.collective_blocks())
    for form in FORMATS:
        for line in exported(found.evidence.record, form):
            len(line)


def ask_parts(path: Path) -> None:
    """Merge what ranks left, and show it, as a record and while they run."""
    from rankwise.observe.live import hang_of, live_ranks
    from rankwise.observe.parts import merged
    from rankwise.observe.record import parts_of, write_record

    output = path.with_name("whole.comm")
    folder = parts_of(output)
    folder.mkdir(exist_ok=True)
    os.replace(path, folder / "0.node")
    record = merged(folder, {"schema": 1})
    if record is not None:
        write_record(output, record)
        (folder / "0.node").replace(path)
        ask(output)
        os.replace(path, folder / "0.node")
    hang_of(live_ranks(output)[0])


def _scattered(draw: random.Random, content: bytearray, places: Sequence[int]) -> None:
    """Put extreme numbers of one to eight bytes at some of the places."""
    for _ in range(draw.choice([1, 1, 2, 5])):
        size = draw.choice([1, 2, 4, 8])
        at = int(places[draw.randrange(len(places))]) // size * size
        value = draw.choice(EXTREMES) if draw.random() < 0.7 else draw.getrandbits(64)
        content[at : at + size] = (value % (1 << 8 * size)).to_bytes(size, "little")[: len(content) - at]


def record(draw: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Return a record with a value of its header, or numbers of its arrays, changed; now and then with any bytes changed."""
    import readers
    from rankwise.observe.record import MAGIC

    seed = draw.choice(seeds)
    if draw.random() < 0.1:
        return readers.mutated(draw, seeds)
    header, arrays = _arrays(seed)
    changed = {name: bytearray(content) for name, content in arrays.items()}
    text = json.dumps(header).encode()
    for _ in range(draw.choice([0, 1, 1, 2])):
        text = readers.restructured(draw, text)
    listed = {name: [dtype, len(changed[name]) // max(size, 1)] for name, (dtype, size) in _listed(seed).items()}
    for _ in range(draw.choice([0, 1, 2])):
        name = draw.choice(list(changed))
        if changed[name]:
            _scattered(draw, changed[name], range(len(changed[name])))
        if draw.random() < 0.1:
            size = _listed(seed)[name][1]
            del changed[name][draw.randrange(len(changed[name]) // size + 1) * size :]
            listed[name][1] = len(changed[name]) // size
    whole = json.loads(text)
    if isinstance(whole, dict):
        whole["arrays"] = [[name, *listed[name], len(content)] for name, content in changed.items()]
        text = json.dumps(whole).encode()
    return b"".join([MAGIC, len(text).to_bytes(8, "little"), text, *map(bytes, changed.values())])


@functools.cache
def _unpacked(seed: bytes) -> tuple[dict[str, object], dict[str, bytes], dict[str, tuple[str, int]]]:
    import zlib

    from rankwise.observe.record import EVENT

    end = 16 + int.from_bytes(seed[8:16], "little")
    header = json.loads(seed[16:end])
    arrays, sizes = {}, {}
    for name, dtype, items, stored in header.pop("arrays"):
        part, end = seed[end : end + stored], end + stored
        size = EVENT.itemsize if dtype == "event" else np.dtype(dtype).itemsize
        arrays[name], sizes[name] = part if stored == items * size else zlib.decompress(part), (dtype, size)
    return header, arrays, sizes


def _arrays(seed: bytes) -> tuple[dict[str, object], dict[str, bytes]]:
    return _unpacked(seed)[:2]


def _listed(seed: bytes) -> dict[str, tuple[str, int]]:
    return _unpacked(seed)[2]


@functools.cache
def _plain(seed: bytes) -> tuple[bytes, list[int]]:
    content = lzma.decompress(seed)
    return content, np.flatnonzero(np.frombuffer(content, np.uint8)).tolist()


def parts(draw: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Return what ranks left of a program, with numbers changed near those that are not 0, or cut off."""
    plain, places = _plain(draw.choice(seeds))
    content = bytearray(plain)
    for _ in range(draw.choice([1, 2, 4])):
        _scattered(draw, content, places)
    if draw.random() < 0.1:
        del content[draw.choice([draw.randrange(len(content)), draw.choice(places)]) :]
    return bytes(content)
