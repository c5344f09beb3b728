"""Installs a build of rankwise, moves the tree, and builds programs against it as strangers do: in C, C++ and Fortran, by CMake
and by pkg-config; those of another MPI are to be refused."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parent
ONE_NODE, TWO_NODES = "rankwise: J_sum 0 J_max 0\n", "rankwise: J_sum 4 J_max 2\n"  # MPICH is told to pretend two
C_WAYS = [("C", "11"), ("CXX", "17"), ("CXX", "20")]
WRAPPERS = {"C": "mpicc", "CXX": "mpicxx", "Fortran": "mpifort"}
FORTRAN_WAYS = [("Fortran", "1"), ("Fortran", "2"), ("Fortran", "3")]


@dataclass(frozen=True)
class Tree:
    """An installed rankwise and the MPI that it was built with."""

    prefix: Path
    wrappers: dict[str, Path]  # by language
    mpiexec: str
    cmake: str
    environment: dict[str, str]

    def run(self, *words: object, fails: bool = False) -> str:
        done = subprocess.run(
            list(map(str, words)),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=200,
            env=self.environment,
        )
        if (done.returncode != 0) != fails:
            raise SystemExit(f"{' '.join(map(str, words))}\n{done.stdout}\nended with {done.returncode}")
        return done.stdout

    def flags(self, package: str) -> list[str]:
        (folder,) = {path.parent for path in self.prefix.rglob("rankwise.pc")}
        words = ["env", f"PKG_CONFIG_PATH={folder}", "pkg-config"]
        flags = self.run(*words, "--cflags", "--libs", package)
        if "rpath" in flags:
            raise SystemExit(f"{package}.pc decides where the loader looks: {flags}")
        return [*flags.split(), f"-Wl,-rpath,{self.run(*words, '--variable=libdir', package).strip()}"]

    def configure(self, build: Path, language: str, way: str, wrapper: Path, fails: bool = False) -> str:
        options = {
            "CMAKE_PREFIX_PATH": self.prefix,
            "RANKWISE_LANGUAGE": language,
            "RANKWISE_WAY": way,
            "RANKWISE_MPI_FIRST": fails,
        }
        if wrapper.name.removeprefix("mpic") not in ("c_abi", "xx_abi"):  # those the package finds by itself
            options[f"MPI_{language}_COMPILER"] = wrapper
        return self.run(
            self.cmake, "-S", SOURCE, "-B", build, *(f"-D{key}={value}" for key, value in options.items()), fails=fails
        )

    def by_flags(self, language: str, way: str) -> list[object]:
        if language == "Fortran":
            return [SOURCE / "consumer.F90", f"-DWAY={way}", *self.flags("rankwise-fortran")]
        source = ["-x", "c++" if language == "CXX" else "c", SOURCE / "consumer.c", "-x", "none"]
        return [f"-std={'c++' if language == 'CXX' else 'c'}{way}", *source, *self.flags("rankwise")]

    def try_language(self, scratch: Path, language: str, way: str) -> None:
        wrapper, build = self.wrappers[language], scratch / f"{language}{way}"
        self.configure(build, language, way, wrapper)
        self.run(self.cmake, "--build", build)
        made = scratch / f"{language}{way}-by-pkg-config"
        self.run(wrapper, *self.by_flags(language, way), "-o", made)
        for program, how in ((build / "consumer", "find_package"), (made, "pkg-config")):
            said = self.run(self.mpiexec, "-n", "4", program)
            pretends = not re.search("Open|Intel", self.run(self.mpiexec, "--version"))
            if said != (TWO_NODES if pretends else ONE_NODE):
                raise SystemExit(f"{program} said {said!r}")
            print(f"{language} {way} by {how}: right")

    def refuse(self, scratch: Path, other: Path) -> None:
        """The wrapper of another MPI, of any language, is refused by each way in which rankwise is found."""
        for language, name in WRAPPERS.items():
            wrapper = other.with_name(other.name.replace("mpicc", name))
            if not wrapper.is_file() or language not in self.wrappers:
                continue
            way = "1" if language == "Fortran" else "17"
            build = scratch / f"other-{other.parent.parent.name}-{wrapper.name}"
            said = self.configure(build, language, way, wrapper, fails=True)
            if f"was built with another MPI than {wrapper}" not in " ".join(said.split()) or "a target is there" in said:
                raise SystemExit(f"{wrapper} was refused in other words:\n{said}")
            said = self.run(wrapper, *self.by_flags(language, way), "-o", scratch / "never", fails=True)
            if not re.search("another MPI than this mpi.h belongs to|ompi_mpi_comm_world|MPIR_Err_create_code", said):
                raise SystemExit(f"{wrapper} was refused in other words:\n{said}")
            print(f"{wrapper}: refused, by find_package and by pkg-config")

    def try_examples(self, scratch: Path) -> None:
        examples = SOURCE.parents[1] / "examples"
        mpis = [f"-DMPI_{language}_COMPILER={path}" for language, path in self.wrappers.items() if "abi" not in path.name]
        self.run(self.cmake, "-S", examples, "-B", scratch / "examples", f"-DCMAKE_PREFIX_PATH={self.prefix}", *mpis)
        self.run(self.cmake, "--build", scratch / "examples", "--target", "poisson_c")
        self.run(self.wrappers["C"], examples / "poisson.c", *self.flags("rankwise"), "-lm", "-o", scratch / "poisson")
        for program in (scratch / "examples" / "poisson_c", scratch / "poisson"):
            said = self.run(self.mpiexec, "-n", "2", program, "9")
            if said != "poisson 9: off by less than 1e-12\n":
                raise SystemExit(f"{program} said {said!r}")
        print("examples: right")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True, help="rankwise's build folder")
    parser.add_argument("--cmake", required=True)
    parser.add_argument("--mpicc", required=True, type=Path)
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--other", type=Path, nargs="*", default=[], help="each mpicc of another MPI, to be refused")
    arguments = parser.parse_args()
    if shutil.which("pkg-config") is None:
        print("no pkg-config here (Debian: apt-get install pkgconf)", file=sys.stderr)
        return 77  # CTest skips
    mpicc = arguments.mpicc
    named = {language: mpicc.with_name(mpicc.name.replace("mpicc", name)) for language, name in WRAPPERS.items()}
    environment = {
        **os.environ, "PATH": f"{mpicc.parent}:{os.environ['PATH']}", "MPIR_CVAR_NUM_CLIQUES": "2",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        words = [arguments.cmake, "--install", arguments.build, "--prefix", scratch / "first"]
        subprocess.run(words, check=True, stdout=subprocess.PIPE)
        prefix = (scratch / "first").rename(scratch / "moved")
        wrappers = {language: path for language, path in named.items() if path.is_file()}
        tree = Tree(prefix, wrappers, arguments.mpiexec, arguments.cmake, environment)
        for expected in ("librankwise_preload.so", "rankwise.h", "rankwise-config.cmake"):
            if not list(prefix.rglob(expected)):
                print(f"{expected} is not installed", file=sys.stderr)
                return 1
        for language, way in C_WAYS + (FORTRAN_WAYS if "Fortran" in wrappers else []):
            tree.try_language(scratch, language, way)
        tree.try_examples(scratch)
        for other in arguments.other:
            tree.refuse(scratch, other)
    return 0


if __name__ == "__main__":
    sys.exit(main())
