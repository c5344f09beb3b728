"""The record of a machine in a profile."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

from rankwise.machine.hwloc import parse_xml
from rankwise.machine.record import machine_record, short_version


@dataclass(frozen=True)
class SomeMpi:
    origin: str = "wheel"
    library_version: str = "MPICH Version:      5.0.2\nMPICH configure: --prefix=/home/alice/mpi"
    library_family: str = "mpich"
    launcher_path: Path | None = Path("/home/alice/.venv/bin/mpiexec")
    launcher_version: str = "HYDRA 5.0.2"
    launcher_family: str = "mpich"
    matches: bool = True


def test_the_record(machine_xml):
    topology = replace(parse_xml(machine_xml("one-socket-4-numa"), "lstopo"), host="node17", allowed=(0, 1))
    record = machine_record(topology, SomeMpi())
    kernel, virtualization = record.pop("kernel_release"), record.pop("virtualization")
    assert kernel
    assert virtualization
    assert record == {
        "hostname": "node17",
        "cpu_model": "unknown",
        "sockets": 1,
        "numa_nodes": 4,
        "cores": 32,
        "hardware_threads": 64,
        "allowed_hardware_threads": 2,
        "memory_bytes": 4 * 2**30,
        "caches": [
            {"level": 1, "size_bytes": 32768, "shared_by": 2, "count": 32},
            {"level": 2, "size_bytes": 4 * 2**20, "shared_by": 2, "count": 32},
            {"level": 3, "size_bytes": 16 * 2**20, "shared_by": 8, "count": 8},
        ],
        "topology_source": "lstopo",
        "mpi": {
            "library_version": "MPICH Version: 5.0.2",
            "library_family": "mpich",
            "launcher": "mpiexec",
            "launcher_family": "mpich",
            "launcher_version": "HYDRA 5.0.2",
            "origin": "wheel",
        },
    }
    assert "alice" not in json.dumps(record)
    assert machine_record(topology, None)["mpi"] is None


def test_versions_name_no_builder():
    of_open_mpi = "Open MPI v5.0.11, package: Open MPI alice@host Distribution, ident: 5.0.11"
    assert short_version(of_open_mpi) == "Open MPI v5.0.11"
    of_intel = "\n  Intel(R) MPI Library 2021.18\tfor Linux* OS\n"
    assert short_version(of_intel) == "Intel(R) MPI Library 2021.18 for Linux* OS"
    assert short_version("") == ""
