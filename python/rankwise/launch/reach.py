"""Whether hosts can be reached: known to the allocation and the resolver before ranks start, and answering while they run.

A host answers when a connection to one of its ports is taken or refused. What a firewall drops from the start on says nothing.
"""

from __future__ import annotations

import errno
import os
import selectors
import shutil
import socket
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

from rankwise.errors import InputError, UnusableEnvironmentError
from rankwise.launch.allocation import Allocation
from rankwise.launch.launchers import ANY_HOST
from rankwise.launch.process import output_of
from rankwise.machine.hosts import distinct, node_name, shortened

_PORTS = (6818, 22)  # Slurm's daemon on a node, ssh
_MOST_HOSTS = 200
_QUIET_S = 3.0  # nothing heard from the ranks for so long: are their nodes there?
_PATIENCE_S = 15.0  # a link that comes back sooner is not given up; RANKWISE_LOST_S says another time
_ATTEMPT_S = 4.0
_OWN_SHELLS = ("HYDRA_LAUNCHER_EXEC", "OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent", "I_MPI_HYDRA_BOOTSTRAP_EXEC")


def require_hosts(hosts: Sequence[str], allocation: Allocation | None) -> None:
    """Raise InputError for a host that the job lacks, UnusableEnvironmentError for one that the resolver does not know."""
    names = [host for host in distinct(hosts) if not host.startswith(ANY_HOST)]
    if allocation is not None:
        own = {node_name(host) for host in allocation.hosts}
        strangers = [host for host in names if node_name(host) not in own]
        if strangers:
            raise InputError(
                f"{shortened(strangers)} is not among the nodes of job {allocation.job_id} ({shortened(allocation.hosts)}): "
                "name some of these, or run outside of the job"
            )
    elif not any(os.environ.get(name) for name in _OWN_SHELLS):
        with ThreadPoolExecutor(32) as pool:
            unknown = [host for host, at in zip(names, pool.map(_address, names), strict=True) if at is None]
        unknown = [host for host in unknown if not _is_alias(host)]
        if unknown:
            raise UnusableEnvironmentError(
                f"cannot reach {shortened(unknown)}, as the name is not known (getent hosts {unknown[0]}): correct --hosts, or "
                "run inside a Slurm allocation that has these nodes"
            )


class Reach:
    """Asks hosts whether they still answer while nothing is heard of their ranks; never waits for them."""

    def __init__(self, hosts: Sequence[str], ports: Sequence[int] = _PORTS, patience_s: float | None = None) -> None:
        me = node_name(socket.gethostname())
        names = [host for host in distinct(hosts) if not host.startswith(ANY_HOST) and node_name(host) != me]
        self._at = {host: at for host in names[:_MOST_HOSTS] if (at := _address(host)) is not None}
        self._ports = ports
        self._patience_s = seconds_of("RANKWISE_LOST_S", _PATIENCE_S) if patience_s is None else patience_s
        self._asked: dict[socket.socket, tuple[str, float]] = {}
        self._heard_s: dict[str, float] = {}
        self._asking_since_s: float | None = None
        self._links = _links_up()
        self._selector = selectors.DefaultSelector()

    def __enter__(self) -> Reach:
        return self

    def __exit__(self, *exception: object) -> None:
        for asked in list(self._asked):
            self._drop(asked)
        self._selector.close()

    def lost(self, quiet_s: float) -> str:
        """Take one look, to be called about every second; say which node has not answered for long, empty when all do.

        ``quiet_s`` is for how long nothing was heard of the ranks.
        """
        now_s = time.monotonic()
        self._listen(now_s)
        is_quiet = quiet_s >= _QUIET_S
        if is_quiet or len(self._heard_s) < len(self._at):
            self._ask(now_s)
        if not is_quiet:
            self._asking_since_s = None
            return ""
        self._asking_since_s = self._asking_since_s or now_s
        silent_s = {host: now_s - max(heard_s, self._asking_since_s) for host, heard_s in self._heard_s.items()}
        lost = [host for host, seconds in silent_s.items() if seconds > self._patience_s]
        if not lost:
            return ""
        down = sorted(self._links - _links_up())
        here = socket.gethostname()
        seconds = max(silent_s.values())
        if down:
            return f"the link {down[0]} of this node, {here}, is down"
        if len(lost) == len(self._heard_s) > 1:
            return f"this node, {here}, has heard of no other for {seconds:.0f} s ({shortened(lost)}): its link is down"
        return f"{shortened(lost)} has not answered {here} for {seconds:.0f} s: its link is down, or the node is dead"

    def _ask(self, now_s: float) -> None:
        waiting = {host for host, _ in self._asked.values()}
        for host, (family, address) in self._at.items():
            for port in () if host in waiting else self._ports:
                try:
                    asked = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
                except OSError:
                    return  # no more files: nobody is judged by that
                self._asked[asked] = host, now_s
                code = asked.connect_ex((address, port))
                if code == errno.EINPROGRESS:
                    self._selector.register(asked, selectors.EVENT_WRITE)
                else:
                    self._take(asked, code, now_s)

    def _listen(self, now_s: float) -> None:
        for key, _ in self._selector.select(timeout=0):
            asked = key.fileobj
            assert isinstance(asked, socket.socket)
            self._take(asked, asked.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), now_s)
        for asked, (_, since_s) in list(self._asked.items()):
            if now_s - since_s > _ATTEMPT_S:
                self._drop(asked)

    def _take(self, asked: socket.socket, code: int, now_s: float) -> None:
        if code in (0, errno.ECONNREFUSED):
            self._heard_s[self._asked[asked][0]] = now_s
        self._drop(asked)

    def _drop(self, asked: socket.socket) -> None:
        if asked in self._selector.get_map():
            self._selector.unregister(asked)
        del self._asked[asked]
        asked.close()


def seconds_of(variable: str, default_s: float) -> float:
    """Return the seconds that a variable holds. Raises InputError."""
    text = os.environ.get(variable)
    try:
        seconds = default_s if text is None else float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise InputError(f"{variable} is '{text}': set it to seconds above 0, or unset it")
    return seconds


@lru_cache(maxsize=4096)
def _address(host: str) -> tuple[socket.AddressFamily, str] | None:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        return None
    return family, str(address[0])


def _is_alias(host: str) -> bool:
    """Tell whether the user's ssh has another name for a host."""
    if shutil.which("ssh") is None:
        return False
    words = dict(line.split(" ", 1) for line in output_of(["ssh", "-G", host])[1].splitlines() if " " in line)
    return words.get("hostname", host).lower() != host.lower() or words.get("proxycommand", "none") != "none"


def _links_up(root: Path = Path("/sys/class/net")) -> set[str]:
    """Return this node's network interfaces that are up."""
    found = set()
    for state in root.glob("*/operstate"):
        try:
            if state.read_text().strip() == "up":
                found.add(state.parent.name)
        except OSError:
            continue
    return found
