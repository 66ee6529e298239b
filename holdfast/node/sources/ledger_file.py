"""Append-only JSON lines on disk: a kill in the middle of a line loses only that line."""

import json
import os
from collections.abc import Iterable
from typing import Any

from holdfast.node.sources.open_files import error_text

_MAX_BYTES = 16 << 20  # a file larger than this is not one of ours; its end is still read


class LedgerFile:
    """Never raises: a disk error is in `trouble`, and the next line tries again."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._torn = False  # the last line on disk may lack its end
        self.trouble = ""
        self.corrupt_lines = 0
        self._readable = True
        self._lines = 0
        self._lines_when_replaced = 0
        self._lost_lines = False

    @property
    def wants_replacing(self) -> bool:
        """Whether to rewrite the file: lines are missing, or most of it is old."""
        return self._lost_lines or self._lines > 1000 + 2 * self._lines_when_replaced

    def load(self) -> list[dict[str, Any]]:
        """Every whole record, oldest first; other lines are skipped and counted."""
        try:
            with open(self._path, "rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - _MAX_BYTES))
                raw = file.read(_MAX_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            self.trouble = f"cannot read {self._path}: {error_text(error)}"
            self._readable = False
            return []
        self._torn = not raw.endswith(b"\n")
        records = []
        for line in filter(None, raw.split(b"\n")):
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                record = None
            if isinstance(record, dict):
                records.append(record)
            else:
                self.corrupt_lines += 1
        return records

    def append(self, record: dict[str, Any]) -> None:
        line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        try:
            descriptor = self._open()
            try:
                written = os.write(descriptor, (b"\n" if self._torn else b"") + line)
            finally:
                os.close(descriptor)
        except OSError as error:
            self._torn = self._lost_lines = True
            self.trouble = f"cannot write {self._path}: {error_text(error)}"
            return
        self._torn = written < len(line)
        self._lost_lines |= self._torn
        self.trouble = f"cannot write {self._path}: no space left on device" if self._torn else ""
        self._lines += 1

    def _open(self) -> int:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        try:
            return os.open(self._path, flags, 0o600)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(self._path) or ".", exist_ok=True)
            return os.open(self._path, flags, 0o600)

    def replace(self, records: Iterable[dict[str, Any]]) -> None:
        """Rewrite the whole ledger into a temporary file and rename it. A file that could not be read is not replaced,
        because it may contain other data."""
        if not self._readable:
            return
        lines = [json.dumps(record, separators=(",", ":")) + "\n" for record in records]
        beside = f"{self._path}.new"
        try:
            os.makedirs(os.path.dirname(self._path) or ".", exist_ok=True)
            with open(beside, "w", encoding="utf-8") as file:
                file.writelines(lines)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, self._path)
        except OSError as error:
            self.trouble = f"cannot write {self._path}: {error_text(error)}"
            return
        self.trouble = ""
        self._torn = self._lost_lines = False
        self._lines = self._lines_when_replaced = len(lines)
