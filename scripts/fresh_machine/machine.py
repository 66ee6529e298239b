"""A root directory in which commands run: with systemd-nspawn or, if that does not work, with chroot in namespaces.

Either has a mount namespace of its own, so what is bound into it is not mounted here and cannot be removed through it.
"""

import json
import os
import shlex
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

SEARCHED = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# /tmp on the disk, as on a fresh machine, and network namespace settings that tests may write.
COMMAND_SETTINGS = {"SYSTEMD_NSPAWN_TMPFS_TMP": "0", "SYSTEMD_NSPAWN_API_VFS_WRITABLE": "network"}
NSPAWN = ("systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--timezone=off", "--hostname=fresh")
NSPAWN_NOISE = ("Attempted to remove disk file system under", "Failed to remove disk")
CHROOT = """
set -e
tree=$1; shift
mount --rbind /sys "$tree/sys"; mount --rbind /dev "$tree/dev"; mount -t proc proc "$tree/proc"
mount -t tmpfs tmpfs "$tree/run"; cp -L /etc/resolv.conf "$tree/etc/resolv.conf"
while [ "$1" != -- ]; do
    mkdir -p "$tree$2"; mount --bind "$1" "$tree$2"; mount -o remount,bind,ro "$tree$2"; shift 2
done
shift
exec chroot "$tree" "$@"
"""
OnLine = Callable[[str], None]
STARTED = time.monotonic()


def say(text: str) -> None:
    print(f"[{time.monotonic() - STARTED:7.1f} s] {text}", flush=True)


@dataclass(frozen=True, slots=True)
class Machine:
    tree: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    bound: Mapping[str, str] = field(default_factory=dict)  # path there -> path here, read-only
    nspawn: bool = True

    def copy(self, tree: Path) -> "Machine":
        """Another that starts where this one stands."""
        if tree.exists():
            remove(tree)
        subprocess.run(["cp", "-a", "--reflink=auto", str(self.tree), str(tree)], check=True)
        return Machine(tree, self.environment, self.bound, self.nspawn)

    def run(self, command: str, on_line: OnLine, *, timeout: float, **extra: str) -> int:
        """A shell command as root in it, on this machine's network; its lines arrive as they come."""
        environment = {"PATH": SEARCHED, "HOME": "/root", "LANG": "C.UTF-8", **self.environment, **extra}
        variables = [f"{name}={value}" for name, value in environment.items()]
        inside = ["env", "-i", *variables, "sh", "-c", command]
        if not self.nspawn:
            pairs = [word for there, here in self.bound.items() for word in (here, there)]
            unshare = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", CHROOT, "sh"]
            return stream([*unshare, str(self.tree), *pairs, "--", *inside], on_line, timeout)
        binds = [f"--bind-ro={here}:{there}" for there, here in self.bound.items()]
        how = ("--as-pid2", "--pipe", "--resolv-conf=bind-host", "--capability=all", *binds, "-D", str(self.tree))
        return stream([*NSPAWN, *how, *inside], on_line, timeout, COMMAND_SETTINGS)

    def boot(self, on_line: OnLine, *, timeout: float) -> int:
        """Its systemd, on a network of its own, until it powers off."""
        how = ("--boot", "--private-network", "--console=pipe", "-D", str(self.tree))
        return stream([*NSPAWN, *how], on_line, timeout)

    def must(self, command: str, what: str, *, timeout: float = 900, **extra: str) -> str:
        lines: list[str] = []
        code = self.run(command, lines.append, timeout=timeout, **extra)
        if code != 0:
            raise StepFailed(f"{what} ended with {code}: " + "\n".join(lines[-15:]))
        return "\n".join(lines)


class StepFailed(Exception):
    """A step could not be carried out; the text says which and what was said."""


def stream(command: Sequence[str], on_line: OnLine, timeout: float, settings: Mapping[str, str] | None = None) -> int:
    """Runs it, tells each line, and ends it when its time is over."""
    environment = {**os.environ, **(settings or {})}
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
    ) as process:
        overdue = threading.Timer(timeout, process.kill)
        overdue.start()
        try:
            assert process.stdout is not None
            for raw in process.stdout:
                line = raw.decode(errors="replace").rstrip()
                if not line.startswith(NSPAWN_NOISE):
                    on_line(line)
            return process.wait()
        finally:
            overdue.cancel()
            process.kill()


def works(tree: Path) -> bool:
    """Whether systemd-nspawn can run something here at all."""
    if shutil.which("systemd-nspawn") is None:
        return False
    return stream([*NSPAWN, "--as-pid2", "--pipe", "-D", str(tree), "true"], lambda line: None, 60) == 0


def mounts_below(folder: Path) -> list[str]:
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    points = [line.split()[4].encode().decode("unicode_escape") for line in lines]
    return sorted((point for point in points if Path(point).is_relative_to(folder.resolve())), reverse=True)


def remove(folder: Path) -> None:
    """Takes a tree away, but never what is mounted in it."""
    for point in mounts_below(folder):
        subprocess.run(["umount", point], check=False)
    left = mounts_below(folder)
    if left:
        say(f"{folder} is left: {left[0]} is still mounted there")
        return
    subprocess.run(["rm", "-rf", "--one-file-system", "--", str(folder)], check=True)


@contextmanager
def log(path: Path, prefix: str, shown: Callable[[str], bool] = lambda line: True) -> Iterator[OnLine]:
    """Every line into a file; those that a reader wants, with the time, to standard output."""
    with path.open("w") as file:

        def on_line(line: str) -> None:
            file.write(line + "\n")
            file.flush()
            if shown(line):
                say(f"{prefix}: {line}")

        yield on_line


def quoted(*words: str) -> str:
    return shlex.join(words)


def as_json(value: object) -> str:
    return json.dumps(value, indent=1, sort_keys=False) + "\n"
