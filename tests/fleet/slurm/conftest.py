"""A real Slurm cluster for a test module: its own munge, one slurmctld, several slurmd, all on loopback and in a
temporary directory; nothing of a Slurm or munge that lives on this machine is touched."""

import getpass
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.ports import free_ports
from tests.waiting import until

SBIN = "/usr/sbin:/sbin"
NEEDED = ("munged", "slurmctld", "slurmd", "scontrol", "sinfo", "sbatch")
CONF = """\
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={port}
AuthType=auth/munge
AuthInfo=socket={root}/munge.sock
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool.%n
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/slurmd.%n.pid
SlurmctldLogFile={root}/slurmctld.log
SlurmdLogFile={root}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobRequeue=1
ReturnToService=2
SlurmdTimeout=20
SlurmdParameters=config_overrides
KillWait=1
MailProg=/bin/true
"""
NODE = "NodeName={name} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} CPUs=2 RealMemory=1000\n"


@dataclass
class Slurm:
    """A running cluster. `nodes` are its node names; every command goes to this cluster alone."""

    root: Path
    nodes: tuple[str, ...]
    daemons: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def environ(self) -> dict[str, str]:
        return {**os.environ, "SLURM_CONF": str(self.root / "slurm.conf"), "PATH": f"{os.environ['PATH']}:{SBIN}"}

    def run(self, *command: str) -> str:
        done = subprocess.run(command, env=self.environ, capture_output=True, text=True, timeout=30)
        assert done.returncode == 0, f"{command}: {done.stderr or done.stdout}"
        return done.stdout.strip()

    def state(self, node: str) -> str:
        """As sinfo abbreviates it; with a star where slurmd does not answer, and no job starts there."""
        return self.run("sinfo", "-h", "-n", node, "-o", "%t")

    def reason(self, node: str) -> str:
        return self.run("sinfo", "-h", "-n", node, "-o", "%E")

    def update(self, node: str, state: str, reason: str = "") -> None:
        why = (f"reason={reason}",) if reason else ()
        self.run("scontrol", "update", f"nodename={node}", f"state={state}", *why)

    def submit(self, node: str, script: str, *options: str) -> str:
        """A batch job for one node; its output and its id."""
        where = str(self.root / "out.%j")
        return self.run("sbatch", "--parsable", "-o", where, "-w", node, *options, "--wrap", script)

    def job(self, job: str) -> str:
        """A job's state, such as PENDING or COMPLETED."""
        shown = self.run("scontrol", "show", "job", job)
        return shown.split("JobState=", 1)[1].split()[0]

    def clear(self) -> None:
        """Nothing queued or running, every node idle: as a test should find it."""
        self.run("scancel", "-u", getpass.getuser())
        self.eventually(lambda: self.run("squeue", "-h") == "")
        for node in self.nodes:
            if self.state(node).startswith(("dr", "down")):
                self.update(node, "resume")
        self.eventually(lambda: all(self.state(node) == "idle" for node in self.nodes))

    def eventually(self, true: Callable[[], object], within: float = 60.0) -> None:
        """Wait for what Slurm does in its own time; fail with the daemons' last words if it does not."""
        until(true, self.last_words, within)

    def last_words(self) -> str:
        """What Slurm shows, and the end of each log."""
        shown = [self.run("sinfo", "-o", "%N %t %E"), self.run("squeue", "-o", "%i %T %S %r %N")]
        logs = {log.name: log.read_text().splitlines()[-15:] for log in sorted(self.root.glob("*.log"))}
        return "\n".join(shown + [line for name, lines in logs.items() for line in (f"--- {name}", *lines)])

    def start(self, *command: str) -> None:
        log = (self.root / f"{command[0]}.out").open("ab")
        binary = shutil.which(command[0], path=self.environ["PATH"])
        assert binary is not None
        self.daemons.append(
            subprocess.Popen([binary, *command[1:]], env=self.environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        )

    def stop(self) -> None:
        subprocess.run(["scancel", "-u", getpass.getuser()], env=self.environ, capture_output=True, timeout=30)
        for daemon in reversed(self.daemons):
            daemon.send_signal(signal.SIGTERM)
        for daemon in reversed(self.daemons):
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


def boot(root: Path, nodes: int, extra: str) -> Slurm:
    """Start a cluster in `root` with `extra` lines of slurm.conf (with {root}), and wait until all nodes are idle."""
    port, *node_ports = free_ports(nodes + 1)
    names = tuple(f"node{i}" for i in range(1, nodes + 1))
    conf = (CONF + extra).format(user=getpass.getuser(), port=port, root=root)
    conf += "".join(NODE.format(name=name, port=p) for name, p in zip(names, node_ports, strict=True))
    conf += f"PartitionName=all Nodes={','.join(names)} Default=YES MaxTime=INFINITE State=UP\n"
    (root / "slurm.conf").write_text(conf)
    (root / "state").mkdir()
    key = root / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    cluster = Slurm(root, names)
    try:
        files = {"key-file": key, "socket": root / "munge.sock", "seed-file": root / "munge.seed"}
        files |= {"pid-file": root / "munge.pid", "log-file": root / "munge.log"}
        cluster.start("munged", "--foreground", "--force", *(f"--{name}={path}" for name, path in files.items()))
        cluster.eventually(lambda: (root / "munge.sock").exists())
        cluster.start("slurmctld", "-D", "-c")
        for name in names:
            cluster.start("slurmd", "-D", "-N", name)
        cluster.eventually(lambda: all(cluster.state(name) == "idle" for name in names))
    except BaseException:
        cluster.stop()
        raise
    return cluster


@pytest.fixture(scope="session")
def slurm_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Slurm]]:
    """Makes clusters: `slurm_cluster(nodes=4, extra="Prolog={root}/prolog\\n", prepare=write_prolog)`, where
    `prepare(root)` puts files there before Slurm starts; all are stopped when the session ends."""
    path = f"{os.environ['PATH']}:{SBIN}"
    missing = [name for name in NEEDED if shutil.which(name, path=path) is None]
    if missing:
        pytest.skip(f"no {', '.join(missing)} here; scripts/system-packages installs Slurm")
    running: list[Slurm] = []

    def make(nodes: int = 4, extra: str = "", prepare: Callable[[Path], None] = lambda root: None) -> Slurm:
        root = tmp_path_factory.mktemp("slurm")
        prepare(root)
        running.append(boot(root, nodes, extra))
        return running[-1]

    yield make
    for cluster in running:
        cluster.stop()
