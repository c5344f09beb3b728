"""``rankwise measure pack``: what packing messages takes, measured in about a
second of one processor, and put into the profile."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from rankwise.errors import RankwiseError
from rankwise.files import opened_to_append
from rankwise.launch import find_mpi, stream_kernel
from rankwise.machine.packing import Packing
from rankwise.machine.profile import open_profile


def measure_packing(profile_path: Path) -> Packing:
    """Measure, add the curves to the profile, and return them.

    Raw figures are appended to machine.pack.samples.jsonl for machine.json. Raises RankwiseError and its kinds.
    """
    profile = open_profile(profile_path)
    curves: dict[str, list[list[float]]] = {}
    with opened_to_append(profile_path.with_name(profile_path.stem + ".pack.samples.jsonl")) as samples:
        for record in stream_kernel(find_mpi(), ["pack"], 1, False, "measuring what packing takes"):
            if record["record"] == "packed":
                samples.write(json.dumps(record).encode() + b"\n")
                curves.setdefault(str(record["row_bytes"]), []).append([record["size_bytes"], record["time_s"]])
    if not curves:
        raise RankwiseError("a kernel ended without a result: see 'rankwise doctor'")
    packing = Packing.from_dict(curves)
    replace(profile, packing=packing).save(profile_path)
    return packing
