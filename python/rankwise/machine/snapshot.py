"""The state of this machine at one moment, as far as it can spoil a measurement: read here, judged in conditions."""

from __future__ import annotations

import os
import re
import resource
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from rankwise.machine.sysfs import read_file
from rankwise.machine.topology import Topology

_CPU = "sys/devices/system/cpu"

# What the firmware says of itself -> who made the virtual machine; the first that fits.
_FIRMWARE = (
    ("VMware", "VMware"),
    ("VirtualBox", "VirtualBox"),
    ("innotek", "VirtualBox"),
    ("Parallels", "Parallels"),
    ("Xen", "Xen"),
    ("Microsoft Corporation Virtual Machine", "Hyper-V"),
    ("Amazon EC2", "Amazon EC2"),
    ("Google Compute Engine", "Google Compute Engine"),
    ("OpenStack", "OpenStack"),
    ("Alibaba Cloud", "Alibaba Cloud"),
    ("Apple Virtualization", "Apple Virtualization"),
    ("KVM", "KVM"),
    ("QEMU", "KVM or QEMU"),
)
_CLOCKS = (("kvm-clock", "KVM"), ("hyperv_clocksource", "Hyper-V"), ("xen", "Xen"))


@dataclass(frozen=True)
class CpuTime:
    """What one PU has done since the start of the machine, in clock ticks."""

    busy: int
    steal: int
    total: int


@dataclass(frozen=True)
class Snapshot:
    """The state of this machine; None stands for what the system does not tell."""

    cores: int
    allowed_cores: int
    pus: int
    allowed_pus: tuple[int, ...]
    threads_per_core: int  # the most allowed hardware threads of one core
    virtualization: str  # name of the hypervisor, empty on bare metal
    load_average: float  # runnable tasks, mean of the last minute
    foreign_cpus: float  # how many allowed PUs other programs kept busy
    steal_share: float  # of the allowed PUs' time, taken by the hypervisor for other machines
    pressure_share: float | None  # of the last ten seconds, in which some task waited for a CPU
    governors: tuple[str, ...]
    turbo: bool | None
    quota_cpus: float | None  # CPU time a second that the cgroup grants, in CPUs; None without a limit
    shm_free_bytes: int | None
    memlock_bytes: int | None  # None without a limit
    rdma_devices: tuple[str, ...]


def take_snapshot(topology: Topology, root: Path = Path("/"), sample_s: float = 0.2) -> Snapshot:
    """Read the state of this machine; takes ``sample_s`` seconds to see what other programs do meanwhile."""
    before = parse_stat(read_file(root / "proc/stat"))
    time.sleep(sample_s)
    foreign_cpus, steal_share = usage(before, parse_stat(read_file(root / "proc/stat")), topology.allowed)
    allowed = set(topology.allowed)
    threads: dict[int, int] = {}
    for pu in topology.pus:
        threads[pu.core] = threads.get(pu.core, 0) + (pu.os_index in allowed)
    return Snapshot(
        cores=topology.core_count,
        allowed_cores=topology.allowed_core_count,
        pus=len(topology.pus),
        allowed_pus=topology.allowed,
        threads_per_core=max(threads.values()),
        virtualization=virtualization(root),
        load_average=_first_number(read_file(root / "proc/loadavg"), r"(\S+)") or 0.0,
        foreign_cpus=foreign_cpus,
        steal_share=steal_share,
        pressure_share=_pressure(root),
        governors=governors(root, topology.allowed),
        turbo=_turbo(root),
        quota_cpus=cpu_quota(root),
        shm_free_bytes=_free_bytes(root / "dev/shm"),
        memlock_bytes=_memlock_bytes(),
        rdma_devices=_names(root / "sys/class/infiniband"),
    )


def parse_stat(text: str) -> dict[int, CpuTime]:
    """Read the lines of single CPUs in /proc/stat; a line that is not one is passed over."""
    times = {}
    for match in re.finditer(r"^cpu(\d{1,5}) ([\d ]+)$", text, re.MULTILINE | re.ASCII):
        # user nice system idle iowait irq softirq steal; what follows is counted in user and nice already
        ticks = [int(word) for word in match[2].split()[:8]]
        ticks += [0] * (8 - len(ticks))
        user, nice, system, _, _, irq, softirq, steal = ticks
        times[int(match[1])] = CpuTime(user + nice + system + irq + softirq, steal, sum(ticks))
    return times


def usage(before: Mapping[int, CpuTime], after: Mapping[int, CpuTime], cpus: Collection[int]) -> tuple[float, float]:
    """Return how many of these CPUs were busy between two readings, and which share of their time was stolen."""
    busy = steal = 0.0
    seen = before.keys() & after.keys() & set(cpus)
    for cpu in seen:
        total = after[cpu].total - before[cpu].total
        if total > 0:  # a sleeping CPU's counters may stand still
            busy += max(0, after[cpu].busy - before[cpu].busy) / total
            steal += max(0, after[cpu].steal - before[cpu].steal) / total
    return busy, steal / len(seen) if seen else 0.0


def virtualization(root: Path = Path("/")) -> str:
    """Return the name of the hypervisor under which this machine runs, or nothing on bare metal."""
    if "microsoft" in read_file(root / "proc/sys/kernel/osrelease").lower():
        return "WSL on Hyper-V"
    if (root / "proc/xen").exists() or read_file(root / "sys/hypervisor/type") == "xen":
        return "Xen"
    flags = re.search(r"^flags\s*:(.*)$", read_file(root / "proc/cpuinfo"), re.MULTILINE)
    flagged = flags is not None and "hypervisor" in flags[1].split()
    if flags is not None and not flagged:
        return ""  # on x86 the flag decides: clouds also rent bare metal, with the same firmware names
    firmware = " ".join(read_file(root / "sys/class/dmi/id" / name) for name in ("sys_vendor", "product_name"))
    if ".metal" not in firmware:
        for sign, name in _FIRMWARE:
            if sign in firmware:
                return name
    clocks = read_file(root / "sys/devices/system/clocksource/clocksource0/available_clocksource").split()
    for sign, name in _CLOCKS:
        if sign in clocks:
            return name
    return "a hypervisor that hides its name" if flagged else ""


def cpu_quota(root: Path = Path("/")) -> float | None:
    """Return the CPU time that this process's cgroup grants each second, in CPUs, or None without a limit."""
    quotas = []
    for line in read_file(root / "proc/self/cgroup").splitlines():
        _, controllers, path = (line.split(":", 2) + ["", ""])[:3]
        if controllers == "":
            for folder in _with_parents(root, ("", "unified"), path):
                quotas.append(_quota(*(read_file(folder / "cpu.max").split() + ["", ""])[:2]))
        elif "cpu" in controllers.split(","):
            for folder in _with_parents(root, ("cpu", "cpu,cpuacct"), path):
                quotas.append(_quota(*(read_file(folder / f"cpu.cfs_{name}_us") for name in ("quota", "period"))))
    return min((quota for quota in quotas if quota is not None), default=None)


def _with_parents(root: Path, mounts: tuple[str, ...], path: str) -> Iterator[Path]:
    """Yield a cgroup's folder and all above it: the narrowest limit on the way counts."""
    # Inside a container the path may lead outside of what is mounted there: then the mount itself is ours.
    inner = PurePosixPath(path.lstrip("/") if ".." not in path else ".")
    for mount in mounts:
        for folder in (inner, *inner.parents):
            yield root / "sys/fs/cgroup" / mount / folder


def _quota(quota: str, period: str) -> float | None:
    if not (quota.isdecimal() and period.isdecimal() and int(period) > 0):
        return None
    return int(quota) / int(period)


def _pressure(root: Path) -> float | None:
    percent = _first_number(read_file(root / "proc/pressure/cpu"), r"some avg10=(\S+)")
    return None if percent is None else percent / 100


def _first_number(text: str, pattern: str) -> float | None:
    match = re.match(pattern, text)
    try:
        return float(match[1]) if match else None
    except ValueError:
        return None


def governors(root: Path, cpus: Collection[int]) -> tuple[str, ...]:
    """Return the frequency governors of these CPUs, each once; none where the system does not tell."""
    found = {read_file(f"{root}/{_CPU}/cpu{cpu}/cpufreq/scaling_governor") for cpu in cpus}
    return tuple(sorted(found - {""}))


def _turbo(root: Path) -> bool | None:
    off = read_file(root / _CPU / "intel_pstate/no_turbo")
    on = read_file(root / _CPU / "cpufreq/boost")
    return off == "0" if off else on == "1" if on else None


def _free_bytes(path: Path) -> int | None:
    try:
        status = os.statvfs(path)
    except OSError:
        return None
    return status.f_bavail * status.f_frsize


def _memlock_bytes() -> int | None:
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def _names(folder: Path) -> tuple[str, ...]:
    try:
        return tuple(sorted(os.listdir(folder)))
    except OSError:
        return ()
