"""What auto takes for a halo against every algorithm, in random cells, and what its trial costs; what setting up takes.

A cell is a box of n^3 doubles, a width g and a number of fields F, drawn at random (--seed). All algorithms are timed in turn
within one run; the regret is the time of what auto took by the time of the fastest, both medians of the same rounds. The cost
of the trial is what its exchanges took longer than the first ones of a new plan that takes the same untried, by the time of
all that were announced, the median of five. "line" is what a cache line takes from core to core: a virtual machine's may share
a cache at one time and not at another, which moves what `window` gains. Exits with 1 when fewer than nine cells of ten have a
regret of at most 5 %, or a trial costs more than 1 % in the median.

    python benchmarks/halo_auto.py --mpiexec mpiexec build/cpp/tests/cpp/halo_auto
    python benchmarks/halo_auto.py --simulate 8x16   # nodes x ranks, with SimGrid's factors by size; packing takes no time
    python benchmarks/halo_auto.py --setup 4x16 32x16 256x16     # some minutes

Setting up: on the same simulated nodes, for a box with 27 neighbours, of each algorithm the simulated time of
rankwise_halo_create on the slowest rank (bar: 2 s), and the memory that the library then holds for a rank, without MPI's own
(bar: at most a tenth more than with the fewest ranks). Exits with 1 where a bar is missed.
"""

import os
import random
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from harness import ended, options, records

ROOT = Path(__file__).parents[1]
# Between nodes 12.5 GB/s and 1 us a link, inside 12 GB/s and 0.4 us; a processor is busy for 0.5 us at both ends of a message.
PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="n" suffix="" radical="0-{last}" speed="1Gf" bw="12.5GBps" lat="1us" core="{cores}"
           loopback_bw="12GBps" loopback_lat="400ns"/>
</platform>
"""
# A rank's own copy of the globals, of which these programs have none, takes SimGrid seconds a rank. Detached sends (those below
# a threshold) stand in one list for all ranks, in which each is looked for from its beginning: quadratic in the ranks. Without
# them a receiver pays nothing for its processor. A look for messages takes as long as a message keeps the processor, not 100
# us.
MOST_DETACHED = 64
CONFIGURATION = (
    "network/crosstraffic:0", "smpi/simulate-computation:no", "smpi/wtime:0", "contexts/stack-size:256",
    "smpi/allreduce:redbcast", "smpi/reduce:binomial", "smpi/bcast:binomial_tree", "smpi/barrier:ompi_recursivedoubling",
    "smpi/os:0:5e-7:0",
    "smpi/or:0:5e-7:0", "smpi/iprobe:5e-7", "smpi/test:5e-7",
)  # fmt: skip


def simulated(shape: str, words: list[str], preloaded: str = "") -> list[dict[str, Any]]:
    """Return the records that halo_auto.cpp prints on simulated nodes, each filled with ranks in their order.

    ``preloaded``: a source that is built as a library and preloaded."""
    from rankwise.launch.build import LIBRARY, build

    nodes, ranks = map(int, shape.split("x"))
    library = build(LIBRARY, Path("smpicxx"))
    with tempfile.TemporaryDirectory() as scratch:
        made, platform, hosts = Path(scratch) / "program", Path(scratch) / "platform.xml", Path(scratch) / "hosts"
        command = ["smpicxx", "-std=c++20", "-O2", f"-I{ROOT / 'include'}", str(ROOT / "benchmarks" / "halo_auto.cpp")]
        (Path(scratch) / "librankwise.so.0").symlink_to(library)  # as the program will look for it
        subprocess.run([*command, str(library), f"-Wl,-rpath,{scratch}", "-o", str(made)], check=True)
        environment = {**os.environ, "RELAYS": "1"}
        if preloaded:
            environment["LD_PRELOAD"] = f"{scratch}/preloaded.so"
            command = ["c++", "-std=c++20", "-O2", "-shared", "-fPIC", str(ROOT / "benchmarks" / preloaded)]
            subprocess.run([*command, "-o", environment["LD_PRELOAD"]], check=True)
        platform.write_text(PLATFORM.format(last=nodes - 1, cores=ranks))
        hosts.write_text("".join(f"n{node}\n" for node in range(nodes) for _ in range(ranks)))
        threshold = 65536 if nodes * ranks <= MOST_DETACHED else 0
        configuration = (*CONFIGURATION, f"smpi/send-is-detached-thresh:{threshold}")
        command = ["smpirun", "-no-privatize", *(f"--cfg={each}" for each in configuration), "--log=root.thresh:critical"]
        command += ["-platform", str(platform), "-hostfile", str(hosts), "-np", str(nodes * ranks), str(made), *words]
        return records(command, environment)


def simulated_profile(shape: str, path: Path) -> None:
    """Write the profile of the simulated nodes: their messages are measured there as `rankwise measure` does on a machine."""
    from rankwise.machine.link import Point
    from rankwise.machine.profile import Link, Profile
    from rankwise.machine.shared import Resource, Shared
    from rankwise.models.curve import curve_from_table

    ranks = shape.split("x")[1]
    rows = simulated(f"2x{ranks}", ["links", ranks])
    links = {}
    for name in ("same-socket", "other-node"):
        ways = {}
        for way in ("send", "exchange", "exchange-gap"):
            times = [(row["size_bytes"], max(row[way], 1e-9)) for row in rows if row["class"] == name]
            ways[way] = curve_from_table([Point(size, time_s, time_s, time_s, 1) for size, time_s in times], "simulated")
        links[name] = Link(ways.pop("send"), ways)
    shared = Shared(card=Resource(12.5e9), memory=Resource(int(ranks) * 12e9))  # a loopback serves all ranks at its full rate
    machine = {"hostname": "simulated", "sockets": 1, "cores": int(ranks)}
    Profile(machine, links, "2024-01-01T00:00:00+00:00", {"kind": "imported"}, shared=shared).save(path)


def setting_up(shapes: list[str]) -> int:
    missed, first = [], {}
    for shape in shapes:
        for row in simulated(shape, ["setup", "4"], "halo_held.cpp"):
            kilobytes = row["memory_bytes"] / row["ranks"] / 1e3
            least = first.setdefault(row["algorithm"], kilobytes)
            print(f"{row['ranks']:>5} ranks  {row['algorithm']:<10}  create {1e3 * row['create_s']:8.3f} ms  "
                  f"memory {kilobytes:7.1f} kB a rank", flush=True)  # fmt: skip
            if row["create_s"] > 2 or kilobytes > 1.1 * least:
                missed.append(f"{row['ranks']} {row['algorithm']}")
    return ended(missed)


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("program", nargs="?")
    parser.add_argument("--simulate", metavar="NODESxRANKS", help="simulated, in place of the program")
    parser.add_argument("--setup", metavar="NODESxRANKS", nargs="+", help="what setting up takes there, instead")
    parser.add_argument("--mpiexec", default="mpiexec", help="with its options, as one word")
    parser.add_argument("--ranks", default="2")
    parser.add_argument("--rounds", default="11")
    parser.add_argument("--cells", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.setup:
        return setting_up(arguments.setup)
    draw = random.Random(arguments.seed)
    cells = []
    for _ in range(arguments.cells):
        n = round(4 * 2 ** draw.uniform(0, 4))  # 4 to 64
        cells.append(f"{n},{min(n, draw.randint(1, 3))},{draw.randint(1, 6)}")
    if arguments.simulate:
        with tempfile.TemporaryDirectory() as folder:  # auto decides by the profile of the machine that it runs on
            simulated_profile(arguments.simulate, Path(folder) / "machine.json")
            os.environ["RANKWISE_PROFILE"] = f"{folder}/machine.json"
            output = simulated(arguments.simulate, [arguments.rounds, *cells])
    else:
        command = [*arguments.mpiexec.split(), "-n", arguments.ranks, arguments.program, arguments.rounds, *cells]
        output = records(command)
    regrets, costs, windows, wins = [], [], [], {}
    for row in output:
        ways = {name: float(np.median(times)) for name, times in row.items() if isinstance(times, list) and name != "auto"}
        best = min(ways, key=ways.__getitem__)
        regrets.append(ways[row["taken"]] / ways[best] - 1)
        costs.append(row["cost_s"] / (row["announced"] * ways[best]))
        wins[best] = wins.get(best, 0) + 1
        if "window" in ways and row["n"] <= 32:
            messages = min(time for name, time in ways.items() if name != "window")
            windows.append((ways["window"] / messages, ways["window"] / ways["direct"], row))
        shown = ", ".join(f"{name} {1e6 * time:.1f}" for name, time in ways.items())
        print(f"{row['n']:>3} {row['g']} {row['f']}  took {row['taken']:<10} regret {100 * regrets[-1]:6.1f} %   cost "
              f"{100 * costs[-1]:5.2f} %   line {1e9 * row['line_s']:4.0f} ns   us: {shown}")  # fmt: skip
    right = sum(regret <= 0.05 for regret in regrets)
    print(f"regret at most 5 % in {right} of {len(regrets)}; worst {100 * max(regrets):.0f} %; fastest: {wins}")
    high = np.quantile(costs, 0.9)
    print(f"trial: median {100 * np.median(costs):.2f} %, nine of ten at most {100 * high:.2f} % of the exchanges announced")
    for near, least, most in product((True, False), (4, 9, 16), (8, 15, 32)):
        alike = [row for row in windows if least <= row[2]["n"] <= most < 2 * least + 1 and near == (row[2]["line_s"] < 1e-7)]
        of_direct, of_best = [row[1] for row in alike], [row[0] for row in alike]
        if of_direct:
            print(
                f"window, n {least} to {most}, cores {'near' if near else 'far'}: median {np.median(of_direct):.2f} of "
                f"direct, {np.median(of_best):.2f} of the fastest by messages; at most 0.7 of direct in "
                f"{sum(x <= 0.7 for x in of_direct)} of {len(of_direct)}"
            )
    return 0 if right >= 0.9 * len(regrets) and np.median(costs) <= 0.01 else 1


if __name__ == "__main__":
    sys.exit(main())
