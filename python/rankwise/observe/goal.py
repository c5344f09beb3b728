"""A recorded step in GOAL, the language of LogGOPSim's schedules (https://github.com/spcl/LogGOPSim).

Of each phase of a rank: its computing (calc), its messages, which start when that has ended, and an empty calc that ends when
all of them have. Collectives are written out as the messages of the library's algorithm.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rankwise.observe.phases import PhasedStep

_PS = 1e12  # GOAL has whole numbers only: in ns a byte of a link faster than 1 GB/s would take 0


def goal_lines(step: PhasedStep) -> Iterator[str]:
    """Yield a step as GOAL, times in picoseconds."""
    yield f"// a step of {step.ranks} ranks; times in ps: give LogGOPSim L, o, g in ps, G and O in ps a byte\n"
    yield "// one rank a node: LogGOPSim knows no NIC that ranks share\n"
    yield f"num_ranks {step.ranks}\n"
    phase, source, dest = (np.asarray(column) for column in (step.phase, step.source, step.dest))
    sizes = np.asarray(step.bytes)
    for rank in range(step.ranks):
        yield f"\nrank {rank} {{\n"
        before = ""
        mine = np.flatnonzero((source == rank) | (dest == rank))
        for number in range(step.phases):
            there = mine[phase[mine] == number].tolist()
            compute_ps = round(float(step.compute_s[number, rank]) * _PS)
            if not there and not compute_ps:
                continue
            begin, names = f"c{number}", []
            yield f"{begin}: calc {compute_ps}\n"
            if before:
                yield f"{begin} requires {before}\n"
            for message in there:
                for kind, end, other in (("send", source, dest), ("recv", dest, source)):
                    if end[message] != rank:
                        continue
                    name = f"{kind[0]}{message}"
                    way = "to" if kind == "send" else "from"
                    yield f"{name}: {kind} {sizes[message]}b {way} {other[message]} tag {number}\n"
                    yield f"{name} requires {begin}\n"
                    names.append(name)
            before = begin
            if names:
                before = f"e{number}"
                yield f"{before}: calc 0\n"
                yield from (f"{before} requires {name}\n" for name in names)
        yield "}\n"
