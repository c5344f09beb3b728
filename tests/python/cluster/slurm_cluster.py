"""A real Slurm on nodes in namespaces: a login node with the controller, compute nodes with a daemon each, started from
nothing.

Needs root, slurm-wlm, munge and what nodes.py needs. All daemons run in the foreground as children of this process and
end with it.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import nodes
from nodes import Nodes

_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
_LOGIN = "login"
CORES = 4  # that each node pretends to have
_libc = ctypes.CDLL(None)


@cache
def why_not() -> str | None:
    """Return why there can be no Slurm here, or None."""
    for tool in ("slurmctld", "slurmd", "munged", "srun"):
        if shutil.which(tool, path=_PATH) is None:
            return f"no {tool} here (Debian: apt-get install slurm-wlm munge)"
    return nodes.why_not()


class Slurm:
    """A cluster, up while the context lasts. Commands run on its login node."""

    def __init__(
        self, count: int = 4, rate: str | None = None, second_switch: Sequence[str] = (), uplink: str | None = None
    ) -> None:
        """``second_switch`` and ``uplink``: as for Nodes; Slurm knows of both switches then."""
        names = (*(f"n{i}" for i in range(1, count + 1)), _LOGIN)
        self.nodes = Nodes(rate, names, second_switch=second_switch, uplink=uplink)
        self._second = second_switch
        *hosts, self.login = self.nodes.hosts
        self.hosts = tuple(hosts)
        self._daemons: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Slurm:
        self.nodes.__enter__()
        self.folder = self.nodes.state / "slurm"
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        for daemon in reversed(self._daemons):
            daemon.terminate()
        for daemon in self._daemons:
            try:
                daemon.wait(timeout=3)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self.nodes.__exit__()

    def _start(self) -> None:
        for name in ("state", "log", "munge"):
            (self.folder / name).mkdir(parents=True)
        key = self.folder / "munge" / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        (self.folder / "munge").chmod(0o711)
        self._daemon(
            ["munged", "-F", f"--key-file={key}", f"--socket={self._socket}", f"--pid-file={self.folder}/munge/pid",
             f"--log-file={self.folder}/munge/log", f"--seed-file={self.folder}/munge/seed", "--num-threads=2"],
        )  # fmt: skip
        self.until("munged answers", lambda: self._socket.exists())
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")  # or slurmd insists on a cgroup file system
        self._conf.write_text(self._configuration())
        if self._second:
            leaves = [[host for host in self.hosts if host.endswith(tuple(self._second)) is second] for second in (False, True)]
            lines = [f"SwitchName=leaf{number} Nodes={','.join(leaf)}" for number, leaf in enumerate(leaves)]
            (self.folder / "topology.conf").write_text("\n".join([*lines, "SwitchName=top Switches=leaf[0-1]", ""]))
        self._daemon(self.nodes.command(self.login, ["slurmctld", "-D"]))
        for host in self.hosts:
            for name in ("spool", "tmp"):
                (self.folder / f"{name}.{host}").mkdir()
            self.boot(host)
        self.until("all nodes are idle", lambda: self.output("sinfo", "-h", "-t", "idle", "-o", "%D") == str(len(self.hosts)))

    @property
    def _socket(self) -> Path:
        return self.folder / "munge" / "socket"

    @property
    def _conf(self) -> Path:
        return self.folder / "slurm.conf"

    def _configuration(self) -> str:
        folder = self.folder
        compute = "\n".join(
            f"NodeName={host} NodeAddr={self.nodes.address(host)} Sockets=1 CoresPerSocket={CORES} ThreadsPerCore=1 "
            "RealMemory=2000 State=UNKNOWN"
            for host in self.hosts
        )
        return f"""ClusterName=rankwise
SlurmctldHost={self.login}({self.nodes.address(self.login)})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={self._socket},cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
TmpFS={folder}/tmp.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
{"TopologyPlugin=topology/tree" if self._second else ""}
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=1,sched_min_interval=0,batch_sched_delay=0
ReturnToService=2
SlurmdTimeout=10
SlurmctldTimeout=30
InactiveLimit=0
MinJobAge=300
KillWait=5
Waittime=0
JobRequeue=1
EnforcePartLimits=ALL
SlurmdParameters=config_overrides
MailProg=/bin/true
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/log/jobcomp.txt
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=5
{compute}
PartitionName=main Nodes=ALL Default=YES MaxTime=60 State=UP OverSubscribe=NO
PartitionName=lva Nodes=ALL MaxTime=60 State=UP OverSubscribe=NO
PartitionName=short Nodes=ALL MaxTime=1 MaxNodes=2 State=UP OverSubscribe=NO
"""

    def silent_conf(self) -> Path:
        """Return a configuration whose controller is a node where none runs."""
        path = self.folder / "silent.conf"
        controller = f"SlurmctldHost={self.login}({self.nodes.address(self.login)})"
        elsewhere = f"SlurmctldHost={self.hosts[0]}({self.nodes.address(self.hosts[0])})"
        path.write_text(self._configuration().replace(controller, elsewhere) + "MessageTimeout=2\n")
        return path

    def _daemon(self, command: Sequence[str]) -> None:
        def die_with_parent() -> None:
            _libc.prctl(1, signal.SIGTERM)

        with (self.folder / "log" / "daemons").open("ab") as log:
            self._daemons.append(
                subprocess.Popen(
                    command, env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log,
                    start_new_session=True, preexec_fn=die_with_parent,
                )
            )  # fmt: skip

    def until(self, what: str, holds: Callable[[], bool], seconds: float = 60.0) -> None:
        """Wait until something holds; what Slurm's logs say when it does not."""
        until = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > until:
                logs = [path.read_text(errors="replace")[-2000:] for path in sorted((self.folder / "log").iterdir())]
                raise RuntimeError(f"not in {seconds:.0f} s: {what}\n" + "\n".join(logs))
            time.sleep(0.1)

    def environment(self) -> dict[str, str]:
        """Return the environment of a login."""
        own = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
        return {**own, **nodes.YIELDING, "SLURM_CONF": str(self._conf), "PATH": _PATH}

    def run(
        self, *words: str, cwd: Path | None = None, extra: Mapping[str, str] | None = None, timeout_s: float = 120.0
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on the login node."""
        return subprocess.run(
            self.nodes.command(self.login, words), cwd=cwd, env={**self.environment(), **(extra or {})},
            capture_output=True, text=True, timeout=timeout_s, check=False,
        )  # fmt: skip

    def output(self, *words: str) -> str:
        return self.run(*words).stdout.strip()

    def kill(self, host: str) -> None:
        """Cut a node's power; Slurm is told at once rather than after its own time-out."""
        self.nodes.kill_all(host)
        self.run("scontrol", "update", f"node={host}", "state=down", "reason=power")

    def link(self, host: str, state: str) -> None:
        """Take a node's link down, or up again."""
        subprocess.run(["ip", "-n", host, "link", "set", "eth0", state], check=True)

    def boot(self, host: str) -> None:
        """Start a node's daemon."""
        self._daemon(self.nodes.command(host, ["slurmd", "-D", "-b", "-N", host]))

    def wait_idle(self) -> None:
        """Cancel every job and wait until all nodes are free."""
        self.run("scancel", "--full", "--signal=KILL", "-u", "root")
        self.run("scancel", "-u", "root")
        for host in self.hosts:
            self.run("scontrol", "update", f"node={host}", "state=resume")
        self.until(
            "all nodes are idle",
            lambda: self.output("sinfo", "-h", "-p", "main", "-t", "idle", "-o", "%D") == str(len(self.hosts)),
        )

    def wait_state(self, job: str, *states: str, seconds: float = 60.0) -> None:
        """Wait until a job is in one of some states (RUNNING, PENDING, ...)."""
        self.until(f"job {job} is {states}", lambda: self.state(job) in states, seconds)

    def state(self, job: str) -> str:
        text = self.output("scontrol", "show", "job", "-o", job)
        return next((word.partition("=")[2] for word in text.split() if word.startswith("JobState=")), "")
