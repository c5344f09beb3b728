"""Uses rankwise with one MPI as its users do: measures, predicts, observes and places a program, all by its own launcher.

RANKWISE_MPI names its mpicxx; what is not built for it yet is built first.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "halo.c"


def main() -> int:
    mpicc, mpiexec = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)

        def run(*words: object, may_exit: tuple[int, ...] = (0,)) -> str:
            done = subprocess.run(
                list(map(str, words)), cwd=scratch, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900
            )
            if done.returncode not in may_exit:
                raise SystemExit(f"{' '.join(map(str, words))}\n{done.stdout}\nended with {done.returncode}")
            return done.stdout

        def expect(what: str, said: str, pattern: str) -> None:
            if re.search(pattern, said) is None:
                raise SystemExit(f"{what}: no '{pattern}' in\n{said}")
            print(f"{what}: right", flush=True)

        rankwise = [sys.executable, "-m", "rankwise"]
        program = [mpiexec, "-n", "4", "./halo", "100", "20"]
        run(mpicc, "-O1", EXAMPLE, "-o", "halo", "-lm")
        expect("quick", run(*rankwise, "quick", "--seconds", "3"), "rankwise-report.html")
        expect("measure", run(*rankwise, "measure", "latency", "--seconds", "3", "-o", "m.json", may_exit=(0, 6)), "latency")
        validate = ["validate", "exchange", "--profile", "m.json", "--cutoff", "1", "--bytes", "1kB", "--seconds", "1"]
        expect("validate", run(*rankwise, *validate, may_exit=(0, 6)), "verified")
        expect("observe", run(*rankwise, "observe", "-o", "halo.comm", "--", *program), "halo.comm: 4 ranks")
        expect("what was observed", run(*rankwise, "observe", "show", "halo.comm"), "a rank sends to")
        plain, placed = (re.search(r"checksum \S+", run(*words, *program)) for words in ([], [*rankwise, "preload", "--"]))
        if plain is None or placed is None or plain[0] != placed[0]:
            raise SystemExit(f"preload: {placed} is not {plain}")
        expect("preload", run(*rankwise, "preload", "--mapping", "random", "--", *program), "4 placed|1 placed|[1-9] placed")
    return 0


if __name__ == "__main__":
    os.environ.update({"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    os.environ.update({"OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"})
    sys.exit(main())
