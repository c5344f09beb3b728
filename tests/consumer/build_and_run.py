"""Installs a build of rankwise, moves the tree, and builds the consumer against it: by CMake in C and C++, by pkg-config."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).parent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True, help="rankwise's build folder")
    parser.add_argument("--cmake", required=True)
    parser.add_argument("--mpicc", required=True, type=Path)
    parser.add_argument("--mpiexec", required=True)
    arguments = parser.parse_args()
    pkg_config = shutil.which("pkg-config")
    if pkg_config is None:
        print("no pkg-config here (Debian: apt-get install pkgconf)", file=sys.stderr)
        return 1
    # The wrapper must be on PATH, as rankwise-config.cmake says.
    environment = {**os.environ, "PATH": f"{arguments.mpicc.parent}:{os.environ['PATH']}"}

    def run(*words: object, **more: str) -> str:
        return subprocess.run(
            list(map(str, words)), check=True, stdout=subprocess.PIPE, text=True, timeout=200, env={**environment, **more}
        ).stdout

    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        run(arguments.cmake, "--install", arguments.build, "--prefix", scratch / "first")
        prefix = (scratch / "first").rename(scratch / "moved")
        (libraries,) = {path.parent for path in prefix.rglob("librankwise.so")}
        programs = []
        for language in ("C", "CXX"):
            build = scratch / language
            run(arguments.cmake, "-S", SOURCE, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DRANKWISE_LANGUAGE={language}")
            run(arguments.cmake, "--build", build)
            programs.append(build / "consumer")
        flags = run(pkg_config, "--cflags", "--libs", "rankwise", PKG_CONFIG_PATH=str(libraries / "pkgconfig")).split()
        programs.append(scratch / "consumer")
        run(arguments.mpicc, SOURCE / "consumer.c", *flags, "-o", programs[-1])
        # The examples, outside the tree, by both ways.
        examples = SOURCE.parents[1] / "examples"
        run(arguments.cmake, "-S", examples, "-B", scratch / "examples", f"-DCMAKE_PREFIX_PATH={prefix}")
        run(arguments.cmake, "--build", scratch / "examples", "--target", "poisson_c")
        run(arguments.mpicc, examples / "poisson.c", *flags, "-lm", "-o", scratch / "poisson")
        for program in (scratch / "examples" / "poisson_c", scratch / "poisson"):
            said = run(arguments.mpiexec, "-n", "2", program, "9", LD_LIBRARY_PATH=str(libraries))
            print(program.name, said, end="")
            if said != "poisson 9: off by less than 1e-12\n":
                return 1
        for program in programs:
            said = run(arguments.mpiexec, "-n", "4", program, LD_LIBRARY_PATH=str(libraries), MPIR_CVAR_NUM_CLIQUES="2")
            print(program.name, said, end="")
            if said != "rankwise 100: J_sum 4 J_max 2\n":
                return 1
        for expected in ("librankwise_preload.so", "rankwise.h", "rankwise-config.cmake"):
            if not list(prefix.rglob(expected)):
                print(f"{expected} is not installed", file=sys.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
