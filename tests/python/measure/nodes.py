"""Nodes on one machine: network, host name and IPC namespaces of their own, joined by cables of a known rate.

MPI finds hosts that share no memory; what they say to each other crosses veth pairs whose ends the kernel shapes (HTB)
and counts: one cable between two nodes, or one from each of more nodes to a switch, which is a bridge in a namespace of
its own. Needs root, ip, tc, nsenter and unshare; everything is gone when the context is left.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

TOOLS = ("ip", "tc", "nsenter", "unshare", "mount", "umount")
# Frames of 9000 B, never sent in batches: headers are 0.7 % of what crosses, and the one frame that the shaper lets pass at
# once after a pause is 1 % of a message of 1 MB. The payload's rate is the link's to within a percent.
_MTU = 9000
_BURST = "9kb"


def why_not() -> str | None:
    """Return why there can be no nodes here, or None."""
    if os.geteuid() != 0:
        return "making network namespaces needs root"
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return f"no {missing[0]} here (Debian: apt-get install iproute2 util-linux)"
    try:
        with Nodes("1gbit"):
            return None
    except subprocess.CalledProcessError as error:
        return f"the kernel refuses: {' '.join(error.cmd)}: {error.stderr.strip()}"


class Nodes:
    """Nodes, ``hosts``; ``command`` runs something on one of them, ``shell`` is a stand-in for ssh to them."""

    def __init__(self, rate: str, count: int = 2) -> None:
        """``rate`` is tc's: 100mbit, 1gbit; of each direction of each cable. ``count``: 2 or more nodes."""
        self.rate = rate
        self.hosts = tuple(f"rw{os.getpid()}n{i}" for i in range(1, count + 1))
        self._switch = f"rw{os.getpid()}sw"

    def __enter__(self) -> Nodes:
        self._folder = tempfile.TemporaryDirectory(prefix="rankwise-nodes-")
        self._state = Path(self._folder.name)
        try:
            self._make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _make(self) -> None:
        # Handles of namespaces are mounts, and must not travel to other mount namespaces.
        _do("mount", "-t", "tmpfs", "none", str(self._state))
        _do("mount", "--make-private", str(self._state))
        names = "".join(f"10.91.7.{i} {host}\n" for i, host in enumerate(self.hosts, start=1))
        (self._state / "hosts").write_text(f"127.0.0.1 localhost\n{names}")
        for host in self.hosts:
            _do("ip", "netns", "add", host)
            for kind in ("uts", "ipc"):
                (self._state / f"{host}.{kind}").touch()
            (self._state / f"{host}.shm").mkdir()
            _do("unshare", f"--uts={self._state}/{host}.uts", f"--ipc={self._state}/{host}.ipc", "hostname", host)
        if len(self.hosts) == 2:
            first, second = self.hosts
            _do("ip", "-n", first, "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", second)
        else:
            self._make_switch()
        for i, host in enumerate(self.hosts, start=1):
            _do("ip", "-n", host, "addr", "add", f"10.91.7.{i}/24", "dev", "eth0")
            _do("ip", "-n", host, "link", "set", "lo", "up")
            self._shape(host, "eth0")
        # What a launcher calls as ssh: the options it gives are not for us, its words are one command for a shell.
        self.shell.write_text(
            "#!/bin/sh\n"
            "while :; do case $1 in -x|-q|-n) shift;; -*) shift 2;; *) break;; esac; done\n"
            f"host=$1; shift; state={self._state}\n"
            'exec nsenter --net=/run/netns/$host --uts=$state/$host.uts --ipc=$state/$host.ipc --wd="$PWD" '
            "unshare -m /bin/sh -c 'mount -t sysfs none /sys && mount --bind $1/hosts /etc/hosts && "
            'mount --bind $1/$2.shm /dev/shm && exec /bin/sh -c "$3"\' sh $state $host "$*"\n'
        )
        self.shell.chmod(0o755)

    def _make_switch(self) -> None:
        _do("ip", "netns", "add", self._switch)
        _do("ip", "-n", self._switch, "link", "add", "br0", "type", "bridge")
        _do("ip", "-n", self._switch, "link", "set", "br0", "mtu", str(_MTU), "up")
        for i, host in enumerate(self.hosts, start=1):
            port = f"p{i}"
            _do("ip", "-n", self._switch, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", host)
            self._shape(self._switch, port)
            _do("ip", "-n", self._switch, "link", "set", port, "master", "br0")

    def _shape(self, namespace: str, device: str) -> None:
        """Bring a device up that sends at the rate."""
        _do("ip", "-n", namespace, "link", "set", device, "mtu", str(_MTU), "gso_max_size", str(_MTU), "gso_max_segs", "1")
        _do("ip", "-n", namespace, "link", "set", device, "up")
        _do("tc", "-n", namespace, "qdisc", "add", "dev", device, "root", "handle", "1:", "htb", "default", "1")
        _do("tc", "-n", namespace, "class", "add", "dev", device, "parent", "1:", "classid", "1:1", "htb",
            "rate", self.rate, "burst", _BURST, "cburst", _BURST)  # fmt: skip

    @property
    def shell(self) -> Path:
        return self._state / "shell"

    def __exit__(self, *exception: object) -> None:
        subprocess.run(["ip", "netns", "del", self._switch], capture_output=True, check=False)
        for host in self.hosts:
            subprocess.run(["ip", "netns", "del", host], capture_output=True, check=False)
            for kind in ("uts", "ipc"):
                subprocess.run(["umount", f"{self._state}/{host}.{kind}"], capture_output=True, check=False)
        subprocess.run(["umount", str(self._state)], capture_output=True, check=False)
        self._folder.cleanup()

    def command(self, host: str, words: Sequence[str]) -> list[str]:
        """Return the command that runs words on a host."""
        return [str(self.shell), host, *words]

    def environment(self) -> dict[str, str]:
        """Return what makes MPICH's launcher reach the nodes; some versions of UCX would try the loopback device."""
        return {**os.environ, "HYDRA_LAUNCHER": "ssh", "HYDRA_LAUNCHER_EXEC": str(self.shell), "UCX_NET_DEVICES": "eth0"}

    def crossed_bytes(self, host: str) -> int:
        """Return what the host's interface has sent and received so far, by the kernel's own counters."""
        folder = "/sys/class/net/eth0/statistics"
        text = subprocess.run(
            self.command(host, ["cat", f"{folder}/tx_bytes", f"{folder}/rx_bytes"]),
            check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip
        return sum(map(int, text.split()))


def _do(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)
