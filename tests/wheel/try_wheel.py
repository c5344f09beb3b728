"""Tries the wheel in dist/ where nothing else is: a fresh environment, installed from a folder of wheels, an empty home, a PATH
with that environment alone.

Four uses without a compiler: quick, map, observe, preload on a program of mpi4py; then a C program built against it, with one.
"""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

RING = """
from mpi4py import MPI
import numpy as np

world = MPI.COMM_WORLD
left, right = (world.rank - 1) % world.size, (world.rank + 1) % world.size
mine, theirs = np.full(1000, world.rank), np.empty(1000, dtype=int)
for step in range(50):
    world.Sendrecv(mine, right, recvbuf=theirs, source=left)
    assert (theirs == left).all()
"""
GRID = """
from mpi4py import MPI

grid = MPI.COMM_WORLD.Create_cart([4, 2], periods=[False, False], reorder=True)
moved = grid.allreduce(int(grid.rank != MPI.COMM_WORLD.rank))
if grid.rank == 0:
    print("moved", moved)
"""


def main() -> int:
    (wheel,) = Path("dist").glob("rankwise-*.whl")
    consumer = Path(__file__).parents[1] / "consumer" / "consumer.c"
    with tempfile.TemporaryDirectory(prefix="rankwise wheel ü ") as name:  # blanks and other letters in every path
        scratch = Path(name)
        venv.create(scratch / "env", with_pip=True)
        programs = scratch / "env" / "bin"
        environment = {"HOME": str(scratch / "home"), "PATH": str(programs), "LC_ALL": "C.UTF-8"}

        def run(*words: object, **more: str) -> str:
            done = subprocess.run(
                list(map(str, words)), env={**environment, **more}, cwd=scratch, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True, timeout=300,
            )  # fmt: skip
            if done.returncode:
                raise SystemExit(f"{' '.join(map(str, words))}\n{done.stdout}\nended with {done.returncode}")
            return done.stdout

        def expect(what: str, said: str, words: str) -> None:
            if words not in said:
                raise SystemExit(f"{what}: no '{words}' in\n{said}")
            print(f"{what}: right")

        # As docs/for-administrators.md has it: what is needed is collected in a folder, and installed without the network.
        pip = [programs / "python", "-m", "pip", "--quiet"]
        run(*pip, "download", "--dest", "wheels", f"{wheel.resolve()}[mpich]", "mpi4py", PATH=os.environ["PATH"])
        run(*pip, "install", "--no-index", "--find-links", "wheels", "rankwise[mpich]", "mpi4py")
        (scratch / "ring.py").write_text(RING)
        (scratch / "grid.py").write_text(GRID)
        run("rankwise", "quick")
        expect("quick", (scratch / "rankwise-report.html").read_text(encoding="utf-8"), "</html>")
        grid = ["--grid", "32x24", "--nodes", "32", "--ppn", "24", "--stencil", "1,0;-1,0;0,1;0,-1"]
        expect("map", run("rankwise", "map", *grid), "J_sum")
        expect(
            "observe",
            run("rankwise", "observe", "-o", "ring.comm", "--", "mpiexec", "-n", "4", "python", "ring.py"),
            "ring.comm",
        )
        nodes = {"MPIR_CVAR_NUM_CLIQUES": "4", "MPIR_CVAR_ODD_EVEN_CLIQUES": "0"}
        expect("preload", run("rankwise", "preload", "--", "mpiexec", "-n", "8", "python", "grid.py", **nodes), "moved 6")
        with tempfile.TemporaryDirectory(prefix="rankwise-") as plain:  # pkg-config and MPICH's wrapper take no blanks
            link = Path(plain) / "env"
            link.symlink_to(scratch / "env")
            tools = {"PATH": f"{link}/bin:{os.environ['PATH']}", "PKG_CONFIG_PATH": f"{link}/lib/pkgconfig"}
            flags = run("pkg-config", "--cflags", "--libs", "rankwise", **tools).split()
            run("mpicc_abi", consumer, *flags, f"-Wl,-rpath,{link}/lib", "-o", "consumer", **tools)
            expect("a C program", run("mpiexec", "-n", "4", scratch / "consumer", MPIR_CVAR_NUM_CLIQUES="2"), "J_sum 4 J_max 2")
    return 0


if __name__ == "__main__":
    sys.exit(main())
