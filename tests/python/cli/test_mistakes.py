"""The mistakes that people make most: one line says what is wrong and where, then how to fix it; the code is documented."""

import os
import shutil
import signal
from pathlib import Path

import pytest

from rankwise.errors import EXIT_ENVIRONMENT, EXIT_FAILURE, EXIT_USAGE, split_message
from rankwise.launch.mpi import Mpi
from verbs import Rankwise, Refused

INPUTS = Path(__file__).parents[1] / "frozen" / "inputs"
NOWHERE = {"PATH": "/nowhere"}
GRID = "map --grid 4x4 --nodes 2 --ppn 8"

# Command, what is wrong and where, the fix.
WRONG_INPUT = [
    # Words of the command line
    ("mesure", "unknown command 'mesure'", "did you mean measure?"),
    ("predict exchan", "unknown PATTERN 'exchan' of rankwise predict", "did you mean exchange?"),
    ("measure latncy", "unknown WHAT 'latncy' of rankwise measure", "did you mean latency?"),
    ("help mesure", "unknown command 'mesure'", "did you mean measure?"),
    ("choose --byte 4", "unknown option --byte", "did you mean --bytes?"),
    ("map --grid", "--grid needs a value", "see 'rankwise map -h'"),
    ("map --nodes many", "--nodes 'many' is not a whole number", "see 'rankwise map -h'"),
    (f"validate choose --rounds {'9' * 30}", f"--rounds {'9' * 30} is too large a number", "see 'rankwise validate choose -h'"),
    (f"choose halo --grid 2x2 --box 8x8 --fields {'1' * 5000}x8", "not a number of fields and bytes", "3x8"),
    (f"project fft3d --machine hopper --n 64 --topology torus:{'1' * 5000}", "is unknown", "torus:K"),
    ("cache now", "'now' is too much", "see 'rankwise cache -h'"),
    ("fit", "SAMPLES is missing", "rankwise fit machine.samples.jsonl"),
    ("project stencil --machine frontier --nodes 4", "--cells is missing", "--cells 8192x8192x8192"),
    ("measure --n 40", "unknown option --n", "see 'rankwise measure latency -h'"),
    # -- before a program's command
    ("advise mpiexec -n 2 ./halo", "-- is missing before mpiexec", "rankwise advise -- mpiexec -n 2 ./halo"),
    ("observe mpiexec -n 2 ./halo", "-- is missing before mpiexec", "rankwise observe -- mpiexec -n 2 ./halo"),
    ("observe -o a.comm srun -n 2 ./halo", "-- is missing before srun", "rankwise observe -o a.comm -- srun -n 2 ./halo"),
    ("try ring.comm mpiexec -n 8 ./halo", "-- is missing before mpiexec", "rankwise try ring.comm -- mpiexec -n 8 ./halo"),
    ("advise -n 2 -- ./halo", "-n is an option of mpiexec", "rankwise advise -- mpiexec -n 2 ./halo"),
    ("observe -np 2 -- mpirun ./halo", "-np is an option of mpirun", "rankwise observe -- mpirun -np 2 ./halo"),
    ("preload", "COMMAND... is missing", "rankwise preload -- mpiexec -n 8 ./app"),
    # Values that are nearly right
    ("predict exchange --profile nodes.json --algorithm shft", "'shft' is unknown", "did you mean shift?"),
    ("predict exchange --profile nodes.json --mode ssend,isnd", "send mode 'isnd' is unknown", "did you mean isend?"),
    ("predict exchange --profile nodes.json --link-model hocney", "no model 'hocney'", "did you mean hockney?"),
    ("predict alltoall --profile nodes.json --method pairwse", "--method 'pairwse' is unknown", "did you mean pairwise?"),
    # Sizes beyond reach
    ("predict exchange --profile nodes.json --dims 4096x4096x4", "67108864 ranks are more", "give at most 1000000"),
    ("predict halo --profile nodes.json --grid 4096x4096x4 --box 8x8x8", "are more than a halo", "give at most 1000000"),
    ("predict stencil --profile nodes.json --grid 4096x4096 --nodes 262144 --ppn 64", "than a stencil", "give at most 1000000"),
    ("predict fft3d --profile nodes.json --n 8192 --ranks 16777216", "are more than a 3-D FFT", "give at most 1000000"),
    ("predict alltoall --profile nodes.json --ranks 200000", "200000 ranks are more than an all-to-all", "at most 131072"),
    ("predict collective allreduce --profile nodes.json --ranks 2000000", "more than a collective", "give at most 1048576"),
    (f"{GRID} --algorithm kdtree", "mapping algorithm 'kdtree' is unknown", "did you mean kd-tree?"),
    (f"{GRID} --stencil nearest", "stencil 'nearest' is unknown", "did you mean nearest-neighbor?"),
    (f"{GRID} --format openmpi", "--format 'openmpi' is unknown", "did you mean openmpi-rankfile?"),
    (f"{GRID} --machine frontir", "machine 'frontir' is unknown", "did you mean frontier?"),
    ("machines show frontir", "machine 'frontir' is unknown", "did you mean frontier?"),
    ("reproduce wener2023", "unknown STUDY 'wener2023'", "did you mean werner2023?"),
    ("measure --statistic medan", "--statistic 'medan' is unknown", "did you mean median?"),
    ("fit samples.jsonl --method guess", "'guess' is unknown", "choose one of regression, table"),
    ("validate exchange --profile nodes.json --engines modl,run", "--engines: 'modl' is unknown", "did you mean model?"),
    ("simulate exchange --profile nodes.json --topology fattree", "--topology 'fattree'", "did you mean fat-tree"),
    ("project exchange --machine frontier --set latncy=2us", "--set 'latncy' sets nothing", "did you mean latency?"),
    ("slurm script mesure", "'mesure' is no work for a job", "did you mean measure?"),
    ("slurm script measure --launchs 3", "unknown option --launchs", "did you mean --launches?"),
    # Files that are missing, or another kind than what is needed
    ("predict exchange", "profile machine.json does not exist", "rankwise measure"),
    ("predict exchange --profile samples.jsonl", "samples.jsonl is raw samples, not a profile", "rankwise fit samples.jsonl"),
    ("predict exchange --profile halo", "halo is a program, not a profile", "rankwise measure"),
    ("predict exchange --profile ring.comm", "ring.comm is a record of a program, not a profile", "rankwise measure"),
    ("predict exchange --profile half.json", "half.json is not complete JSON (line 1", "rankwise measure"),
    ("predict exchange --profile folder", "folder is a folder, not a file", "rankwise measure"),
    ("fit nodes.json", "nodes.json is a profile, not raw samples", ".samples.jsonl"),
    ("fit gone.samples.jsonl", "gone.samples.jsonl does not exist", "measure first"),
    ("advise gone.comm", "gone.comm does not exist", "rankwise observe"),
    ("advise ./halo", "halo is a program, not a record", "rankwise observe -- mpiexec -n 2 halo"),
    ("observe show nodes.json", "nodes.json is a profile, not a record", "name a file"),
    ("try gone.comm -- mpiexec -n 2 ./halo", "gone.comm does not exist", "rankwise observe"),
    ("profile compare nodes.json gone.json", "profile gone.json does not exist", "rankwise measure"),
    ("profile import gone.txt --link other-node", "table gone.txt does not exist", "OSU benchmarks"),
    ("map --graph nodes.json --nodes 2 --ppn 2", "--graph nodes.json", "MatrixMarket"),
    ("machines show gone.toml", "machine file gone.toml does not exist", "rankwise machines list"),
    ("slurm status", "rankwise-job/jobs.json does not exist", "rankwise slurm submit"),
    ("health show", "there is no session in health.jsonl yet", "run 'rankwise health'"),
    ("ledger", "no predictions are logged", "RANKWISE_LEDGER"),
    # Sizes and ranks that do not fit
    ("map --grid 50x48 --nodes 50 --ppn 47", "--grid 50x48 has 2400 cells but", "--ppn 48"),
    ("map --grid 50x48", "the nodes are missing", "--nodes or --ppn"),
    ("map --observed ring.comm --nodes 2 --ppn 2", "ring.comm has 8 ranks but", "--ppn 4"),
    (f"{GRID} --hosts n1", "--hosts names 1 nodes but the mapping has 2", "name one for each node"),
    ("try ring.comm -- mpiexec -n 4 ./halo", "ring.comm has 8 ranks and the command starts 4", "observe it with as many"),
    ("predict exchange --profile nodes.json --ranks 100000000", "100000000 ranks are more", "give at most"),
    ("run exchange --ranks 100000 --cutoff 1", "100000 ranks are too many", "give at most"),
    ("predict stencil --profile nodes.json", "--grid is missing", "50x48"),
    ("predict exchange --profile one-node.json --ranks 16 --ranks-per-node 4", "no link class", "measure or import it"),
    ("choose --bytes 1000,2000 --profile nodes.json", "--bytes 1000,2000 is several sizes", "give one"),
    ("choose --bytes 4qB --profile nodes.json", "--bytes '4qB' is not a size in bytes", "4MiB"),
    ("choose --cutoff 0 --profile nodes.json", "--cutoff 0 is not a number of layers", "1 to 64"),
    ("measure --sizes 0,8 -o x.json", "--sizes has 2", "--sizes 0,8,1kB"),
    ("measure --seconds -3 -o x.json", "--seconds -3", "above 0"),
    ("measure --precision 3 -o x.json", "--precision 3 is not a share", "0.03"),
    # Output that cannot be written
    ("measure -o /proc/nope/m.json", "/proc/nope/m.json cannot be written", "name a file in a folder of your own"),
    ("measure -o folder", "folder is a folder", "name a file in it"),
    ("quick --directory /dev/null", "/dev/null is a file", "name a folder"),
    ("simulate exchange", "what is to be simulated is missing", "--profile machine.json"),
]  # fmt: skip

# What is not possible here, with the environment in which it is not.
NOT_POSSIBLE: list[tuple[str, dict[str, str], str, str]] = [
    ("measure -o x.json", {"RANKWISE_MPIEXEC": "/nope"}, "RANKWISE_MPIEXEC names /nope", "correct it or unset it"),
    ("measure -o x.json", {"RANKWISE_MPI": "system", **NOWHERE}, "no mpicxx is on PATH", "install an MPI"),
    ("measure --hosts a.invalid,b.invalid -o x.json", {}, "cannot reach a.invalid, b.invalid", "correct --hosts"),
    ("slurm submit measure", NOWHERE, "no sbatch on PATH", "login node of a Slurm cluster"),
    ("slurm status 12", NOWHERE, "no squeue on PATH", "login node of a Slurm cluster"),
    ("simulate exchange --machine hopper --ranks 4", NOWHERE, "no smpirun is on PATH", "install SimGrid"),
    ("observe -- ./gone", {}, "./gone cannot be started", "correct its name"),
    ("observe -- mpiexec -n 2 ./halo", NOWHERE, "mpiexec cannot be started", "correct its name"),
    ("preload -- ./gone", {}, "./gone cannot be started", "correct its name"),
]


@pytest.fixture(autouse=True)
def files(rankwise: Rankwise, two_level_profile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lay out files of each kind, and what is none, in the folder that ``rankwise`` runs in."""
    shutil.copyfile(INPUTS / "nodes.json", "nodes.json")
    shutil.copyfile(INPUTS / "ring.comm", "ring.comm")
    Path("one-node.json").write_bytes(two_level_profile.with_name("one-node.json").read_bytes())
    shutil.copyfile(INPUTS / "loggp.samples.jsonl", "samples.jsonl")
    Path("halo").write_bytes(b"\x7fELF\x02\x01\x01\0")
    Path("half.json").write_text("{")
    Path("folder").mkdir()
    monkeypatch.delenv("RANKWISE_LEDGER", raising=False)


def _complaint(err: str, what: str, fix: str) -> None:
    """Hold one line: what is wrong and where, then how to fix it."""
    assert err.startswith("rankwise: ") and err.count("\n") == 1 and "internal error" not in err, err
    said, mend = split_message(err.strip())
    assert what in said + ": ", err
    assert fix in mend or (mend and fix in err.partition(what)[2]), err


def test_there_are_sixty_and_more() -> None:
    assert len(WRONG_INPUT) + len(NOT_POSSIBLE) >= 60


@pytest.fixture
def launcher_on_path(mpi: Mpi, monkeypatch: pytest.MonkeyPatch) -> None:
    """A system's PATH may have no mpiexec."""
    monkeypatch.setenv("PATH", os.pathsep.join([str(mpi.launcher_path.parent), os.environ["PATH"]]))


@pytest.mark.usefixtures("launcher_on_path")
@pytest.mark.parametrize(("command", "what", "fix"), WRONG_INPUT, ids=[row[0] for row in WRONG_INPUT])
def test_wrong_input(rankwise: Rankwise, refused: Refused, command: str, what: str, fix: str) -> None:
    _complaint(refused(command), what, fix)
    assert rankwise(command.replace(" -- ", " --json -- ")).code == EXIT_USAGE


@pytest.mark.usefixtures("launcher_on_path")
@pytest.mark.parametrize(
    ("profile", "what"), [("nodes.json", "was measured on another machine, node17 (48 cores), not here ("), ("rings.json", "")]
)
def test_another_machine_s_profile(rankwise: Rankwise, profile: str, what: str) -> None:
    """What is wrong, its effect and the fix in a line, before anything runs; rings.json does not know its machine."""
    asked = ("--profile", INPUTS / profile, "--ranks", "2", "--cutoff", "1", "--seconds", "0")
    result = rankwise("validate exchange", *asked)
    warnings = [line for line in result.err.splitlines() if line.startswith("warning: ")]
    assert result.code == EXIT_USAGE and len(warnings) == bool(what), result.err
    for line in warnings:
        assert what in line and "errors are those of the machine, not of the model" in line
        assert line.endswith("fix: rankwise measure -o here.json")


@pytest.mark.parametrize(("command", "environment", "what", "fix"), NOT_POSSIBLE, ids=[row[0] for row in NOT_POSSIBLE])
def test_what_is_not_possible_here(
    rankwise: Rankwise,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    environment: dict[str, str],
    what: str,
    fix: str,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    result = rankwise(command)
    assert result.code == EXIT_ENVIRONMENT
    _complaint(result.err, what, fix)


@pytest.mark.usefixtures("launcher_on_path")
@pytest.mark.parametrize(
    ("command", "what", "fix"),
    [
        (["mpiexec", "-n", "2", "./gone"], "./gone: no such file, so nothing ran", "correct its path"),
        (["mpiexec", "-n", "2"], "names no program after mpiexec", "-- mpiexec -n 16 ./app"),
        (["/bin/true"], "/bin/true called no MPI", "only MPI programs"),
    ],
    ids=["a program that is not there", "no program", "a program without MPI"],
)
def test_what_cannot_be_observed(rankwise: Rankwise, command: list[str], what: str, fix: str) -> None:
    result = rankwise("observe -o x.comm --", *command)
    # That of the program, or of its launcher, which may die of a pipe that its own child has closed.
    assert result.code in (EXIT_FAILURE, 255, 128 + signal.SIGPIPE)
    (line,) = (line for line in result.err.splitlines() if line.startswith("nothing was observed: "))
    assert what in line and fix in line and not Path("x.comm").exists()
