"""Reading the state of a machine from its files."""

import os

import pytest

from rankwise.machine.snapshot import CpuTime, cpu_quota, parse_stat, take_snapshot, usage, virtualization
from rankwise.machine.sysfs import read_sysfs


def write(root, path, text):
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def snapshot(root):
    return take_snapshot(read_sysfs(root), root, sample_s=0.0)


def test_a_quiet_machine_of_metal(sysfs_tree):
    found = snapshot(sysfs_tree)
    assert (found.cores, found.allowed_cores, found.pus, found.threads_per_core) == (4, 4, 8, 2)
    assert found.virtualization == ""
    assert found.governors == ("powersave",)
    assert found.turbo is True
    assert (found.load_average, found.foreign_cpus, found.steal_share) == (0.0, 0.0, 0.0)
    assert (found.pressure_share, found.quota_cpus, found.shm_free_bytes, found.rdma_devices) == (None, None, None, ())


def test_what_the_files_say(sysfs_tree):
    write(sysfs_tree, "proc/loadavg", "3.25 2.00 1.00 4/500 1234\n")
    write(sysfs_tree, "proc/pressure/cpu", "some avg10=12.50 avg60=1.00 avg300=0.10 total=1\nfull avg10=0.00\n")
    write(sysfs_tree, "sys/class/infiniband/mlx5_0/fw_ver", "1\n")
    (sysfs_tree / "dev/shm").mkdir(parents=True)
    found = snapshot(sysfs_tree)
    assert (found.load_average, found.pressure_share, found.rdma_devices) == (3.25, 0.125, ("mlx5_0",))
    assert found.shm_free_bytes > 0


@pytest.mark.parametrize("text", ["", "much", "nan-ish 1", "some avg10=lots"])
def test_damaged_figures_are_untold(sysfs_tree, text):
    write(sysfs_tree, "proc/loadavg", text)
    write(sysfs_tree, "proc/pressure/cpu", text)
    found = snapshot(sysfs_tree)
    assert (found.load_average, found.pressure_share) == (0.0, None)


@pytest.mark.parametrize(
    ("path", "text", "turbo"),
    [
        ("intel_pstate/no_turbo", "1", False),
        ("cpufreq/boost", "1", True),
        ("cpufreq/boost", "0", False),
        ("x", "", None),
    ],
)
def test_turbo(sysfs_tree, path, text, turbo):
    (sysfs_tree / "sys/devices/system/cpu/intel_pstate/no_turbo").unlink()
    write(sysfs_tree, f"sys/devices/system/cpu/{path}", text)
    assert snapshot(sysfs_tree).turbo is turbo


STAT = """cpu  600 0 200 8000 0 0 0 100 0 0
cpu0 100 10 20 1000 5 3 2 50 7 0
cpu1 500 0 180 7000
intr 12345
cpux 1 2 3
"""


def test_stat_lines():
    assert parse_stat(STAT) == {0: CpuTime(135, 50, 1190), 1: CpuTime(680, 0, 7680)}
    assert parse_stat("") == {}


def test_usage_counts_only_the_asked_processors():
    before = {cpu: CpuTime(0, 0, 100) for cpu in range(4)}
    after = {0: CpuTime(20, 0, 120), 1: CpuTime(10, 5, 120), 2: CpuTime(20, 0, 120), 3: CpuTime(0, 0, 100)}
    assert usage(before, after, [0, 1]) == (1.5, 0.125)
    assert usage(before, after, [3]) == (0.0, 0.0)  # its counters stood still
    assert usage(before, after, [9]) == (0.0, 0.0)
    assert usage(after, before, [0]) == (0.0, 0.0)  # never negative


FLAGS = "processor\t: 0\nflags\t\t: fpu vme hypervisor sse\n"


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({}, ""),
        ({"proc/cpuinfo": FLAGS}, "a hypervisor that hides its name"),
        ({"proc/cpuinfo": FLAGS, "sys/class/dmi/id/sys_vendor": "QEMU\n"}, "KVM or QEMU"),
        ({"proc/cpuinfo": FLAGS, "sys/class/dmi/id/sys_vendor": "VMware, Inc.\n"}, "VMware"),
        (
            {
                "proc/cpuinfo": FLAGS,
                "sys/class/dmi/id/sys_vendor": "Microsoft Corporation\n",
                "sys/class/dmi/id/product_name": "Virtual Machine\n",
            },
            "Hyper-V",
        ),
        (
            {
                "proc/cpuinfo": FLAGS,
                "sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc kvm-clock acpi_pm\n",
            },
            "KVM",
        ),
        ({"proc/xen/capabilities": "control_d\n"}, "Xen"),
        ({"sys/hypervisor/type": "xen\n"}, "Xen"),
        ({"proc/sys/kernel/osrelease": "5.15.1-microsoft-standard-WSL2\n"}, "WSL on Hyper-V"),
        # bare metal in a cloud: x86 lacks the flag, ARM says so in its name
        ({"proc/cpuinfo": "flags : fpu\n", "sys/class/dmi/id/sys_vendor": "Amazon EC2\n"}, ""),
        (
            {
                "proc/cpuinfo": "Features : fp asimd\n",
                "sys/class/dmi/id/sys_vendor": "Amazon EC2\n",
                "sys/class/dmi/id/product_name": "c7g.metal\n",
            },
            "",
        ),
        (
            {
                "proc/cpuinfo": "Features : fp asimd\n",
                "sys/class/dmi/id/sys_vendor": "Amazon EC2\n",
                "sys/class/dmi/id/product_name": "c7g.large\n",
            },
            "Amazon EC2",
        ),
    ],
)
def test_which_hypervisor(tmp_path, files, name):
    for path, text in files.items():
        write(tmp_path, path, text)
    assert virtualization(tmp_path) == name


@pytest.mark.parametrize(
    ("files", "cpus"),
    [
        ({}, None),
        ({"proc/self/cgroup": "0::/\n"}, None),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "150000 100000\n"}, 1.5),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, None),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "1 0\n"}, None),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "rubbish\n"}, None),
        ({"proc/self/cgroup": "rubbish\n"}, None),
        (
            {
                "proc/self/cgroup": "0::/job/step\n",
                "sys/fs/cgroup/job/cpu.max": "200000 100000\n",
                "sys/fs/cgroup/job/step/cpu.max": "400000 100000\n",
            },
            2.0,
        ),
        # inside a container, the outer path is not mounted
        ({"proc/self/cgroup": "0::/../../outer\n", "sys/fs/cgroup/cpu.max": "50000 100000\n"}, 0.5),
        (
            {
                "proc/self/cgroup": "4:cpu,cpuacct:/docker/1a\n",
                "sys/fs/cgroup/cpu,cpuacct/docker/1a/cpu.cfs_quota_us": "300000\n",
                "sys/fs/cgroup/cpu,cpuacct/docker/1a/cpu.cfs_period_us": "100000\n",
            },
            3.0,
        ),
        (
            {
                "proc/self/cgroup": "4:cpu:/\n3:cpuset:/\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            None,
        ),
    ],
)
def test_cpu_quota(tmp_path, files, cpus):
    for path, text in files.items():
        write(tmp_path, path, text)
    assert cpu_quota(tmp_path) == cpus


def test_this_machine():
    topology = read_sysfs()
    found = take_snapshot(topology, sample_s=0.05)
    assert found.pus == len(topology.pus)
    assert 0 <= found.steal_share <= 1
    assert 0 <= found.foreign_cpus <= len(topology.pus)
    assert found.load_average == pytest.approx(os.getloadavg()[0], abs=2)
