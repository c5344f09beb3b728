"""The terms on rankwise's screens: ``rankwise help words`` prints them, and the glossary of the documentation has them."""

from __future__ import annotations

TERMS = {
    "quality": "of a measurement: good, limited, poor or unknown; poor gives no advice",
    "95 %": "95 % interval of the value before it; a range is minimum to maximum",
    "~": "the 95 % interval overlaps that of the best: not clearly different",
    "profile": "what was measured of a machine, machine.json",
    "link class": "distance of two ranks: same core, cache, socket, other socket, node",
    "launch": "one start of mpiexec with its ranks; intervals come from several",
    "mode": "how MPI sends: send, ssend, isend, persistent (isend-self: passed on)",
    "k, cutoff": "layers of neighbours on each side that a rank exchanges with",
    "c, replication": "ranks of a team, which pool their blocks (team-shift)",
    "J_sum, J_max": "messages between nodes: of all, and of the node that sends most",
    "case, candidate": "one predicted or measured configuration; one to choose from",
    "crossover": "the size or cutoff from which another candidate is fastest",
    "noise": "what repetitions of one measurement differ by",
    "cost model": "predicts a time from schedule, placement and machine",
    "source": "where a time comes from: model, simgrid (simulated), run (measured)",
    "interpolated table": "pchip: measured points, joined smoothly",
    "held-out error": "error at sizes that the model was not fitted to",
    "step": "the shortest sequence of MPI calls that all ranks repeat",
    "wait": "time in MPI for a late sender or receiver",
    "transfer": "time in MPI that is no wait: copies, progress, the network",
    "lower bound": "what no placement falls below; optimal: it is reached",
    "baseline": "the level of earlier sessions (health)",
    "NIC": "network interface of a node",
}
