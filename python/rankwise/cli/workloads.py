"""``predict``, ``simulate``, ``run``, ``validate`` and ``choose`` for every workload, from what the workload declares."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise.cli.base import Json, flattened, group, print_json, tell, verb, writable
from rankwise.cli.rows import fail_unless_verified, show_ranking, show_rows, show_table, show_validation
from rankwise.errors import InputError
from rankwise.workloads import workloads
from rankwise.workloads.base import Aside, Site, Workload

if TYPE_CHECKING:
    from rankwise.engines.run import Here
    from rankwise.engines.system import System

GROUPS = {
    "predict": group("predict", "Ask the model: microseconds of work, nothing is sent."),
    "simulate": group("simulate", "Run the kernels under SimGrid: what thousands of ranks of a described machine would do."),
    "run": group("run", "Run the real thing on this machine, what arrives is checked."),
    "validate": group("validate", "Put prediction beside measurement."),
    "choose": group("choose", "Ask the model which way is fastest: without a workload, which exchange.", default="exchange"),
}

ProfileFile = Annotated[Path, typer.Option("--profile", help="The machine's profile.")]
RanksPerNode = Annotated[
    int | None, typer.Option(help="Ranks on each node. Default: as far apart as the profile has links for.")
]
Placed = Annotated[
    str,
    typer.Option(
        "--placement", help="Which node each rank is on: blocked, cyclic, or a file that 'rankwise map --format' wrote."
    ),
]
LinkModelName = Annotated[
    str | None, typer.Option("--link-model", help="hockney, piecewise, loggp, max-rate. Default: the profile's choice.")
]
Loaded = Annotated[bool, typer.Option("--loaded", help="As beside background traffic, where the profile has that.")]
Hosts = Annotated[
    str | None,
    typer.Option(help="Nodes to run on, as many ranks on each: n1,n2 or n[01-04]. Default: those of the Slurm allocation."),
]
RealRanksPerNode = Annotated[
    int | None, typer.Option("--ranks-per-node", help="Ranks on each node. Default: as many on each of the nodes as they make.")
]
Seconds = Annotated[float, typer.Option(help="Time to spend on each case, in seconds.")]
Samples = Annotated[Path, typer.Option(help="Where raw samples are appended.")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write the JSON here too, for 'rankwise report'.", callback=writable)
]
SimulatedProfile = Annotated[
    Path | None, typer.Option("--profile", help="The profile whose links are simulated; with --machine, those of its nodes.")
]
Machine = Annotated[
    str | None, typer.Option(help="The machine whose network is simulated: a name from 'rankwise machines list' or a TOML.")
]
Set = Annotated[list[str] | None, typer.Option("--set", help="Change or add a figure of --machine: latency=1.2us, taper=0.5.")]
Topology = Annotated[
    str,
    typer.Option(
        help="crossbar, fat-tree:16x4:2 (nodes a leaf switch x leaves : taper), torus:4x4x4, dragonfly:4x4x4 (groups x "
        "routers x nodes). Sizes may be left out."
    ),
]
Nodes = Annotated[int | None, typer.Option(min=1, help="Nodes of the platform. Default: as many as the ranks need.")]
SimulatedRanksPerNode = Annotated[
    int | None, typer.Option(help="Ranks on each node. Default: all on one, or one on each where the profile is of a network.")
]
HopLatency = Annotated[str, typer.Option(help="Latency added for each switch beyond the nearest: 100ns.")]
Folder = Annotated[
    Path, typer.Option("--output", "-o", help="Folder that keeps samples, platform files and logs; runs in it are not redone.")
]
Simulations = Annotated[Path, typer.Option(help="simgrid: folder that keeps simulations.")]
Jobs = Annotated[int | None, typer.Option(min=1, help="Simulations at once. Default: one a core.")]


def _predict(workload: Workload) -> Callable[..., None]:
    def predict(
        asked: Any,
        profile: ProfileFile = Path("machine.json"),
        ranks_per_node: RanksPerNode = None,
        placement: Placed = "blocked",
        link_model: LinkModelName = None,
        loaded: Loaded = False,
        as_json: Json = False,
    ) -> None:
        from rankwise.engines.ledger import keep_rows, machine_of
        from rankwise.engines.placement import profile_placement
        from rankwise.engines.session import predict_rows
        from rankwise.machine.profile import open_profile

        site = Site("predict", shares_nodes=(ranks_per_node or 1) > 1)
        cases, machine = workload.cases(asked, site), open_profile(profile)
        rows = predict_rows(machine, cases, profile_placement(machine, ranks_per_node, placement), link_model, loaded)
        show_rows(workload, rows, as_json, machine)
        keep_rows("predict", machine_of(machine), rows)

    predict.__doc__ = f"Predict how long {workload.title} takes, with the interval that the profile's uncertainty gives."
    return predict


def _simulate(workload: Workload) -> Callable[..., None]:
    def simulate(
        asked: Any,
        profile: SimulatedProfile = None,
        machine: Machine = None,
        settings: Set = None,
        topology: Topology = "crossbar",
        nodes: Nodes = None,
        ranks_per_node: SimulatedRanksPerNode = None,
        placement: Placed = "blocked",
        hop_latency: HopLatency = "0s",
        output: Folder = Path("simulated"),
        jobs: Jobs = None,
        as_json: Json = False,
    ) -> None:
        from rankwise.engines.ledger import keep_rows, machine_of
        from rankwise.engines.session import simulate_rows

        cases = workload.cases(asked, Site("simulate", shares_nodes=(ranks_per_node or 1) > 1))
        system = make_system_asked(profile, machine, settings, hop_latency)
        rows = simulate_rows(system, cases, topology, nodes, system.placement(ranks_per_node, placement), output, jobs)
        show_rows(workload, rows, as_json, system.profile)
        keep_rows("simulate", system.name if system.profile is None else machine_of(system.profile), rows)
        fail_unless_verified(workload, rows)

    simulate.__doc__ = f"""Simulate {workload.title}, of many ranks on this machine: the kernels of 'rankwise run' under SimGrid.

    A message takes what the profile's piecewise fit (or the machine's latency and bandwidth) says, and shares the links
    that it meets others on. Every byte is checked."""
    return simulate


def _run(workload: Workload) -> Callable[..., None]:
    def run(
        asked: Any,
        hosts: Hosts = None,
        ranks_per_node: RealRanksPerNode = None,
        placement: Placed = "blocked",
        seconds: Seconds = 0.3,
        samples: Samples = Path("samples.jsonl"),
        verify: Annotated[
            bool, typer.Option("--verify", help="Check every received byte (always done; kept for clarity).")
        ] = True,
        as_json: Json = False,
    ) -> None:
        from rankwise.engines.session import run_rows

        aside = workload.instead(asked)
        if aside is not None:
            _show_aside(aside, as_json)
            return
        here, site = _here("run", hosts, placement, ranks_per_node)
        rows = run_rows(workload.cases(asked, site), here, samples, seconds)
        show_rows(workload, rows, as_json)
        fail_unless_verified(workload, rows)

    run.__doc__ = f"""Run {workload.title}, under the launcher of this machine.

    Times are the maximum over ranks, medians over repetitions; what is received is checked against what its origin should
    have sent. Without a number of ranks there is one a core, at least two."""
    return run


def _validate(workload: Workload) -> Callable[..., None]:
    def validate(
        asked: Any,
        profile: ProfileFile = Path("machine.json"),
        engines: Annotated[
            str, typer.Option(help="Which stand side by side: model,run; model,simgrid; or all three. The last is the measure.")
        ] = "model,run",
        hosts: Hosts = None,
        ranks_per_node: RealRanksPerNode = None,
        placement: Placed = "blocked",
        seconds: Seconds = 0.3,
        samples: Samples = Path("samples.jsonl"),
        simulations: Simulations = Path("simulated"),
        paired: Annotated[
            bool,
            typer.Option(
                "--paired/--unpaired", help="Exchanges: run by turns with what they are made of, so that drift cancels."
            ),
        ] = True,
        launches: Annotated[
            int, typer.Option(min=1, help="Launches of a paired run; fewer than 3 quiet ones are unclear.")
        ] = 10,
        output: Output = None,
        as_json: Json = False,
    ) -> None:
        from rankwise.engines.ledger import keep_comparisons, machine_of
        from rankwise.engines.session import compare_engines, require_engines, why_not_paired
        from rankwise.files import write_json
        from rankwise.machine.profile import open_profile

        names = [name.strip() for name in engines.split(",")]
        require_engines(names)
        here, site = _here("validate", hosts, placement, ranks_per_node) if "run" in names else (None, Site("validate"))
        cases = workload.cases(asked, site)
        if paired and here is not None and (why := why_not_paired(cases, names, here)) is not None:
            tell(f"note: not paired: {why}; a second run tells the noise")
        validation = compare_engines(profile, cases, names, here, samples, seconds, simulations, launches if paired else None)
        if output is not None:
            write_json(output, validation.to_dict())
        show_validation(validation, as_json)
        keep_comparisons(machine_of(open_profile(profile)), validation.comparisons)
        fail_unless_verified(workload, [comparison.measured for comparison in validation.comparisons])

    validate.__doc__ = f"""Predict {workload.title}, run it on this machine, and say how far the prediction was off.

    The prediction knows the profile alone, never the timings that it is held against. Exchanges are run by turns with what they
    are made of (steps, hops, copies of the same sizes), launch after launch: predicted from these, what is left is the model's
    own error, whatever the machine drifts; odd against even rounds tell its floor. Other workloads are run twice: no
    prediction can be expected to come closer than the second run. Without the engine run the simulation takes its place, on as many ranks
    as you like."""
    return validate


def _choose(workload: Workload) -> Callable[..., None]:
    def choose(
        asked: Any,
        profile: ProfileFile = Path("machine.json"),
        ranks_per_node: RanksPerNode = None,
        placement: Placed = "blocked",
        link_model: LinkModelName = None,
        loaded: Loaded = False,
        as_json: Json = False,
    ) -> None:
        from rankwise.decide.ranking import rank, require_one_question
        from rankwise.engines.placement import profile_placement
        from rankwise.engines.session import predict_rows
        from rankwise.machine.profile import open_profile

        cases, machine = workload.candidates(asked, Site("choose")), open_profile(profile)
        require_one_question(cases)
        rows = predict_rows(machine, cases, profile_placement(machine, ranks_per_node, placement), link_model, loaded)
        show_ranking(workload, rank(rows, machine), as_json, machine)

    choose.__doc__ = f"Rank all ways to do {workload.title}, the fastest by the model first."
    return choose


def make_system_asked(profile: Path | None, machine: str | None, settings: Sequence[str] | None, hop_latency: str) -> System:
    """Return what the options ask to be simulated. Raises InputError."""
    from rankwise.engines.system import make_system
    from rankwise.machine.description import parse_value, set_figures
    from rankwise.machine.library import load_machine

    described = load_machine(machine) if machine is not None else None
    if settings and described is None:
        raise InputError(f"--set {settings[0]} changes a machine, but none is given: name it with --machine")
    if described is not None:
        described = set_figures(described, list(settings or []))
    latency_s = 0.0 if hop_latency.strip() in ("0", "0s") else parse_value(hop_latency, "latency", "--hop-latency")
    return make_system(profile, described, latency_s)


def _here(verb: str, hosts: str | None, placement: str, ranks_per_node: int | None) -> tuple[Here, Site]:
    """Return where real ranks run, by the options or the allocation that we are in; one rank a core, at least two."""
    from rankwise.engines.run import Here
    from rankwise.launch.allocation import allocated_hosts
    from rankwise.machine.hosts import parse_hosts

    here = Here(parse_hosts(hosts) if hosts is not None else list(allocated_hosts()), placement, ranks_per_node)
    return here, Site(
        verb, default_ranks(here), here.node_of_rank, shares_nodes=len(here.hosts) > 1 or (ranks_per_node or 1) > 1
    )


def default_ranks(here: Here) -> int:
    """Return how many ranks a real run has: one a core of each node, at least two; or what the Slurm allocation says."""
    from rankwise.launch.allocation import find_allocation

    allocation = find_allocation()
    each = here.ranks_per_node or (allocation.ranks_per_node if allocation is not None else None)
    return max(2, (each or here.topology.allowed_core_count) * max(1, len(here.hosts)))


def _show_aside(aside: Aside, as_json: bool) -> None:
    if as_json:
        print_json(aside.record)
    else:
        show_table([dict(zip(aside.columns, line, strict=True)) for line in aside.lines])


def _register(workload: Workload) -> None:
    makers = {"predict": _predict, "simulate": _simulate, "run": _run, "validate": _validate, "choose": _choose}
    for name, make in makers.items():
        if name == "choose" and not workload.chooses:
            continue
        function = make(workload)
        if name in workload.details:
            function.__doc__ = f"{inspect.cleandoc(function.__doc__ or '')}\n\n{workload.details[name]}"
        example = workload.examples.get(name, f"rankwise {name} {workload.id}")
        ready = flattened(
            function, workload.options, name, seconds=workload.seconds, samples=Path(f"{workload.id}.samples.jsonl")
        )
        verb(workload.id, example, under=GROUPS[name])(ready)


for _workload in workloads().values():
    _register(_workload)
