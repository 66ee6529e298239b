"""Parsers of /proc files. Each returns the fields it can read and leaves out the rest."""

from typing import NamedTuple

_SHARED = ("nfs", "nfs4", "lustre", "gpfs", "beegfs", "ceph", "wekafs", "cifs", "smb3", "panfs", "fuse.glusterfs")
_MAY_HANG = (*_SHARED, "fuse.", "9p", "afs")
_NEVER_WRITABLE = ("squashfs", "erofs", "iso9660", "cramfs", "romfs")
_BROKEN = {"emergency_ro", "shutdown"}
_COMMAND_MAX = 15  # the kernel cuts a command name to TASK_COMM_LEN - 1


class Mount(NamedTuple):
    path: str
    kind: str
    device: str
    options: frozenset[str] = frozenset()
    comes_and_goes: bool = False  # an automounter unmounts it while it is unused; reading would keep it mounted

    @property
    def may_hang(self) -> bool:
        """Whether another machine or process serves the file system, so that our own thread must never read it."""
        return self.kind.startswith(_MAY_HANG)

    @property
    def broken(self) -> bool:
        """Whether the file system reports that it stopped writing after an error; newer kernels then still show
        'rw'."""
        return bool(self.options & _BROKEN)

    @property
    def read_only(self) -> bool:
        return self.broken or "ro" in self.options

    def same_file_system(self, other: "Mount") -> bool:
        """Whether two mounts are the same file system, one of them perhaps read-only. Without a device, the options
        identify it."""
        if (self.kind, self.device) != (other.kind, other.device):
            return False
        return self.device.startswith("/") or not (self.options ^ other.options) - {"ro", "rw"}


class ProcProcess(NamedTuple):
    pid: int
    command: str
    state: str  # R, S, D, Z, ...
    threads: int
    started: int  # clock ticks after boot: distinguishes a reused pid
    cpu_ticks: int  # user and system time; unchanged: it has not run

    @property
    def stuck(self) -> bool:
        """Whether the process waits inside the kernel: itself, or threads that keep a dead leader from exiting."""
        return self.state == "D" or (self.state == "Z" and self.threads > 1)


def mounts(text: str) -> dict[str, Mount]:
    """Mounts of /proc/mounts by path; a later line hides an earlier one on the same path."""
    found: dict[str, Mount] = {}
    automounters: set[str] = set()
    for line in text.splitlines():
        fields = line.split(" ")
        if len(fields) < 4:
            continue
        path, options = _unescape(fields[1]), frozenset(fields[3].split(","))
        comes_and_goes = any(parent in automounters for parent in _with_parents(path))
        found[path] = Mount(path, fields[2], fields[0], options, comes_and_goes)
        if fields[2] == "autofs" and "timeout=0" not in options:  # with this option it is never released
            automounters.add(path)
    return found


def mount_of(path: str, table: dict[str, Mount]) -> Mount | None:
    """The mount that contains a path: the longest mounted parent."""
    return next((table[parent] for parent in _with_parents(path) if parent in table), None)


def _with_parents(path: str) -> list[str]:
    """'/a/b' -> '/a/b', '/a', '/'."""
    parts = path.rstrip("/").split("/")
    return ["/".join(parts[:length]) or "/" for length in range(len(parts), 0, -1)]


def shared(table: dict[str, Mount]) -> list[str]:
    """Mount points of shared file systems, each at its shortest path (containers mount them many times)."""
    by_device: dict[str, str] = {}
    for mount in table.values():
        if mount.kind in _SHARED and not mount.comes_and_goes:
            by_device[mount.device] = min(by_device.get(mount.device, mount.path), mount.path, key=len)
    return sorted(by_device.values())


def why_read_only_is_a_fault(mount: Mount, fstab: str, seen_writable: bool) -> str:
    """Why a read-only file system should be writable; '' without evidence, because images are mounted read-only on
    purpose."""
    if mount.kind in _NEVER_WRITABLE:
        return ""
    if mount.broken:
        return "the file system stopped writing after an error"
    if seen_writable:
        return "it was writable before"
    wanted = _fstab_options(fstab, mount)
    if wanted is not None:
        return "" if "ro" in wanted else "/etc/fstab wants it writable"
    return "it was mounted to become so after an error" if "errors=remount-ro" in mount.options else ""


def _fstab_options(fstab: str, mount: Mount) -> list[str] | None:
    """The options of its fstab line; None without one. A line of another type does not describe the current mount."""
    for line in fstab.splitlines():
        fields = line.split()
        if len(fields) >= 4 and not fields[0].startswith("#") and _unescape(fields[1]) == mount.path:
            return fields[3].split(",") if fields[2] in (mount.kind, "auto") else None
    return None


def _unescape(field: str) -> str:
    """Replaces the octal escapes of blank, tab, newline and backslash."""
    for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        field = field.replace(code, char)
    return field


def process(text: str) -> ProcProcess | None:
    """Parses /proc/PID/stat. The command is in parentheses and may itself contain blanks and parentheses."""
    head, bracket, tail = text.rpartition(")")
    pid, opened, command = head.partition("(")
    fields = tail.split()
    if not bracket or not opened or len(fields) < 20:
        return None
    try:
        ticks = int(fields[11]) + int(fields[12])
        return ProcProcess(int(pid), command, fields[0], int(fields[17]), int(fields[19]), ticks)
    except ValueError:
        return None


def same_command(comm: str, name: str) -> bool:
    """Whether a command name, which the kernel may have cut, belongs to this program."""
    return comm.strip() == name[:_COMMAND_MAX]


def context_switches(status: str) -> int:
    """Context switches of a process, from /proc/PID/status: without progress there are none."""
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
    """Whether /proc/driver/nvidia/version names the open kernel module in its first line."""
    return "open kernel module" in version_text.partition("\n")[0].lower()


def kernel_release(text: str) -> tuple[int, int]:
    """(5, 15) from '5.15.0-89-generic'; (0, 0) if unknown."""
    parts = text.strip().split(".")
    try:
        return int(parts[0]), int(parts[1].split("-", 1)[0])
    except (IndexError, ValueError):
        return 0, 0
