"""Local file systems: how full, how many inodes are left, still writable, still mounted."""

import os

from holdfast.formats import proc as formats
from holdfast.model import subject
from holdfast.model.subject import Subject
from holdfast.sources.notes import Notes

NAMES = ("mount_mounted", "mount_read_only", "mount_free_ratio", "mount_inodes_free_ratio")


def read_mounts(node: str, proc: str, paths: tuple[str, ...]) -> Notes:
    notes = Notes()
    try:
        with open(f"{proc}/mounts", encoding="utf-8", errors="replace") as file:
            table = formats.mounts(file.read())
    except OSError as error:
        for path in paths:
            notes.miss(subject.mount(node, path), f"{proc}/mounts cannot be read: {error.strerror}", *NAMES)
        return notes
    for path in paths:
        _read_mount(notes, subject.mount(node, path), path, table)
    return notes


def _read_mount(notes: Notes, about: Subject, path: str, table: dict[str, formats.Mount]) -> None:
    entry = table.get(path.rstrip("/") or "/")
    notes.say(about, "mount_mounted", 1.0 if entry else 0.0)
    if entry is None:
        notes.miss(about, f"{path} is not mounted", *NAMES[1:])
        return
    notes.say(about, "mount_read_only", float(entry.read_only))
    if entry.may_hang:
        reason = f"{path} is a network file system ({entry.kind}) that could hang us: list it under shared_mounts"
        notes.miss(about, reason, *NAMES[2:])
        return
    try:
        room = os.statvfs(path)
    except OSError as error:
        notes.miss(about, f"{path} does not answer: {error.strerror}", *NAMES[2:])
        return
    if room.f_blocks:
        notes.say(about, "mount_free_ratio", room.f_bavail / room.f_blocks)
    else:
        notes.miss(about, "the file system does not tell its size", "mount_free_ratio")
    if room.f_files:
        notes.say(about, "mount_inodes_free_ratio", room.f_favail / room.f_files)
    else:
        notes.miss(about, "the file system has no limit on inodes", "mount_inodes_free_ratio")
