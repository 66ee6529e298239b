"""The host's file systems as its first process sees them.

An agent in a container has other mounts than the host, and a hardened service has the same ones read-only.
"""

import os
from dataclasses import dataclass, field

from holdfast.formats.host import proc as formats
from holdfast.node.sources.small_file import text_or_nothing

Table = dict[str, formats.Mount]


@dataclass(frozen=True, slots=True)
class HostView:
    table: Table
    fstab: str = ""  # '' means unknown
    _root: str = ""  # how the first process's root is reached; '' means that it is ours
    _refused: str = ""  # why that root cannot be entered
    _own: Table = field(default_factory=dict)

    def way_to(self, path: str) -> str:
        """How we reach a path of the host; '' where we cannot. A symbolic link in it would lead us to our own files."""
        if not self._refused:
            return self._root + path
        theirs, ours = formats.mount_of(path, self.table), formats.mount_of(path, self._own)
        same = theirs and ours and theirs.path == ours.path and theirs.same_file_system(ours)
        return path if same else ""

    def why_no_way(self, path: str) -> str:
        return f"{path} of the host cannot be reached: {self._refused}"


def host_view(proc: str) -> HostView:
    """Read it again. If the first process's mounts cannot be read, use our own."""
    theirs, ours = text_or_nothing(f"{proc}/1/mounts"), text_or_nothing(f"{proc}/mounts")
    if not theirs:
        return HostView(formats.mounts(ours))
    root = f"{proc}/1/root"
    try:
        os.stat(f"{root}/")
    except OSError as error:
        return HostView(formats.mounts(theirs), "", "", f"{root}: {error.strerror}", formats.mounts(ours))
    return HostView(formats.mounts(theirs), text_or_nothing(f"{root}/etc/fstab"), root)
