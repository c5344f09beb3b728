"""Nodes on one machine: network, host name and IPC namespaces of their own, joined by switches, links of a known rate.

MPI finds hosts that share no memory; what they say to each other crosses veth pairs whose ends the kernel shapes (HTB, both
ways) and counts. Needs root, ip, tc, nsenter and unshare; everything is gone when the context is left.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

TOOLS = ("ip", "tc", "nsenter", "unshare", "mount", "umount")
# Frames that are never sent in batches: headers are 0.7 % of what crosses (1.5 % with half the size), and the one frame that
# the shaper lets pass at once after a pause is 1 % of a message of 1 MB (of half a megabyte). The payload's rate is the link's
# to within two percent. Small frames suit small messages, large ones many nodes on few processors.
FRAME_BYTES = 9000
# Ranks of several nodes share this machine's cores: MPICH's collectives inside a node never give one up while they wait.
YIELDING = {f"MPIR_CVAR_{name}_POSIX_INTRA_ALGORITHM": "mpir" for name in ("BARRIER", "BCAST", "REDUCE", "ALLREDUCE")}
FOUR = ("n1", "n2", "n3", "n4")
_NET = "10.91.7"
_COUNTED = 16  # number of the first class that counts what is sent to a host
_NUMBERS = map("abcdefghijklmnopqrstuvwxyz".__getitem__, itertools.cycle(range(26)))


@cache
def why_not() -> str | None:
    """Return why there can be no nodes here, or None."""
    if os.geteuid() != 0:
        return "making network namespaces needs root"
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return f"no {missing[0]} here (Debian: apt-get install iproute2 util-linux)"
    try:
        with Nodes("1gbit", ("probe",)):
            return None
    except subprocess.CalledProcessError as error:
        return f"the kernel refuses: {' '.join(error.cmd)}: {error.stderr.strip()}"


class Nodes:
    """Nodes, ``hosts``; ``command`` runs something on one of them, ``shell`` is a stand-in for ssh to them."""

    def __init__(
        self, rate: str | None, names: Sequence[str] = ("n1", "n2"), frame_bytes: int = FRAME_BYTES, batches: bool = False,
        second_switch: Sequence[str] = (), uplink: str | None = None,
    ) -> None:  # fmt: skip
        """``rate`` is tc's (100mbit, 1gbit), each way of each node's link; None: as fast as it goes.

        Nodes of ``second_switch`` hang on a switch of their own, whose link to the first one is held to the rate ``uplink``.
        With ``batches`` up to seven frames are sent as one: many nodes on few processors need that to keep such a link busy.
        """
        self.rate = rate
        self._frame = frame_bytes
        self._batch = 7 if batches else 1
        self._prefix = f"rw{os.getpid()}{next(_NUMBERS)}"
        self.hosts = tuple(f"{self._prefix}{name}" for name in names)
        self._switch = f"{self._prefix}switch"
        self._second = {f"{self._prefix}{name}" for name in second_switch}
        self._uplink = uplink

    def __enter__(self) -> Nodes:
        self._folder = tempfile.TemporaryDirectory(prefix="rankwise-nodes-")
        self.state = Path(self._folder.name)
        try:
            self._make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _make(self) -> None:
        # Handles of namespaces are mounts, and must not travel to other mount namespaces.
        _do("mount", "-t", "tmpfs", "none", str(self.state))
        _do("mount", "--make-private", str(self.state))
        names = "".join(f"{self.address(host)} {host}\n" for host in self.hosts)
        (self.state / "hosts").write_text(f"127.0.0.1 localhost\n{names}")
        _do("ip", "netns", "add", self._switch)
        for bridge in ("switch", "second") if self._second else ("switch",):
            _do("ip", "-n", self._switch, "link", "add", bridge, "type", "bridge")
            _do("ip", "-n", self._switch, "link", "set", bridge, "mtu", str(self._frame), "up")
        if self._second:
            _do("ip", "-n", self._switch, "link", "add", "uplink", "type", "veth", "peer", "name", "downlink")
            for device, bridge in (("uplink", "second"), ("downlink", "switch")):
                self._limit_batches(self._switch, device)
                if self._uplink is not None:
                    self._shape(self._switch, device, self._uplink)
                _do("ip", "-n", self._switch, "link", "set", device, "master", bridge, "up")
        for i, host in enumerate(self.hosts, start=1):
            _do("ip", "netns", "add", host)
            for kind in ("uts", "ipc"):
                (self.state / f"{host}.{kind}").touch()
            (self.state / f"{host}.shm").mkdir()
            (self.state / f"{host}.shm").chmod(0o1777)
            _do("unshare", f"--uts={self.state}/{host}.uts", f"--ipc={self.state}/{host}.ipc", "hostname", host)
            port = f"port{i}"
            _do("ip", "-n", self._switch, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", host)
            for space, device in ((self._switch, port), (host, "eth0")):
                self._limit_batches(space, device)
                # At the switch's end what several nodes send to one is held to the rate; between two nodes it is already.
                if self.rate is not None and (space == host or len(self.hosts) > 2):
                    self._shape(space, device, self.rate)
            _do("ip", "-n", self._switch, "link", "set", port, "master", "second" if host in self._second else "switch", "up")
            _do("ip", "-n", host, "addr", "add", f"{self.address(host)}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                _do("ip", "-n", host, "link", "set", device, "up")
        # BBR, the default of some kernels, sends at the rate of its last messages, which leaves such links idle for up to half
        # of the time. Reno is in every kernel, and fills a link that loses nothing.
        self.use_tcp("reno")
        self._enter = self.state / "enter"
        self._enter.write_text(
            f"#!/bin/sh\nhost=$1; shift; state={self.state}\n"
            'exec nsenter --net=/run/netns/$host --uts=$state/$host.uts --ipc=$state/$host.ipc --wd="$PWD" '
            "unshare -m /bin/sh -c 'state=$1; host=$2; shift 2; mount -t sysfs none /sys && "
            "mount --bind $state/hosts /etc/hosts && mount --bind $state/$host.shm /dev/shm && "
            'test -f $state/$host.cpus && set -- taskset -c $(cat $state/$host.cpus) "$@"; '
            'exec "$@"\' sh $state $host "$@"\n'
        )
        # What a launcher calls as ssh: the options it gives are not for us, its words are one command for a shell.
        self.shell.write_text(
            "#!/bin/sh\n"
            "while :; do case $1 in -x|-q|-n) shift;; -*) shift 2;; *) break;; esac; done\n"
            f'host=$1; shift\nexec {self._enter} $host /bin/sh -c "$*"\n'
        )
        for script in (self._enter, self.shell):
            script.chmod(0o755)

    def use_tcp(self, congestion: str, queue_frames: int | None = None) -> None:
        """Set the congestion control of connections made from now on, and how many frames may wait at each end of a link.

        By route: a namespace has no say in what the kernel lets its processes ask for.
        """
        for i, host in enumerate(self.hosts, start=1):
            _do("ip", "-n", host, "route", "replace", f"{_NET}.0/24", "dev", "eth0", "proto", "kernel", "scope", "link",
                "src", self.address(host), "congctl", congestion)  # fmt: skip
            if queue_frames is not None:
                for space, device in ((host, "eth0"), (self._switch, f"port{i}")):
                    _do("tc", "-n", space, "qdisc", "replace", "dev", device, "parent", "1:1", "pfifo", "limit",
                        str(queue_frames))  # fmt: skip

    def _limit_batches(self, space: str, device: str) -> None:
        _do("ip", "-n", space, "link", "set", device,
            "mtu", str(self._frame), "gso_max_size", str(self._batch * self._frame), "gso_max_segs",
            str(self._batch))  # fmt: skip

    def _shape(self, space: str, device: str, rate: str) -> None:
        _do("tc", "-n", space, "qdisc", "add", "dev", device, "root", "handle", "1:", "htb", "default", "1")
        _do("tc", "-n", space, "class", "add", *self._class(device, "1:1", rate))

    def _class(self, device: str, name: str, rate: str) -> list[str]:
        limits = ["rate", rate, "burst", f"{self._frame}b", "cburst", f"{self._frame}b"]
        return ["dev", device, "parent", "1:", "classid", name, "htb", *limits]

    def slow(self, host: str, rate: str, sends: bool = True, receives: bool = True) -> None:
        """Hold one host's link to another rate, both ways or one."""
        for space, device in ((host, "eth0"),) * sends + ((self._switch, f"port{1 + self.hosts.index(host)}"),) * receives:
            _do("tc", "-n", space, "class", "change", *self._class(device, "1:1", rate))

    def slow_pair(self, one: str, other: str, rate: str) -> None:
        """Hold what two hosts send to each other to another rate; what they send to others stays as it is."""
        for host, peer in ((one, other), (other, one)):
            _do("tc", "-n", host, "class", "add", *self._class("eth0", "1:2", rate))
            _do("tc", "-n", host, "filter", "add", "dev", "eth0", "parent", "1:", "protocol", "ip", "prio", "1",
                "u32", "match", "ip", "dst", f"{self.address(peer)}/32", "flowid", "1:2")  # fmt: skip

    def count_pairs(self) -> None:
        """Let ``sent_bytes`` count what each host sends to each other, on links that are held to a rate."""
        for host in self.hosts:
            for other in self.hosts:
                if other != host:
                    name = f"1:{_COUNTED + self.hosts.index(other):x}"
                    _do("tc", "-n", host, "class", "add", *self._class("eth0", name, str(self.rate)))
                    _do("tc", "-n", host, "filter", "add", "dev", "eth0", "parent", "1:", "protocol", "ip", "prio", "1",
                        "u32", "match", "ip", "dst", f"{self.address(other)}/32", "flowid", name)  # fmt: skip

    def sent_bytes(self) -> dict[tuple[int, int], int]:
        """Return what hosts (by their numbers) have sent to each other so far, with all headers and acknowledgements."""
        found = {}
        for i, host in enumerate(self.hosts):
            text = subprocess.run(
                ["tc", "-n", host, "-s", "class", "show", "dev", "eth0"], check=True, capture_output=True, text=True
            ).stdout
            for match in re.finditer(r"class htb 1:(\w+) .*\n Sent (\d+) bytes", text):
                if (other := int(match[1], 16) - _COUNTED) >= 0:
                    found[i, other] = int(match[2])
        return found

    def give_cpus(self, host: str, cpus: str) -> None:
        """Let what is started on a host from now on use these CPUs only, as taskset writes them."""
        (self.state / f"{host}.cpus").write_text(cpus)

    def address(self, host: str) -> str:
        return f"{_NET}.{1 + self.hosts.index(host)}"

    @property
    def shell(self) -> Path:
        return self.state / "shell"

    def __exit__(self, *exception: object) -> None:
        for host in self.hosts:
            self.kill_all(host)
        for host in (*self.hosts, self._switch):
            subprocess.run(["ip", "netns", "del", host], capture_output=True, check=False)
            for kind in ("uts", "ipc"):
                subprocess.run(["umount", f"{self.state}/{host}.{kind}"], capture_output=True, check=False)
        subprocess.run(["umount", "-l", str(self.state)], capture_output=True, check=False)
        self._folder.cleanup()

    def kill_all(self, host: str) -> None:
        """End every process of a host at once, as a power cut would."""
        pids = subprocess.run(["ip", "netns", "pids", host], capture_output=True, text=True, check=False).stdout
        for pid in map(int, pids.split()):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def runs(self, host: str, program: str) -> bool:
        """Tell whether a host has a process of some program."""
        pids = subprocess.run(["ip", "netns", "pids", host], capture_output=True, text=True, check=False).stdout
        for pid in pids.split():
            try:
                if program in Path(f"/proc/{pid}/cmdline").read_text():
                    return True
            except OSError:
                continue
        return False

    def command(self, host: str, words: Sequence[str]) -> list[str]:
        """Return the command that runs words on a host."""
        return [str(self._enter), host, *words]

    def environment(self) -> dict[str, str]:
        """Return what makes MPICH's launcher reach the nodes."""
        return {**os.environ, **YIELDING, "HYDRA_LAUNCHER": "ssh", "HYDRA_LAUNCHER_EXEC": str(self.shell)}

    def open_mpi(self, launcher: str, slots: int, hosts: int | None = None) -> list[str]:
        """Return the words that make Open MPI's launcher reach the nodes, use their links, and deal ranks out cyclically.

        Ranks are not bound: every node's first would be bound to this machine's first core.
        """
        settings = {
            "plm_rsh_agent": str(self.shell), "plm_rsh_no_tree_spawn": "1", "oob_tcp_if_include": "eth0", "pml": "ob1",
            "btl": "self,vader,tcp", "btl_tcp_if_include": "eth0", "mpi_yield_when_idle": "1",
        }  # fmt: skip
        words = [launcher, "--allow-run-as-root", "--bind-to", "none", "--map-by", "node"]
        for name, value in settings.items():
            words += ["--mca", name, value]
        return [*words, "--host", ",".join(f"{host}:{slots}" for host in self.hosts[:hosts])]

    def measured_with_open_mpi(self) -> dict[str, str]:
        """Return the variables that make rankwise measure the nodes with the system's Open MPI, set as by `open_mpi`."""
        words = self.open_mpi("", 1)
        settings = zip(words, words[1:], words[2:], strict=False)
        return {
            **{f"OMPI_MCA_{name}": value for option, name, value in settings if option == "--mca"},
            "RANKWISE_MPI": "/usr/bin/mpicxx.openmpi", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        }  # fmt: skip

    def intel_mpi(self, where: Path) -> dict[str, str]:
        """Return the variables that make Intel MPI, installed in a folder, reach the nodes over their links."""
        return {
            "I_MPI_ROOT": str(where), "LD_LIBRARY_PATH": f"{where}/lib", "I_MPI_FABRICS": "shm:ofi", "FI_PROVIDER": "tcp",
            "FI_TCP_IFACE": "eth0", "I_MPI_HYDRA_IFACE": "eth0", "I_MPI_HYDRA_BOOTSTRAP": "ssh",
            "I_MPI_HYDRA_BOOTSTRAP_EXEC": str(self.shell), "I_MPI_PIN": "0", "I_MPI_THREAD_YIELD": "3",
        }  # fmt: skip

    def crossed_bytes(self, host: str) -> int:
        """Return what the host's interface has sent and received so far, by the kernel's own counters."""
        folder = "/sys/class/net/eth0/statistics"
        text = subprocess.run(
            self.command(host, ["cat", f"{folder}/tx_bytes", f"{folder}/rx_bytes"]),
            check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip
        return sum(map(int, text.split()))

    def uplink_bytes(self) -> int:
        """Return what has gone both ways between the two switches."""
        text = subprocess.run(
            ["ip", "-n", self._switch, "-s", "-j", "link", "show", "uplink"], check=True, capture_output=True, text=True
        ).stdout
        counted = json.loads(text)[0]["stats64"]
        return int(counted["rx"]["bytes"]) + int(counted["tx"]["bytes"])


def _do(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)
