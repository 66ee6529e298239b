"""Text of /proc files -> values. Every function takes what it can and leaves out what it cannot read."""

from typing import NamedTuple

_SHARED = ("nfs", "nfs4", "lustre", "gpfs", "beegfs", "ceph", "wekafs", "cifs", "smb3", "panfs", "fuse.glusterfs")
_MAY_HANG = (*_SHARED, "fuse.", "9p", "afs")
_COMMAND_MAX = 15  # the kernel cuts a command name to TASK_COMM_LEN - 1


class Mount(NamedTuple):
    path: str
    kind: str
    read_only: bool
    device: str

    @property
    def may_hang(self) -> bool:
        """A file system served by another machine or process: never asked from our own thread."""
        return self.kind.startswith(_MAY_HANG)


class Process(NamedTuple):
    pid: int
    command: str
    state: str  # R, S, D, Z, ...
    threads: int
    started: int  # clock ticks after boot: tells a reused pid from the old process
    cpu_ticks: int  # user and system time; unchanged means it has not run

    @property
    def stuck(self) -> bool:
        """Waiting inside the kernel: itself, or threads that keep an already dead leader from going away."""
        return self.state == "D" or (self.state == "Z" and self.threads > 1)


def mounts(text: str) -> dict[str, Mount]:
    """/proc/mounts by path; a later line covers an earlier one on the same path."""
    found = {}
    for line in text.splitlines():
        fields = line.split(" ")
        if len(fields) >= 4:
            path = _unescape(fields[1])
            found[path] = Mount(path, fields[2], "ro" in fields[3].split(","), fields[0])
    return found


def mount_of(path: str, table: dict[str, Mount]) -> Mount | None:
    """The mount a path lies on: the longest mounted parent."""
    parts = path.rstrip("/").split("/")
    for length in range(len(parts), 0, -1):
        if found := table.get("/".join(parts[:length]) or "/"):
            return found
    return None


def shared(table: dict[str, Mount]) -> list[str]:
    """Where shared file systems are mounted: once each, at the shortest path (containers mount them many times)."""
    by_device: dict[str, str] = {}
    for mount in table.values():
        if mount.kind in _SHARED:
            by_device[mount.device] = min(by_device.get(mount.device, mount.path), mount.path, key=len)
    return sorted(by_device.values())


def _unescape(field: str) -> str:
    """Blank, tab, newline and backslash are written in octal."""
    for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        field = field.replace(code, char)
    return field


def process(text: str) -> Process | None:
    """/proc/PID/stat. The command is in parentheses and may hold blanks and parentheses itself."""
    head, bracket, tail = text.rpartition(")")
    pid, opened, command = head.partition("(")
    fields = tail.split()
    if not bracket or not opened or len(fields) < 20:
        return None
    try:
        ticks = int(fields[11]) + int(fields[12])
        return Process(int(pid), command, fields[0], int(fields[17]), int(fields[19]), ticks)
    except ValueError:
        return None


def same_command(comm: str, name: str) -> bool:
    """Whether a (cut) command name is this program's."""
    return comm.strip() == name[:_COMMAND_MAX]


def context_switches(status: str) -> int:
    """How often a process gave way, from /proc/PID/status: a process that does not move does not switch."""
    found = 0
    for line in status.splitlines():
        key, _, value = line.partition(":")
        if key.endswith("_ctxt_switches") and value.strip().isdecimal():
            found += int(value)
    return found


def meminfo(text: str) -> dict[str, float]:
    """/proc/meminfo in bytes."""
    found = {}
    for line in text.splitlines():
        key, _, rest = line.partition(":")
        fields = rest.split()
        if fields and fields[0].isascii() and fields[0].isdigit():
            found[key] = float(fields[0]) * (1024.0 if fields[1:] == ["kB"] else 1.0)
    return found


def first_number(text: str) -> float | None:
    """The first field of /proc/loadavg or /proc/uptime, or a sysfs counter."""
    fields = text.split(maxsplit=1)
    try:
        return float(fields[0]) if fields else None
    except ValueError:
        return None


def modules(text: str) -> set[str]:
    """Names in /proc/modules."""
    return {line.split(" ", 1)[0] for line in text.splitlines()}


def nvidia_driver_is_open(version_text: str) -> bool:
    """/proc/driver/nvidia/version names the open kernel module in its first line."""
    return "open kernel module" in version_text.partition("\n")[0].lower()


def kernel_release(text: str) -> tuple[int, int]:
    """(5, 15) from '5.15.0-89-generic'; (0, 0) when it cannot be told."""
    parts = text.strip().split(".")
    try:
        return int(parts[0]), int(parts[1].split("-", 1)[0])
    except (IndexError, ValueError):
        return 0, 0
