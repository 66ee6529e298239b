"""Local file systems: usage, inodes, writable, mounted."""

import os

from holdfast.formats.host import proc as formats
from holdfast.model import subject
from holdfast.model.subject import Subject
from holdfast.node.sources.host.view import HostView, host_view
from holdfast.runtime.source import ReadingBuilder

_ROOM = ("mount_free_ratio", "mount_inodes_free_ratio")
NAMES = ("mount_mounted", "mount_read_only", "mount_read_only_fault", *_ROOM)


class MountWatch:
    """Remembers which file systems were writable: one that was read-only from the start may be intended."""

    def __init__(self, node: str, proc: str, paths: tuple[str, ...]) -> None:
        self._node = node
        self._proc = proc
        self._paths = paths
        self._seen_writable: set[str] = set()

    def read(self) -> ReadingBuilder:
        builder = ReadingBuilder()
        view = host_view(self._proc)
        for path in self._paths:
            about = subject.mount(self._node, path)
            if view.table:
                self._read_mount(builder, about, path, view)
            else:
                builder.miss(about, f"{self._proc}/mounts cannot be read", *NAMES)
        return builder

    def _read_mount(self, builder: ReadingBuilder, about: Subject, path: str, view: HostView) -> None:
        entry = view.table.get(path.rstrip("/") or "/")
        builder.add(about, "mount_mounted", 1.0 if entry else 0.0)
        if entry is None:
            builder.miss(about, f"{path} is not mounted", *NAMES[1:])
            return
        if not entry.read_only:
            self._seen_writable.add(path)
        builder.add(about, "mount_read_only", float(entry.read_only))
        fault = formats.why_read_only_is_a_fault(entry, view.fstab, path in self._seen_writable)
        builder.add(about, "mount_read_only_fault", fault if entry.read_only else "")
        if entry.may_hang:
            reason = f"{path} is a network file system ({entry.kind}) that could hang us: list it under shared_mounts"
            builder.miss(about, reason, *_ROOM)
        elif way := view.way_to(path):
            _read_room(builder, about, path, way)
        else:
            builder.miss(about, view.why_no_way(path), *_ROOM)


def _read_room(builder: ReadingBuilder, about: Subject, path: str, way: str) -> None:
    try:
        room = os.statvfs(way)
    except OSError as error:
        builder.miss(about, f"{path} does not answer: {error.strerror}", *_ROOM)
        return
    if room.f_blocks:
        builder.add(about, "mount_free_ratio", room.f_bavail / room.f_blocks)
    else:
        builder.miss(about, "the file system does not report its size", "mount_free_ratio")
    if room.f_files:
        builder.add(about, "mount_inodes_free_ratio", room.f_favail / room.f_files)
    else:
        builder.miss(about, "the file system has no limit on inodes", "mount_inodes_free_ratio")
