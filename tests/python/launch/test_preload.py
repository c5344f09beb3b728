"""Unmodified programs under ``rankwise preload``: C and Fortran, the default MPI, Debian's MPICH and Open MPI."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from breadth import some
from rankwise.errors import UnusableEnvironmentError
from rankwise.launch.mpi import Mpi
from rankwise.launch.preload import loading

ROOT = Path(__file__).parents[3]
PROBE = Path(__file__).parent / "preload_probe.c"
GRAPHS = Path(__file__).parent / "preload_graphs.c"
HALO_C = ROOT / "examples" / "halo.c"
HALO_FORTRAN = ROOT / "examples" / "halo.F90"
CYCLIC_4_NODES = {"MPIR_CVAR_NUM_CLIQUES": "4", "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}
TURNED = "rankwise: MPI_Cart_create 4x2 on 4 nodes, nearest-neighbor: stencil-strips turns J_sum 20 into 12, J_max 5 into 3\n"

pytestmark = pytest.mark.mpi

Build = Callable[..., Path]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Compile a program with an MPI's compiler wrapper, once."""
    folder = tmp_path_factory.mktemp("programs")

    def compiled(compiler: str, source: Path, *flags: str) -> Path:
        program = folder / "-".join([Path(compiler).name, source.stem, source.suffix[1:], *flags])
        if not program.exists():
            subprocess.run([compiler, "-O1", *flags, str(source), "-o", str(program)], check=True, capture_output=True)
        return program

    return compiled


def _run(
    launcher: list[str], program: Path | str, *arguments: str, preload: list[str] | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a program on 8 ranks; ``preload``: under rankwise preload with these options."""
    words = [*launcher, str(program), *arguments]
    if preload is not None:
        words = [sys.executable, "-m", "rankwise", "preload", *preload, "--", *words]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("RANKWISE_")}
    return subprocess.run(
        words, capture_output=True, text=True, timeout=400, check=False, env={**inherited, **CYCLIC_4_NODES, **environment}
    )


def _result(done: subprocess.CompletedProcess[str]) -> str:
    """What a halo program has computed: all but its time."""
    assert done.returncode == 0, done.stderr
    assert "checksum" in done.stdout
    return re.sub(r"step_ms \S+", "", done.stdout)


def _wheel(mpi: Mpi, name: str) -> str:
    return str(mpi.launcher_path.parent / name)


@pytest.mark.parametrize("compiler", ["mpicc", "mpicc_abi"])
def test_a_c_program_is_placed_and_computes_the_same(mpi: Mpi, build: Build, compiler: str) -> None:
    program = build(_wheel(mpi, compiler), HALO_C)
    launcher = [str(mpi.launcher_path), "-n", "8"]
    plain = _run(launcher, program, "100", "3")
    placed = _run(launcher, program, "100", "3", preload=["--verbose"])
    assert _result(placed) == _result(plain)
    assert placed.stderr == TURNED
    assert plain.stderr == ""


@pytest.mark.parametrize("compiler", ["mpicc", "mpicc_abi"])
def test_mpi_keeps_its_meaning(mpi: Mpi, build: Build, compiler: str) -> None:
    program = build(_wheel(mpi, compiler), PROBE)
    for ranks in ("1", "6", "8"):
        launcher = [str(mpi.launcher_path), "-n", ranks]
        plain, placed = _run(launcher, program), _run(launcher, program, preload=[])
        assert plain.returncode == placed.returncode == 0, plain.stderr + placed.stderr
        assert "moved 0" in plain.stdout
        assert ranks != "8" or "moved 1" in placed.stdout
        assert plain.stdout.replace("moved 0", "moved 1") == placed.stdout.replace("moved 0", "moved 1")
        assert re.fullmatch(r"rankwise: MPI_Cart_create was called \d times with reorder true: \d placed.*\n", placed.stderr)


@pytest.mark.parametrize(
    ("options", "environment", "says"),
    [
        (["--mapping", "blocked"], {}, "blocked turns J_sum 20 into 12, J_max 5 into 4"),
        (["--stencil", "component"], {}, "4 nodes, component: hyperplane turns J_sum 12 into 4, J_max 3 into 1"),
        (["--stencil", "1,0;-1,0;0,1*9;0,-1*9"], {}, "into 12, J_max"),
        (["--mapping", "refined", "--effort", "1ms"], {}, "refined turns J_sum 20 into 12, J_max 5 into 3"),
        ([], {"RANKWISE_MAPPING": "auto", "RANKWISE_EFFORT": "0s"}, "stencil-strips turns J_sum 20 into 12"),
        ([], {"MPIR_CVAR_NUM_CLIQUES": "1"}, "1 node, nearest-neighbor: the ranks stay where they are (J_sum 0, J_max 0)"),
        (["--stencil", "moore"], {}, "is left as it is: rank 0: stencil 'moore'"),
        (["--stencil", "1,0,0"], {}, "is left as it is: rank 0: "),
        ([], {"RANKWISE_MAPPING": "best"}, "is left as it is: rank 0: mapping algorithm 'best' is unknown"),
        ([], {"RANKWISE_EFFORT": "long"}, "is left as it is: rank 0: the effort of the mapping is 'long'"),
    ],
)
def test_options_and_environment(mpi: Mpi, build: Build, options: list[str], environment: dict[str, str], says: str) -> None:
    program = build(_wheel(mpi, "mpicc"), HALO_C)
    done = _run([str(mpi.launcher_path), "-n", "8"], program, "10", "1", preload=["--verbose", *options], **environment)
    assert "checksum" in _result(done)
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


def test_ranks_that_disagree_are_left_alone(mpi: Mpi, build: Build) -> None:
    program = str(build(_wheel(mpi, "mpicc"), HALO_C))
    launcher = [str(mpi.launcher_path), "-n", "4", program, "10", "1", ":", "-n", "4"]
    launcher += ["-env", "RANKWISE_MAPPING", "kd-tree", "-env", "RANKWISE_STENCIL", "nonsense"]
    done = _run(launcher, program, "10", "1", preload=["--verbose"])
    assert "checksum" in _result(done)
    assert "is left as it is: rank 4: stencil 'nonsense'" in done.stderr


PLACED_GRAPHS = (
    "rankwise: MPI_Dist_graph_create (or a like one) was called 3 times with reorder true: 3 placed by "
    "multisection, 0 best as they were\n"
)
MOVED_GRAPHS = "adjacent good 1 moved 1\nany good 1 moved 1\ngraph good 1 moved 1\n"


@pytest.mark.parametrize("compiler", ["mpicc", "mpicc_abi"])
def test_graphs_are_placed_where_asked_for(mpi: Mpi, build: Build, compiler: str) -> None:
    program = build(_wheel(mpi, compiler), GRAPHS)
    launcher = [str(mpi.launcher_path), "-n", "8"]
    placed = _run(launcher, program, "adg", preload=["--graphs"])
    assert (placed.stdout, placed.stderr) == (MOVED_GRAPHS, PLACED_GRAPHS)
    told = _run(launcher, program, "a", preload=["--graphs", "--verbose"])
    assert told.stderr == "rankwise: MPI_Dist_graph_create_adjacent: weight 8 between nodes becomes 0\n"
    left = _run(launcher, program, "ag", preload=[])
    assert "moved 1" not in left.stdout
    assert "good 0" not in left.stdout
    assert "nothing was placed: MPI_Graph_create is left as it is: 'rankwise preload --graphs' places" in left.stderr


MPI4PY = """
import os, sys
from mpi4py import MPI
world = MPI.COMM_WORLD
for _ in range(3):
    cart = world.Create_cart([world.size // 2, 2], [False, False], reorder=True)
    assert cart.allreduce(cart.rank) == sum(range(world.size))
    moved = MPI.Comm.Compare(world, cart) == MPI.SIMILAR
    cart.Free()
if world.rank == 0:
    print("moved", moved)
"""


@pytest.mark.parametrize(("family", "launcher"), [("mpich", "mpiexec"), ("openmpi", "mpiexec.openmpi")])
def test_an_mpi_that_python_loads_for_itself_is_found(mpi: Mpi, tmp_path: Path, family: str, launcher: str) -> None:
    pytest.importorskip("mpi4py")
    (tmp_path / "cart.py").write_text(MPI4PY)
    words, environment = [_wheel(mpi, launcher), "-n", "8"], {}
    if family == "openmpi":
        _need("mpicxx.openmpi", launcher)
        (tmp_path / "mpicxx").symlink_to(str(shutil.which("mpicxx.openmpi")))
        words = [launcher, "--allow-run-as-root", "--oversubscribe", "-n", "8"]
        environment = {"MPI4PY_MPIABI": family, "RANKWISE_MPI": "system", "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = _run([*words, sys.executable], tmp_path / "cart.py", preload=["--mapping", "random"], **environment)
    assert (done.returncode, done.stdout) == (0, "moved True\n"), done.stderr
    assert done.stderr.endswith(
        "rankwise: MPI_Cart_create was called 3 times with reorder true: 3 placed by random, 0 best as they were\n"
    )


@pytest.mark.parametrize(
    ("reorder", "verbose", "says"),
    [("0", {}, "nothing was placed: MPI_Cart_create was called 4 times, always with reorder false; "),
     ("1", {}, "4 times with reorder true: 4 placed by stencil-strips"), ("1", {"RANKWISE_VERBOSE": "0"}, "")],
)  # fmt: skip
def test_one_line_tells_what_was_done(mpi: Mpi, build: Build, reorder: str, verbose: dict[str, str], says: str) -> None:
    """Four creations of one grid: the first is computed, the others are given what it found."""
    program = build(_wheel(mpi, "mpicc"), PROBE.with_name("preload_creations.c"))
    done = _run([str(mpi.launcher_path), "-n", "8"], program, "3", reorder, preload=[], **verbose)
    assert done.returncode == 0 and "us a creation" in done.stdout
    assert says in done.stderr and done.stderr.count("\n") == (says != "")


def test_other_programs_are_not_harmed() -> None:
    done = _run(["sh", "-c"], "ls / > /dev/null; echo $0 $1; exit 7", "a", "b c", preload=[], LD_BIND_NOW="1")
    assert (done.returncode, done.stdout, done.stderr) == (7, "a b c\n", "")


def test_wrong_use_is_told(rankwise: Callable[..., object]) -> None:
    for arguments, code, words in [
        (["--mapping", "best", "--", "ls"], 2, "--mapping 'best' is unknown: take one of blocked, "),
        (["--effort", "soon", "--", "ls"], 2, "--effort 'soon' is not a time"),
        (["--", "no-such-launcher"], 4, "no-such-launcher cannot be started"),
        ([], 2, "COMMAND... is missing: write rankwise preload -- mpiexec -n 8 ./app"),
    ]:
        result = rankwise("preload", *arguments)
        assert result.code == code  # type: ignore[attr-defined]
        assert words in result.err  # type: ignore[attr-defined]


def _need(*programs: str) -> None:
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        pytest.skip(f"no {missing[0]} here (Debian: apt-get install gfortran libmpich-dev mpich libopenmpi-dev openmpi-bin)")


PROGRAMS = [("mpicc", HALO_C, ()), ("mpifort", HALO_FORTRAN, ()), ("mpifort", HALO_FORTRAN, ("-DUSE_F08",))]


@pytest.mark.system_mpi
@pytest.mark.parametrize(("compiler", "source", "flags"), some(PROGRAMS, 2))
def test_programs_of_debians_mpich(build: Build, compiler: str, source: Path, flags: tuple[str, ...]) -> None:
    _need("mpicc.mpich", "mpifort.mpich", "mpiexec.mpich")
    program = build(f"{compiler}.mpich", source, *flags)
    launcher = ["mpiexec.mpich", "-n", "8"]
    placed = _run(launcher, program, "100", "3", preload=["--verbose"])
    assert _result(placed) == _result(_run(launcher, program, "100", "3"))
    assert placed.stderr == TURNED


@pytest.mark.system_mpi
def test_graphs_of_debians_mpich(build: Build) -> None:
    _need("mpicc.mpich", "mpiexec.mpich")
    placed = _run(["mpiexec.mpich", "-n", "8"], build("mpicc.mpich", GRAPHS), preload=["--graphs"])
    assert (placed.stdout, placed.stderr) == (MOVED_GRAPHS, PLACED_GRAPHS)


@pytest.mark.system_mpi
@pytest.mark.parametrize(("compiler", "source", "flags"), some(PROGRAMS, 0))
def test_programs_of_open_mpi(
    build: Build, tmp_path_factory: pytest.TempPathFactory, compiler: str, source: Path, flags: tuple[str, ...]
) -> None:
    _need("mpicc.openmpi", "mpifort.openmpi", "mpiexec.openmpi")
    # The library for this MPI is built on first use, with the mpicxx that is first on PATH.
    folder = tmp_path_factory.getbasetemp() / "open-mpi"
    folder.mkdir(exist_ok=True)
    if not (folder / "mpicxx").exists():
        (folder / "mpicxx").symlink_to(str(shutil.which("mpicxx.openmpi")))
    program = build(f"{compiler}.openmpi", source, *flags)
    launcher = ["mpiexec.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "8"]
    environment = {
        "RANKWISE_MPI": "system",
        "PATH": f"{folder}:{os.environ['PATH']}",
        "OMPI_MCA_mpi_yield_when_idle": "1",
    }
    plain = _run(launcher, program, "100", "3", **environment)
    # Nothing that is loaded by default can act in it: told before it runs, or, where a script hides it, when it has run.
    default = {**environment, "RANKWISE_MPI": "default"}
    refused = _run(launcher, program, "100", "3", preload=["--verbose"], **default)
    assert (refused.returncode, refused.stdout) == (4, "")
    assert (
        "belongs to Open MPI (libmpi.so.40), and what could be loaded is for the MPI-5 ABI and MPICH: set RANKWISE_MPI=system"
        in refused.stderr
    )
    script = folder / f"run-{program.name}"
    script.write_text(f'#!/bin/sh\nexec {program} "$@"\n')
    script.chmod(0o755)
    other = _run(launcher, script, "100", "3", preload=[], **default)
    assert _result(other) == _result(plain)
    assert (
        "is left as it is: librankwise_preload was built for MPICH and this is Open MPI; set RANKWISE_MPI=system"
        in other.stderr
    )
    # One host is one node: a mapping is asked for by its name, so that ranks move and the result shows it is no harm.
    placed = _run(launcher, program, "100", "3", preload=["--verbose", "--mapping", "random"], **environment)
    assert _result(placed) == _result(plain)
    assert "MPI_Cart_create 4x2 on 1 node, nearest-neighbor: random turns J_sum 0 into 0, J_max 0 into 0" in placed.stderr
    if source == HALO_C:
        graphs = _run(launcher, build("mpicc.openmpi", GRAPHS), preload=["--graphs"], **environment)
        assert graphs.stdout.replace("moved 1", "moved 0") == MOVED_GRAPHS.replace("moved 1", "moved 0")
        assert "called 3 times with reorder true: 0 placed, 3 best as they were" in graphs.stderr


@pytest.mark.system_mpi
def test_a_program_of_open_mpi_that_makes_no_grid_is_told_of_the_mend(tmp_path: Path, build: Build) -> None:
    """Also where nothing is called that could be placed: the end of the program says that nothing could have been."""
    _need("mpicc.openmpi", "mpiexec.openmpi")
    (tmp_path / "quiet.c").write_text(
        "#include <mpi.h>\nint main(int n, char** v) { MPI_Init(&n, &v); return MPI_Finalize(); }\n"
    )
    program, script = build("mpicc.openmpi", tmp_path / "quiet.c"), tmp_path / "run"
    script.write_text(f"#!/bin/sh\nexec {program}\n")
    script.chmod(0o755)
    done = _run(["mpiexec.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "2"], script, preload=[])
    assert done.returncode == 0 and done.stderr.count("nothing was placed") == 1, done
    assert "this is Open MPI; set RANKWISE_MPI=system" in done.stderr
    if shutil.which("mpiexec.mpich") is not None:
        done = _run(["mpiexec.mpich", "-n", "2"], program, preload=[])
        assert done.returncode == 4 and "start it with its own MPI's mpiexec" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [([], 0, "Safe under reordering as far as these runs "
             "show: "), (["mixed"], 3, "Unsafe under reordering: with its ranks moved it does not print 'sum")],
)  # fmt: skip
def test_a_program_that_mixes_ranks_is_found_out(mpi: Mpi, build: Build, arguments: list[str], code: int, says: str) -> None:
    program = build(_wheel(mpi, "mpicc"), PROBE.with_name("mixed_ranks.c"))
    done = _run([str(mpi.launcher_path), "-n", "8"], program, *arguments, preload=["--check"])
    assert (done.returncode, done.stdout.startswith(says)) == (code, True), done.stdout + done.stderr
    assert ("map --observed" in done.stdout) == (code != 0)


WARNING = "rankwise: warning: this program may be wrong with its ranks reordered: "


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], None),
        (["mixed"], "it asks for the coordinates of its rank in another communicator than the Cartesian one"),
        (["freed"], "it takes neighbours from the Cartesian communicator, and sends by another one"),
    ],
)
@pytest.mark.parametrize("compiler", ["mpicc", "mpicc_abi"])
def test_a_program_that_mixes_ranks_is_warned_of(
    mpi: Mpi, build: Build, compiler: str, arguments: list[str], says: str | None
) -> None:
    program = build(_wheel(mpi, compiler), PROBE.with_name("mixed_ranks.c"))
    done = _run([str(mpi.launcher_path), "-n", "8"], program, *arguments, preload=[])
    warned = [line for line in done.stderr.splitlines() if "warning" in line]
    assert done.returncode == 0 and len(warned) == (says is not None), done.stderr
    assert says is None or warned[0].startswith(f"{WARNING}{says}; ")


def test_a_check_that_shows_nothing_says_so() -> None:
    done = _run(["sh", "-c"], "echo a", preload=["--check"])
    assert done.returncode == 5 and "no rank was moved" in done.stdout
    done = _run(["sh", "-c"], "exit 3", preload=["--check"])
    assert done.returncode == 5 and "fails as it is (exit code 3)" in done.stdout


def test_libraries_in_folders_with_blanks_are_looked_up_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "mine.so")
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    assert loading([Path("/a/x.so"), Path("/b/y.so")]) == {"LD_PRELOAD": "/a/x.so:/b/y.so:mine.so"}
    monkeypatch.setenv("LD_LIBRARY_PATH", "/lib")
    found = loading([Path("/a b/x.so"), Path("/ü/x.so"), Path("/ü/y.so")])
    assert found == {"LD_PRELOAD": "x.so:y.so:mine.so", "LD_LIBRARY_PATH": "/a b:/ü:/lib"}
    with pytest.raises(UnusableEnvironmentError, match="colon in it"):
        loading([Path("/a:b/x.so")])
