"""What a fleet bench stands on: a real controller process, its store, certificates, a load generator, and a watch."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from measure import HOLDFAST, PYTHON, cpu_seconds

HERE = Path(__file__).parent
SERVER = HERE.parent / "scripts" / "throwaway_postgres.py"
# The failures of the bench are not a storm, and no drain waits for a shared cause: the time to the drain is measured.
# So many nodes fail at random that most have another behind their loop, and would wait 60 s for more of them.
POLICY = """dry_run = false
breaker_share = 0.5
breaker_nodes = 100000
shared_first_seconds = 0
shared_wait_seconds = 0
"""


@contextmanager
def talking(*command: str, log: Path | None = None) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process and the first line it says; ended, by its id, when the block is left."""
    errors = log.open("w") if log else None
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True)
    assert process.stdin is not None and process.stdout is not None
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def store(engine: str, folder: Path) -> Iterator[tuple[str, int]]:
    """Its URL, and the process that serves it (0 for a file)."""
    if engine == "sqlite":
        yield f"sqlite:///{folder}/holdfast.db", 0
        return
    with talking(PYTHON, str(SERVER)) as (process, url):
        if not url:
            raise SystemExit("no PostgreSQL server could be started")
        yield url, process.pid


def certificate(folder: Path) -> tuple[str, str]:
    """P-256, as most certificate authorities give out today."""
    made = (str(folder / "tls.pem"), str(folder / "tls.key"))
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*command, "-out", made[0], "-keyout", made[1]], check=True, capture_output=True)
    return made


def configure(folder: Path, url: str, tls: tuple[str, str], hook_port: int, listen: str = "127.0.0.1:0") -> Path:
    (folder / "policy.toml").write_text(POLICY)
    secured = f'certificate = "{tls[0]}"\nkey = "{tls[1]}"\n' if tls[0] else ""
    config = folder / "controller.toml"
    config.write_text(  # all agents come from one address
        f'store = "{url}"\nlisten = "{listen}"\nnew_nodes_per_hour = 0\nconnections_per_address = 16000\n'
        f'policy = "{folder}/policy.toml"\n{secured}'
        f'admin_token_file = "{folder}/admin.token"\n[actions]\ndrain = "webhook.bench"\n'
        f'[webhook.bench]\nurl = "http://127.0.0.1:{hook_port}/"\nverbs = ["drain"]\n'
    )
    return config


def controller(config: Path) -> Any:
    return talking(HOLDFAST, "controller", "--config", str(config), log=config.with_suffix(".log"))


class Load:
    """The load generator, spoken to over its standard input."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.pid = process.pid

    def ask(self, do: str, **result: Any) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": do, **result}) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(f"the load generator ended while it should {do}")
        answered: dict[str, Any] = json.loads(answer)
        return answered


@contextmanager
def load() -> Iterator[Load]:
    command = [PYTHON, str(HERE / "fleet_load.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Load(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.terminate()


class Watch:
    """CPU seconds of processes, each with its children, while the block runs."""

    def __init__(self, **pids: int) -> None:
        self._pids = {name: pid for name, pid in pids.items() if pid}
        self.cpu: dict[str, float] = {}

    def __enter__(self) -> "Watch":
        self.cpu = self._cpu()
        return self

    def __exit__(self, *_: object) -> None:
        self.cpu = {name: spent - self.cpu[name] for name, spent in self._cpu().items()}

    def _cpu(self) -> dict[str, float]:
        return {name: family_cpu_seconds(pid) for name, pid in self._pids.items()}


def family_cpu_seconds(pid: int) -> float:
    """Of a process, of the children it has and of those it had; one that ends meanwhile is among these next time."""
    try:
        ended = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[13:15]
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        own = cpu_seconds(pid)
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    ticks = sum(int(word) for word in ended) / os.sysconf("SC_CLK_TCK")
    return own + ticks + sum(family_cpu_seconds(int(child)) for child in children)


def peak_bytes(pid: int) -> int:
    """The most memory it ever held, since it started."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024
