"""Floods every reader of a file with mutated ones: each is read, or refused with InputError, within two seconds.

python tests/fuzz/readers.py [--inputs N] [--seed S] [READER ...]     (make fuzz: 100,000 of each)
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest import mock

import numpy as np

import observed

DATA = Path(__file__).parents[1] / "data"
CORPUS = Path(__file__).parent / "corpus"
HANG_S = 2.0
MOST_KEPT = 20  # of a reader's inputs: a fault of the environment breaks all of them
Read = Callable[[Path], object]


@dataclasses.dataclass(frozen=True)
class Reader:
    """``read`` takes a file, named as ``suffix`` says, that was mutated from one of the ``seeds``."""

    read: Read
    seeds: Sequence[bytes]
    suffix: str = ".txt"
    named: bool = True  # the file is, in what is said of it
    mutate: Callable[[random.Random, Sequence[bytes]], bytes] | None = None  # None: mutated


# Words of the interpreter that no complaint may hold: it names the place and the figure.
PYTHONS_OWN = re.compile(r"unhashable|not supported between|has no attribute|argument must be|invalid literal|(?<! is )out of "
                         r"range|subscriptable|"
                          r"not iterable|Exceeds the "
                          r"limit|dtype|reshape|unpack|operand|broadcast|NoneType|recursion|\bstr\b|ufunc|"
                          r"inhomogeneous")  # fmt: skip


def readers() -> dict[str, Reader]:
    from rankwise.api import kept
    from rankwise.collectives.selection import Setting
    from rankwise.collectives.settings import Library, Rule, Settings, written
    from rankwise.engines import ledger
    from rankwise.engines.fft_lengths import Lengths
    from rankwise.health import record as history
    from rankwise.launch.smpi import read_trace
    from rankwise.machine import hosts, hwloc, switches, sysfs
    from rankwise.machine.description import load_description
    from rankwise.mapping.levels import parse_levels
    from rankwise.mapping.reading import read_mapping
    from rankwise.mapping.traffic import read_graph
    from rankwise.measure import all_pairs
    from rankwise.measure.fitting import fit_table
    from rankwise.measure.imports import read_tables
    from rankwise.measure.profiles import profile_of_samples
    from rankwise.report.inputs import load_mappings, load_validation
    from rankwise.slurm import jobs, states
    from rankwise.trial.session import Trial, Way, sent_inside
    from rankwise.workloads.collective import CollectiveOptions
    from rankwise.workloads.collective import _measured as measured
    from rankwise.workloads.halo import read_saved

    tables = {kind: [path.read_bytes() for path in sorted(DATA.glob(f"*-samples/{glob}"))]
              for kind, glob in (("osu", "*osu*.txt"), ("imb", "imb*.txt"), ("mpi4py", "mpi4py*.txt"))}  # fmt: skip

    def slurm_says(path: Path) -> object:
        text = path.read_text(errors="replace")
        with mock.patch.object(states, "try_slurm", lambda *words: text):
            return [one.to_dict() for one in states.states_of(["12"])], states.log_of("12")

    def settings(path: Path) -> object:
        for name in ("tuned.rules", "han.rules", "env.sh"):
            (path.parent / name).write_text("0")
        found = Settings.read(path)
        subprocess.run(["true"], env={**os.environ, **found.environment(path)}, check=True)
        return found.changed(path.parent), list(found.stale("MPICH Version: 5.0", 8, 2, "m"))

    def library(path: Path) -> object:
        setting = Setting("binomial", "binomial", parameters=("k=2",))
        found = Library.at("mpich-5.0", path)
        return found.knows("bcast", setting), written(found, [Rule("bcast", 8, 1, 4096, setting)])

    def counted(path: Path) -> object:
        os.replace(path, path.with_name("sent.0.prof"))
        return sent_inside(path.parent)

    def words(parse: Callable[[str], object]) -> Read:
        return lambda path: parse(path.read_text(errors="replace")[:2000])

    def job(path: Path) -> object:
        (path.parent / jobs.RECORD).write_bytes(path.read_bytes())
        return jobs.read_submissions(path.parent)

    def held(path: Path) -> object:
        pairs, damaged = ledger.read(path)
        return [ledger.held(pairs, by) for by in ledger.BY if pairs], kept.ledger(path).to_dict(), damaged

    def trial(path: Path) -> object:
        with mock.patch.object(Trial, "header", {"record": "trial"}):
            of = Trial(mock.Mock(), (Way("now", ()), Way("new", ())), path)
            of.resume()
        return of.pairs

    def trace(path: Path) -> object:
        with path.open(encoding="utf-8", errors="replace") as stream:
            return read_trace(stream)

    return {
        "ledger": Reader(held, [LEDGER], ".jsonl"),
        "lengths": Reader(lambda path: [one.median_s for ones in Lengths(path).launches.values() for one in ones], [LENGTHS],
                          ".json", named=False),
        "trial": Reader(trial, [TRIAL], ".jsonl"),
        "trace": Reader(trace, [TRACE], named=False),
        "profile": Reader(_profile, [(DATA / "profile-schema-1.json").read_bytes(), _whole_profile(), *_corpus("profile")],
            ".json"),
        "samples": Reader(profile_of_samples, _corpus("samples"), ".jsonl"),
        "all-pairs": Reader(all_pairs.load, _corpus("all-pairs"), ".jsonl"),
        "csv": Reader(lambda path: fit_table(path, "other-node", "auto", "regression"), [CSV], ".csv"),
        "osu": Reader(read_tables, tables["osu"]),
        "imb": Reader(read_tables, tables["imb"]),
        "mpi4py": Reader(read_tables, tables["mpi4py"]),
        "nccl": Reader(read_tables, _corpus("nccl")),
        "description": Reader(load_description, [path.read_bytes() for path in _library().glob("*.toml")], ".toml"),
        "matrix": Reader(read_graph, [MATRIX], ".mtx"),
        "metis": Reader(read_graph, [METIS], ".graph"),
        "traffic": Reader(read_graph, [TRAFFIC], ".csv"),
        "mapping": Reader(lambda path: read_mapping(path, [2, 2]), MAPPINGS),
        "record": Reader(observed.ask, _corpus("record"), ".comm", mutate=observed.record),
        "parts": Reader(observed.ask_parts, _corpus("parts"), ".node", False, observed.parts),
        "validation": Reader(load_validation, _corpus("validation"), ".json"),
        "mappings": Reader(load_mappings, [MAP_JSON], ".json"),
        "halo": Reader(read_saved, [HALO], ".json"),
        "history": Reader(history.read, [b"".join((DATA / "health.jsonl").read_bytes().splitlines(True)[:12])], ".jsonl"),
        "switches": Reader(switches.read_switches, SWITCHES),
        "levels": Reader(words(parse_levels), [b"socket:2,l3:4", b"numa:4,l3:2,switch:16*5,group:4"], named=False),
        "hosts": Reader(words(hosts.parse_hosts), [b"n[1-3,7],m[001-010]x,login"], named=False),
        "cpu-list": Reader(words(sysfs.parse_cpu_list), [b"0-3,8,10-11"], named=False),
        "hwloc": Reader(lambda path: hwloc.parse_xml(path.read_text(errors="replace"), "lstopo"),
                        [path.read_bytes() for path in DATA.glob("machines/one*.xml")], ".xml", False),
        "jobs": Reader(job, _corpus("jobs"), ".json", False),
        "settings": Reader(settings, [SETTINGS], ".json", False),
        "selection": Reader(library, [SELECTION], ".so", named=False),
        "collective": Reader(lambda path: measured(CollectiveOptions(osu=path)), [path.read_bytes() for path in
                             sorted(DATA.glob("osu-samples/*_allreduce.txt"))]),
        "counted": Reader(counted, [COUNTED], ".prof", named=False),
        "slurm": Reader(slurm_says, [SLURM], named=False),
    }  # fmt: skip


def _profile(path: Path) -> object:
    from rankwise.machine.profile import Profile

    profile = Profile.load(path)
    return profile.to_dict()


def _whole_profile() -> bytes:
    """Return a profile that has a bit of everything."""
    from rankwise.measure.profiles import profile_of_samples

    profile = profile_of_samples(CORPUS / "samples" / "campaign.jsonl").to_dict()
    rates = {"ranks": 2, "oversubscribed": False, "triad_bytes_per_s": 1e10, "points": [
        {"n": 64, "bytes_per_rank": 4e6, "flop_per_s": 1e9, "shuffle_bytes_per_s": 1e9,
            "exchange_bytes_per_s": None}]}  # fmt: skip
    counted = {"n": 64, "lines": 64, "cache_bytes": 1 << 20, "a": 2.5, "method": "cachegrind"}
    profile["fft3d"] = {"library": "fftw", "rates": [rates], "counted": [counted], "created": "2026-01-01"}
    profile["packing"] = {"8": [[1000, 1e-6], [2000, 2e-6]], "64": [[1000, 5e-7]]}
    profile["shared"] |= {"levels": [{"nodes": 32, "up_bytes_per_s": 1e10}]}
    return json.dumps(profile).encode()


def _corpus(name: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted((CORPUS / name).glob("*"))]


def _library() -> Path:
    import rankwise.machine.library as library

    return Path(library.__file__).parent


CSV = (
    b"message_bytes,latency_us,time_lo_us,time_hi_us,samples\n"
    b"0,1.2,1.1,1.3,100\n8,1.25,1.2,1.3,100\n1024,2,1.9,2.2,50\n65536,20,18,22,9\n"
)
CSV = CSV.replace(b"time_", b"latency_")
MATRIX = b"%%MatrixMarket matrix coordinate integer general\n% a comment\n3 3 2\n1 2 70\n3 1 5\n"
METIS = b"% a comment\n3 2 011\n9 2 70 3 5\n9 1 70\n9 1 5\n"
TRAFFIC = b"0,70,5\n70,0,0\n5,0,0\n"
MAPPINGS = [b'{"node_of_cell":[0,0,1,1]}', b"cell,node\n0,0\n1,0\n2,1\n3,1\n", b"0,1,2-3\n", b"n1:2\nn2\nn2\n",
            b"rank 0=n1 slot=0\nrank 1=n1 slot=1\nrank 2=n2 slot=0\nrank 3=n2 slot=1\n",
            b'{"results":[{"algorithm":"a","node_of_cell":[1,1,0,0]}]}']  # fmt: skip
MAP_JSON = (b'{"grid":[2,2],"nodes":[2,2],"stencil":"nearest-neighbor","results":[{"algorithm":"blocked","j_sum":4,"j_max":2,'
            b'"seconds":0.1,"node_of_cell":[0,0,1,1]}],"recommended":"blocked","skipped":[]}')  # fmt: skip
HALO = (
    b'{"schema":1,"kind":"halo","ranks":3,"fields":[8],"pairs":[{"source":0,"dest":1,"bytes":[64],"row_bytes":8},'
    b'{"source":1,"dest":2,"bytes":[9]}]}'
)
LEDGER = (
    b'{"schema":1,"record":"pair","machine":"m","engine":"model","against":"run","workload":"exchange","case":{"algorithm":"shift",'
    b'"mode":"send","message_bytes":8},"predicted_s":1e-6,"low_s":9e-7,"high_s":1.1e-6,"measured_s":1.05e-6}\n'
    b'{"schema":1,"record":"row","verb":"predict","machine":"m","engine":"model","workload":"exchange","case":{"mode":"send"},'
    b'"profile":"p","ranks_per_node":2,"placement":"blocked","loaded":false,"as":"","time_s":1e-6,"time_lo_s":null,'
    b'"time_hi_s":2e-6}\n'
)
LEDGER += LEDGER.replace(b"predict", b"simulate").replace(b"shift", b"direct")
LENGTHS = json.dumps({"schema": 1, "lengths": {"64": [{
    "created": "2026-01-01T00:00:00+00:00", "library": "fftw-3", "disturbed": False,
    "times_s": dict.fromkeys(("compute", "shuffle", "exchange", "imbalance"), [1e-6, 2e-6])}]}}).encode()  # fmt: skip
TRIAL = b'{"record":"trial"}' + b"".join(
    b'\n{"record":"pair","number":%d,"times_s":[1.5,1.25],"sent_bytes":[100,null]}' % i for i in range(3)
)
TRACE = (
    b'6 0.0 1 1 0 "rank-0"\n6 0.0 2 1 0 "rank-1"\n5 8 2 PMPI_Send "0 0 1"\n5 9 2 PMPI_Waitall "0 0 1"\n12 0.000001 2 1 8 100\n'
    b"15 0.000001 3 0 PTP 1 1_2_72_1 100\n12 0.000002 2 2 9 NA\n13 0.000003 2 1 \n16 0.000004 3 0 PTP 2 1_2_72_1\n"
    b"13 0.000004 2 2 \n"
)
SWITCHES = [b"SwitchName=s0 Nodes=n[1-2]\nSwitchName=s1 Nodes=n[3-4]\nSwitchName=top "
            b"Switches=s[0-1]\n", b"top.s0.n1\ntop.s1.n2\n",
            b"topology:\n - switch: s0\n   nodes: n[1-2]\n", b"BlockName=b0 Nodes=n[1-4]\nBlockSizes=4,8\n"]  # fmt: skip
SETTINGS = json.dumps({
    "schema": 1, "library": "openmpi-5.0", "mpi": "Open MPI v5.0.5", "machine": "m", "nodes": 2, "ranks": 8,
    "variables": {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1", "OMPI_MCA_coll_tuned_filename": "{folder}/tuned.rules"},
    "files": {"tuned.rules": "5f", "env.sh": "00"}, "created": "2026-01-01T00:00:00+00:00"}).encode()  # fmt: skip
SELECTION = b"\0".join([b"\x7fELF", *(json.dumps({"collective=bcast": {"comm_type=intra": {leaf: {}}}}).encode() for leaf in (
    "MPIR_Bcast_intra_binomial", "composition=MPIDI_Bcast_intra_composition_gamma", "MPIDI_POSIX")), b""])  # fmt: skip
COUNTED = b"# POINT TO POINT\nE\t0\t1\t64 bytes\t2 msgs sent\t0,2\nI\t0\t1\t640 bytes\t4 msgs sent\t0,4\n"
SLURM = (
    b"12|RUNNING|None|n[1-2]|1:00|5:00\nJobId=12 JobState=RUNNING Restarts=1 ExitCode=0:9 "
    b"StdOut=/x/log-12.txt\n12|FAILED|NonZeroExitCode|n1|1:00|5:00|1:0\n"
)

WORDS = [b"1e400", b"-1", b"1e300", b"-1e300", b"1e-320", b"NaN", b"Infinity", b"-Infinity", b"null", b"[]", b"{}", b'""', b"0",
         b"true", b"9" * 5000, b"9223372036854775808", b"\x1c", b"\x1d", b"\x85", "\u0663".encode(), b"\0", b"\xff", b"1_000",
         b"0x10",
         b" ", b"\n", b",", b'"', b"]", b"}", b"1e", b"inf", b"1.5", b"4294967296", b"-0"]  # fmt: skip
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


VALUES = [None, "x", -1, -1.5, [], {}, True, 1e300, 10**20, [None], {"x": 1}]


def restructured(draw: random.Random, text: bytes) -> bytes:
    """Return JSON, or one line of JSON Lines, with a value anywhere in it replaced by one of another kind, or gone."""
    lines = text.splitlines(True)
    number = draw.randrange(len(lines)) if lines else 0
    whole = text[:1] == b"{" and not all(line[:1] == b"{" for line in lines)
    try:
        value = json.loads(text if whole else lines[number])
    except (ValueError, IndexError, RecursionError):
        return text
    holder, key = value, None
    while (
        isinstance(inner := holder if key is None else holder[key], dict | list)
        and inner
        and (key is None or draw.random() < 0.8)
    ):
        holder, key = inner, draw.choice(list(inner) if isinstance(inner, dict) else range(len(inner)))
    if key is None:
        return text
    if draw.random() < 0.1:
        del holder[key]
    else:
        holder[key] = draw.choice(VALUES)
    changed = json.dumps(value).encode()
    return changed if whole else b"".join([*lines[:number], changed + b"\n", *lines[number + 1 :]])


def mutated(draw: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Return one of the seeds with up to four things changed."""
    text = draw.choice(seeds)
    if text[:1] == b"{" and draw.random() < 0.3:
        return restructured(draw, text)
    for _ in range(draw.randint(1, 4)):
        at = draw.randint(0, len(text))
        end = min(len(text), at + draw.randint(0, 12))
        kind = draw.randrange(7)
        if kind == 0:
            text = text[:at] + text[end:]
        elif kind == 1:
            text = text[:at] + draw.choice(WORDS) + text[at:]
        elif kind == 2:
            text = text[:at] + text[at:end] * draw.randint(2, 4) + text[end:]
        elif kind == 3:
            text = text[:at] + draw.randbytes(1) + text[at + 1 :]
        elif kind == 4:
            lines = text.splitlines(True)
            draw.shuffle(lines) if draw.random() < 0.2 else lines and lines.pop(draw.randrange(len(lines)))
            text = b"".join(lines)
        elif (found := NUMBER.search(text, at)) is not None:
            text = text[: found.start()] + draw.choice(WORDS) + text[found.end() :]
    return text


def flood(name: str, reader: Reader, inputs: int, seed: int, folder: Path, keep: Path | None = None) -> list[str]:
    """Feed one reader with a file of the folder; return what it broke on, whose first inputs are copied to ``keep``."""
    from rankwise.errors import RankwiseError

    draw, broken, slowest_s = random.Random(f"{name}/{seed}"), [], 0.0
    path = folder / f"input{reader.suffix}"
    begun_s = time.monotonic()
    for number in range(inputs):
        text = (reader.mutate or mutated)(draw, reader.seeds)
        path.write_bytes(text)
        started_s, known = time.thread_time(), len(broken)
        try:
            with contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                reader.read(path)
        except RankwiseError as error:
            if PYTHONS_OWN.search(re.sub("'.*'", "", str(error))) or (reader.named and path.name not in str(error)):
                broken.append(f"{name}, input {number}: no words for a user: {error}")
        except Exception:
            broken.append(f"{name}, input {number}: {traceback.format_exc(limit=-2)}")
        took_s = time.thread_time() - started_s
        slowest_s = max(slowest_s, took_s)
        if took_s > HANG_S:
            broken.append(f"{name}, input {number}: took {took_s:.1f} s")
        if keep is not None and known < len(broken) <= MOST_KEPT:
            (keep / f"broken-{name}-{number}{reader.suffix}").write_bytes(text)
    memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{name}: {inputs} inputs, {len(broken)} broken, slowest {slowest_s:.2f} s, {time.monotonic() - begun_s:.0f} s, "
        f"at most {memory_mb:.0f} MB", flush=True,
    )  # fmt: skip
    return broken


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("readers", nargs="*")
    parser.add_argument("--inputs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="a folder for inputs that broke a reader")
    given = parser.parse_args()
    known = readers()
    broken: list[str] = []
    keep = given.keep and given.keep.resolve()
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        for name in given.readers or known:
            broken += flood(name, known[name], given.inputs, given.seed, Path(scratch), keep)
    print("\n".join(broken[:40]), file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
