"""Reversible changes that break a node; each is recorded together with its undo information."""

import ctypes
import json
import math
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast.lab.twin import kmsg
from holdfast.lab.twin.error import TwinError
from holdfast.lab.twin.gpus import healthy
from holdfast.lab.twin.life import settle
from holdfast.lab.twin.node import TwinNode
from holdfast.lab.twin.nvml.layout import NvmlState
from holdfast.lab.twin.sysfs_infiniband import TwinRdmaPort
from holdfast.lab.twin.tree import replace_in_place, write_in_place

LARGEST_VALUE = 1e9


@dataclass(slots=True)
class Undo:
    """Undo information of one injected fault, kept on disk until the fault is cleared."""

    files: dict[str, str] = field(default_factory=dict)  # path -> previous content
    binary: dict[str, str] = field(default_factory=dict)  # the same for binary files
    moved: dict[str, str] = field(default_factory=dict)  # original path -> path of the hidden file
    made: list[str] = field(default_factory=list)
    gpu_fields: list[tuple[int, str]] = field(default_factory=list)
    driver_fields: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Breakage:
    """One fault while it is injected into a node: place, value, time."""

    node: TwinNode
    gpu: int
    port: TwinRdmaPort
    value: str
    now: float
    pause: Callable[[float], None]
    undo: Undo

    def number(self) -> float:
        try:
            number = float(self.value)
        except ValueError:
            number = math.nan
        if not abs(number) < LARGEST_VALUE:
            raise TwinError(f"--value: expected a number below {LARGEST_VALUE:g}, found {self.value!r}")
        return number

    def count(self) -> int:
        return int(self.number())

    def has(self, path: str) -> bool:
        return (self.node.directory / path).exists()

    def write(self, path: str, text: str) -> None:
        """Writes a file of the node; clearing restores the old text."""
        file = self.node.directory / path
        if not file.exists():
            raise TwinError(f"this node has no {path}: the fault does not fit its hardware")
        if path not in self.undo.files:
            self.undo.files[path] = file.read_text(encoding="utf-8")
        write_in_place(file, text)

    def write_bytes(self, path: str, data: bytes) -> None:
        """Writes a binary file. The record keeps it as Latin-1, which has a character for each byte."""
        file = self.node.directory / path
        if path not in self.undo.binary:
            self.undo.binary[path] = file.read_bytes().decode("latin-1")
        replace_in_place(file, data)

    def add(self, path: str, amount: int) -> None:
        """Increases a counter. Clearing does not decrease it, as on real hardware."""
        file = self.node.directory / path
        write_in_place(file, f"{int(file.read_text(encoding='ascii')) + amount}\n")

    def take_away(self, path: str) -> None:
        """Hides a file or directory; clearing restores it."""
        place, kept = self.node.directory / path, f"removed/{path.replace('/', '_')}"
        if place.exists() or place.is_symlink():
            (self.node.directory / "removed").mkdir(exist_ok=True)
            os.rename(place, self.node.directory / kept)
            self.undo.moved[path] = kept

    def make_hang(self, path: str) -> None:
        """Makes readers of this file wait, as for a device that does not answer; clearing releases them."""
        self.take_away(path)
        os.mkfifo(self.node.directory / path)

    def make(self, path: str) -> None:
        """Records a directory that did not exist before; clearing removes it."""
        if path not in self.undo.made:
            self.undo.made.append(path)

    def set_gpu(self, path: str, value: float | bytes, gpu: int | None = None) -> None:
        """Sets a field of the driver's state, such as 'link.5.active'; clearing restores the healthy value."""
        index = self.gpu if gpu is None else gpu
        _assign(self.node.state.gpu[index], path, value)
        if (index, path) not in self.undo.gpu_fields:
            self.undo.gpu_fields.append((index, path))
        settle(self.node.state.gpu[index], self.node.model)

    def set_driver(self, name: str, value: int) -> None:
        setattr(self.node.state, name, value)
        if name not in self.undo.driver_fields:
            self.undo.driver_fields.append(name)

    def say(self, texts: list[str], priority: int = kmsg.ERR) -> None:
        self.node.say(texts, self.now, priority)
        self.undo.lines += [text for text in dict.fromkeys(texts) if text not in self.undo.lines]


def repair(node: TwinNode, undo: Undo, *, keep_lines: bool = False) -> None:
    """Undoes all recorded changes, in an order in which none depends on one that is already undone."""
    for path in undo.made:
        shutil.rmtree(node.directory / path, ignore_errors=True)
    for path, kept in undo.moved.items():
        _let_readers_go(node.directory / path)
        os.rename(node.directory / kept, node.directory / path)
    for path, text in undo.files.items():
        write_in_place(node.directory / path, text)
    for path, text in undo.binary.items():
        replace_in_place(node.directory / path, text.encode("latin-1"))
    for index, path in undo.gpu_fields:
        good = healthy(node.model, node.name, index, node.gpu_functions()[index].address)
        _assign(node.state.gpu[index], path, _value(good, path))
        settle(node.state.gpu[index], node.model)
    for name in undo.driver_fields:
        setattr(node.state, name, getattr(NvmlState(), name))
    if undo.lines and not keep_lines:
        kmsg.take_back(node.kernel_log, undo.lines)


def _let_readers_go(place: Path) -> None:
    """Opens and closes the pipe that simulates a hanging file, which ends the wait of its readers."""
    if place.is_fifo():
        with suppress(OSError):  # there are no readers
            os.close(os.open(place, os.O_WRONLY | os.O_NONBLOCK))
        place.unlink()


class Journal:
    """Faults of a node and how to clear them, as one JSON file in its directory."""

    def __init__(self, node: TwinNode) -> None:
        self._path: Path = node.directory / "injected.json"

    def read(self) -> dict[str, Undo]:
        if not self._path.exists():
            return {}
        raw = json.loads(self._path.read_text(encoding="utf-8"))
        found = {key: Undo(**entry) for key, entry in raw.items()}
        for undo in found.values():
            undo.gpu_fields = [(index, path) for index, path in undo.gpu_fields]
        return found

    def write(self, entries: dict[str, Undo]) -> None:
        plain = {key: {name: getattr(undo, name) for name in Undo.__slots__} for key, undo in entries.items()}
        write_in_place(self._path, json.dumps(plain, indent=1) + "\n")


def _walk(thing: Any, path: str) -> tuple[Any, str]:
    *steps, last = path.split(".")
    for step in steps:
        thing = thing[int(step)] if step.isdigit() else getattr(thing, step)
    return thing, last


def _value(thing: Any, path: str) -> Any:
    owner, last = _walk(thing, path)
    return owner[int(last)] if last.isdigit() else getattr(owner, last)


def _assign(thing: Any, path: str, value: Any) -> None:
    try:
        owner, last = _walk(thing, path)
        if last.isdigit():
            owner[int(last)] = value
        else:
            place = getattr(type(owner), last)  # reject names that ctypes would accept silently
            # clear the rest of the field after a shorter text
            ctypes.memset(ctypes.addressof(owner) + place.offset, 0, place.size)
            setattr(owner, last, value)
    except (IndexError, AttributeError, TypeError, ValueError):
        raise TwinError(f"the driver's state of a GPU has no {path!r} that can be {value!r}") from None
