"""Machine descriptions: every figure has value, unit, source, date and kind; what a bad file is told."""

import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from rankwise.engines.project import doubts
from rankwise.engines.project_halo import project_exchange
from rankwise.errors import InputError
from rankwise.machine import description
from rankwise.machine.derived import check, schema
from rankwise.machine.description import (
    KINDS,
    QUANTITIES,
    Description,
    parse_description,
    parse_range,
    parse_value,
    set_figures,
)
from rankwise.machine.library import all_machines, files, load_machine
from rankwise.papers import czechowski2012_model as model
from rankwise.workloads.exchange import Asked, make_cases

MACHINES = all_machines()

GOOD = """
name = "mine"
title = "My cluster"
year = 2026
processor = "cpu"

[topology]
name = "torus"
dimensions = 3
kind = "published"
source = "a page"
date = "2026"

[figures]
nodes = { value = 64, unit = "1", kind = "published", source = "a page", date = "2026" }
node_peak = { value = 2, unit = "TF/s", kind = "published", source = "a page", date = "2026" }
memory_bandwidth = { value = 200, low = 180, high = 210, unit = "GB/s", kind = "measured", source = "triad", date = "2026" }
link_bandwidth = { value = 100, unit = "Gb/s", kind = "projected", source = "a guess", date = "2026" }
"""


def test_the_machines_of_the_contract_are_there() -> None:
    assert files().keys() >= {
        "paper-cpu-2010", "paper-gpu-2010", "paper-cpu-2020", "paper-gpu-2020", "hopper", "keeneland", "frontier",
        "el-capitan", "aurora", "fugaku", "summit", "h100-cluster", "h200-cluster",
    }  # fmt: skip


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_every_figure_has_source_date_and_kind(machine: Description) -> None:
    assert machine.topology is None or (machine.topology.source and machine.topology.date)
    assert machine.processor in description.PROCESSORS
    for key, figure in machine.figures.items():
        assert figure.unit == QUANTITIES[key].unit
        assert figure.kind in KINDS
        assert figure.source and figure.date
        assert 0 < figure.low <= figure.value <= figure.high
        if "memory, not checked" in figure.source:
            assert figure.kind == description.UNVERIFIED, f"{machine.name}.{key}"


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_figures_are_in_si_units(machine: Description) -> None:
    """A slip in a unit is a factor of 8 or of 1000: figures must lie where such machines lie."""
    plausible = {
        "node_peak": (1e10, 1e15), "memory_bandwidth": (1e10, 1e14), "cache": (1e6, 1e9), "link_bandwidth": (1e9, 1e12),
        "injection_bandwidth": (1e9, 1e12), "latency": (1e-7, 3e-5), "nodes": (2, 1e7), "taper": (0.1, 1), "line": (32, 512),
        "memory": (1e9, 1e13), "io_bus_bandwidth": (1e9, 1e12),
    }  # fmt: skip
    for key, (low, high) in plausible.items():
        value = machine.get(key)
        assert value is None or low <= value <= high, key


def test_what_follows_from_others_does() -> None:
    found = [finding for machine in MACHINES for finding in check(machine)]
    assert len(found) > 30 and [f for f in found if not f.agrees] == []
    perlmutter = load_machine("perlmutter-gpu")
    wrong = perlmutter.with_figure("nodes", replace(perlmutter.figures["nodes"], value=900, low=900, high=900))
    assert [f.key for f in check(wrong) if not f.agrees] == ["machine_peak"]
    jureca = load_machine("jureca")
    slow = jureca.with_figure("latency_inside", replace(jureca.figures["latency_inside"], value=3e-6, low=3e-6, high=3e-6))
    assert [f.key for f in check(slow) if not f.agrees] == ["latency_inside"]
    fast = replace(jureca.figures["shared_memory_bandwidth"], value=9e12, low=9e12, high=9e12)
    thick = load_machine("archer2").with_figure("shared_memory_bandwidth", fast)
    assert [f.key for f in check(thick) if not f.agrees] == ["shared_memory_bandwidth"]


def test_the_schema_knows_what_the_reader_does() -> None:
    figures = schema()["properties"]["figures"]["properties"]
    assert set(figures) == set(QUANTITIES)
    for path in files().values():
        record = tomllib.loads(path.read_text())
        assert set(record) <= set(schema()["properties"])
        for key, figure in record["figures"].items():
            assert set(figures[key]["required"]) <= set(figure) <= set(figures[key]["properties"])
            assert figure["unit"] in figures[key]["properties"]["unit"]["enum"]


def test_every_machine_answers_or_says_what_nobody_published() -> None:
    (case,) = make_cases(Asked(["shift"], ["isend"], [1], [1000]), [4, 4, 4], [True] * 3)
    silent = []
    for machine in MACHINES:
        try:
            (row,) = project_exchange(machine, [case])
        except InputError as error:
            assert "knows of no published one" in str(error)
            silent.append(machine.name)
            continue
        assert row.interval_s is not None and row.interval_s[0] < row.time_s < row.interval_s[1], machine.name
    designs = ["paper-cpu-2010", "paper-cpu-2020", "paper-gpu-2010", "paper-gpu-2020"]
    assert sorted(silent) == ["gb200-nvl72", "keeneland", *designs, "supermuc-ng", "vsc-4"]


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_latencies_have_a_source_and_say_whose_they_are(machine: Description) -> None:
    latency = machine.figures.get("latency")
    if latency is None:
        return
    assert latency.kind in (description.MEASURED, description.PUBLISHED, description.SAME_NETWORK)
    assert "latency" not in machine.unverified() and len(machine.unverified()) <= 1
    if latency.kind == description.SAME_NETWORK:
        assert latency.low < latency.value < latency.high
        (said,) = doubts(machine, ["latency", "nodes"])
        assert said == f"figures of another machine with the network of {machine.name}: latency"


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_products_in_sources_are_the_figures(machine: Description) -> None:
    """A source such as "4 x 33.5 TF/s" names the figure's factors."""
    for key, figure in machine.figures.items():
        for count, value, unit in re.findall(r"(?<!\w)(\d+) x ([\d.]+) ([TGM]?(?:F/s|B/s|B|W))\b", figure.source):
            product = int(count) * parse_value(f"{value}{unit}", key, key)
            assert figure.low * 0.98 <= product <= figure.high * 1.02, f"{machine.name}.{key}: {figure.source}"


def test_what_may_be_0_says_so() -> None:
    assert [parse_value(text, "latency", "--hop-latency", or_zero=True) for text in ("0", "0ns", "2us")] == [0, 0, 2e-6]
    with pytest.raises(InputError, match="a finite number of at least 0"):
        parse_value("-1ns", "latency", "--hop-latency", or_zero=True)
    with pytest.raises(InputError, match="a finite number above 0"):
        parse_value("0ns", "latency", "--hop-latency")


def test_figures_inside_a_node_and_tapers_by_level_reach_the_judge() -> None:
    (case,) = make_cases(Asked(["shift"], ["isend"], [1], [1_000_000]), [4, 4, 4], [True] * 3)

    def time_s(*settings: str, ranks_per_node: int = 1) -> float:
        (row,) = project_exchange(set_figures(load_machine("archer2"), list(settings)), [case], ranks_per_node)
        return row.time_s

    assert time_s("overhead=500us") > time_s() and time_s("message_rate=1k/s") > time_s()
    assert time_s("group_nodes=8", "taper=0.1") > 2 * time_s("group_nodes=8", "taper=1")
    assert time_s("leaf_nodes=8", "leaf_taper=0.1") > 2 * time_s()
    assert time_s("latency_inside=900us", ranks_per_node=64) > time_s(ranks_per_node=64)
    assert time_s("shared_memory_bandwidth=100MB/s", ranks_per_node=64) > time_s(ranks_per_node=64)


def test_unverified_counts_the_topology() -> None:
    heard = GOOD.replace('kind = "published"', 'kind = "unverified"', 1)
    assert parse_description(heard, "mine.toml").unverified()[0] == "topology"
    assert "topology" not in parse_description(GOOD, "mine.toml").unverified()
    assert not any("topology" in machine.unverified() for machine in MACHINES)


def test_published_sums() -> None:
    assert load_machine("frontier").injection() == 100e9
    assert load_machine("frontier").machine_peak() == pytest.approx(9856 * 4 * 47.8e12)
    assert load_machine("el-capitan").machine_peak() == pytest.approx(2.746e18, rel=1e-4)
    assert load_machine("hopper").machine_peak() == pytest.approx(1.288e15, rel=1e-3)


@pytest.mark.parametrize("design", ["cpu", "gpu"])
@pytest.mark.parametrize("year", [2010, 2020])
def test_the_paper_s_designs_are_those_of_its_table(design: str, year: int) -> None:
    machine = load_machine(f"paper-{design}-{year}")
    for key in ("node_peak", "memory_bandwidth", "cache", "line"):
        assert machine.get(key) == pytest.approx(model.TREND[key].at(design, year), rel=1e-6), key
    assert machine.get("link_bandwidth") == pytest.approx(model.TREND["link_bandwidth"].at("both", year))
    assert machine.get("nodes") == pytest.approx(
        model.TREND["machine_peak"].at("both", year) / model.TREND["node_peak"].at(design, year), rel=1e-3
    )


def test_a_description_of_one_s_own() -> None:
    mine = parse_description(GOOD, "mine.toml")
    assert mine.get("link_bandwidth") == 12.5e9
    assert mine.get("node_peak") == 2e12
    assert mine.figures["memory_bandwidth"].low == 180e9
    assert mine.topology is not None and mine.topology.label() == "3-D torus"
    assert mine.injection() is None
    with pytest.raises(InputError, match=r"mine has no cache .*--set cache="):
        mine.need("cache", "T_mem")


def test_a_folder_of_one_s_own_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.toml").write_text(GOOD)
    (tmp_path / "frontier.toml").write_text(GOOD.replace('"mine"', '"frontier"'))
    monkeypatch.setenv("RANKWISE_MACHINES", str(tmp_path))
    assert load_machine("mine").title == "My cluster"
    assert load_machine("frontier").title == "My cluster"
    assert load_machine("summit").title.startswith("Summit")
    (tmp_path / "other.toml").write_text(GOOD)
    with pytest.raises(InputError, match="is not the file's"):
        load_machine("other")
    monkeypatch.setenv("RANKWISE_MACHINES", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="RANKWISE_MACHINES names .*nowhere, which is not a folder"):
        load_machine("mine")


def test_a_measured_profile_is_a_machine(tmp_path: Path) -> None:
    link = {
        "model": "hockney", "alpha_s": 2e-6, "alpha_ci_s": [1.9e-6, 2.2e-6], "beta_s_per_byte": 1e-10,
        "beta_ci_s_per_byte": [0.9e-10, 1.25e-10], "samples": 10, "statistic": "median", "table": [
            {"size_bytes": 0, "time_s": 2e-6, "time_lo_s": 1.9e-6, "time_hi_s": 2.2e-6, "samples": 5},
            {"size_bytes": 500, "time_s": 2.05e-6, "time_lo_s": 2e-6, "time_hi_s": 2.2e-6, "samples": 5},
            {"size_bytes": 1000, "time_s": 2.1e-6, "time_lo_s": 2e-6, "time_hi_s": 2.3e-6, "samples": 5},
        ],
        "models": {"hockney": {"method": "least squares", "relative_error": 0.0, "segments": [
            {"from_bytes": 0, "to_bytes": None, "alpha_s": 2e-6, "alpha_ci_s": None, "beta_s_per_byte": 1e-10,
             "beta_ci_s_per_byte": None}
        ]}}, "variants": {},
    }  # fmt: skip
    path = tmp_path / "machine.json"
    record = {
        "schema": 1, "created": "2026-01-01", "source": {"kind": "measured"}, "machine": {"hostname": "node7"},
        "warnings": [], "links": {"other-node": link},
    }  # fmt: skip
    path.write_text(json.dumps(record))
    machine = load_machine(str(path))
    assert machine.name == "node7" and machine.notes == ()
    latency, bandwidth = machine.figures["latency"], machine.figures["link_bandwidth"]
    assert (latency.low, latency.value, latency.high, latency.kind) == (1.9e-6, 2e-6, 2.2e-6, "measured")
    assert bandwidth.low == pytest.approx(8e9) and bandwidth.value == pytest.approx(1e10)
    assert bandwidth.high == pytest.approx(1 / 0.9e-10)
    record["links"] = {"same-socket": link}
    path.write_text(json.dumps(record))
    assert "not a network" in load_machine(str(path)).notes[0]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('name = "mine"', "name = mine", "is not TOML"),
        ('name = "mine"', "", "name is missing"),
        ('name = "mine"', 'name = "My Machine"', "is not a name"),
        ('name = "mine"', "name = 7", "name 7 is not a text"),
        ("year = 2026\n", 'year = "now"\n', "is not a year"),
        ("year = 2026\n", f"year = {'9' * 5000}\n", "a whole number of more than 4300 digits"),
        ('processor = "cpu"', 'processor = "abacus"', "choose one of cpu, gpu"),
        ('processor = "cpu"', 'colour = "red"', "colour is unknown"),
        ('name = "torus"', 'name = "ring"', "topology.name 'ring' is unknown"),
        ("dimensions = 3", "dimensions = 0", "is not a number of axes"),
        ("dimensions = 3", "", "is not a number of axes"),
        ('name = "torus"', 'name = "fat-tree"', "belongs to a torus"),
        ('date = "2026"\n\n[figures]', "\n[figures]", "topology.date is missing"),
        ("nodes = { value = 64,", "nodes = { value = 64.5,", "not a whole number"),
        ("nodes = { value = 64,", "nodes = { value = 0,", "not a number above 0"),
        ("nodes = { value = 64,", f"nodes = {{ value = {10**400},", "not a number above 0"),
        ("nodes = { value = 64,", "nodes = { value = nan,", "not a number above 0"),
        ("nodes = { value = 64,", 'nodes = { value = "64",', "not a number above 0"),
        ("nodes = { value = 64,", "nodes = { value = true,", "not a number above 0"),
        ("nodes = { value = 64,", "nodes = {", "figures.nodes.value is missing"),
        ("nodes = {", "racks = {", "figures.racks is unknown"),
        ('unit = "TF/s"', 'unit = "GB/s"', "figures.node_peak.unit 'GB/s' is not a unit of node_peak"),
        ('unit = "TF/s", ', "", "figures.node_peak.unit is missing"),
        ("low = 180", "low = 201", "value outside low and high"),
        ('kind = "measured"', 'kind = "hearsay"', "kind 'hearsay' is unknown"),
        ('source = "triad"', 'source = ""', "figures.memory_bandwidth.source '' is not a text"),
        ('source = "triad"', 'comment = "triad"', "figures.memory_bandwidth.comment is unknown"),
    ],
)
def test_a_bad_file_is_told_file_key_and_mend(old: str, new: str, says: str) -> None:
    assert old in GOOD
    with pytest.raises(InputError) as error:
        parse_description(GOOD.replace(old, new, 1), "mine.toml")
    assert "machine file mine.toml" in str(error.value)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_files_that_are_no_description(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there are no figures"):
        parse_description('name = "x"', "x.toml")
    with pytest.raises(InputError, match="figures.nodes is not a table"):
        parse_description('name = "x"\n[figures]\nnodes = 4', "x.toml")
    with pytest.raises(InputError, match="figures.taper 1.5 is above 1"):
        parse_description(
            'name = "x"\n[figures]\ntaper = {value = 1.5, unit = "1", kind = "published", source = "s", date = "d"}', "x.toml"
        )
    with pytest.raises(InputError, match="does not exist"):
        load_machine(str(tmp_path / "no.toml"))
    with pytest.raises(InputError, match="is a folder, not a file"):
        load_machine(f"{tmp_path}/")
    (tmp_path / "latin.toml").write_bytes(b'name = "\xe9"')
    with pytest.raises(InputError, match="cannot be read"):
        load_machine(str(tmp_path / "latin.toml"))
    with pytest.raises(InputError, match="did you mean frontier"):
        load_machine("frontir")


def test_values_and_ranges() -> None:
    assert parse_range("25GB/s", "link_bandwidth", "x", None) == (25e9, 25e9)
    assert parse_range("200Gb/s", "link_bandwidth", "x", None) == (25e9, 25e9)
    assert parse_range("0.5x:4x", "link_bandwidth", "x", 10e9) == (5e9, 40e9)
    assert parse_range("1us:2.5us", "latency", "x", None) == pytest.approx((1e-6, 2.5e-6))
    assert parse_range("8MiB", "cache", "x", None) == (2**23, 2**23)


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("link_bandwidth", "sets nothing"),
        ("colour=3", "sets nothing"),
        ("link_bandwidth=", "is not a value"),
        ("link_bandwidth=fast", "is not a value"),
        ("link_bandwidth=5", "needs a unit"),
        ("link_bandwidth=5TF/s", "needs a unit"),
        ("link_bandwidth=1..2GB/s", "is not a value"),
        ("link_bandwidth=0GB/s", "out of range"),
        ("link_bandwidth=-3GB/s", "out of range"),
        ("link_bandwidth=1e400GB/s", "out of range"),
        ("link_bandwidth=4GB/s:2GB/s", "empty range"),
        ("link_bandwidth=1GB/s:2GB/s:3GB/s", "more than two ends"),
        ("latency=0.5x", "has no latency to apply it to"),
        ("link_bandwidth=0x:2x", "out of range"),
        ("link_bandwidth=1.2.3x", "not a factor"),
        ("taper=1.5", "above 1"),
    ],
)
def test_bad_settings(setting: str, says: str) -> None:
    with pytest.raises(InputError) as error:
        set_figures(parse_description(GOOD, "mine.toml"), [setting])
    assert says in str(error.value)


def test_settings_replace_figures_and_say_so() -> None:
    mine = set_figures(parse_description(GOOD, "mine.toml"), ["memory-bandwidth=0.5x:2x", "latency=1us:4us"])
    memory, latency = mine.figures["memory_bandwidth"], mine.figures["latency"]
    assert (memory.low, memory.value, memory.high) == (100e9, 200e9, 400e9)
    assert latency.value == pytest.approx(2e-6) and latency.kind == "projected"
    assert latency.source == "given on the command line"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1.6e12, "B/s", "1.6 TB/s"), (191.2e12, "flop/s", "191 TF/s"), (1e-6, "s", "1 us"), (0.57, "1", "0.57"),
        (9856, "1", "9,856"), (131644.3, "1", "131,644"), (64, "B", "64 B"), (999.96e9, "B/s", "1 TB/s"), (2.5, "1", "2.5"),
    ],
)  # fmt: skip
def test_figures_as_people_read_them(value: float, unit: str, text: str) -> None:
    assert description.format_quantity(value, unit) == text
