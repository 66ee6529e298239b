"""Dumps are read in processes of their own: a hostile one harms no one."""

import json
import os
import pickle
from pathlib import Path

from holdfast.formats.pytorch.flight_recorder import Dump
from holdfast.node.sources.jobs import dump_files

DUMP = {"version": "2.9", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}}, "entries": []}


class _RunsCode:
    def __reduce__(self) -> tuple[object, tuple[str, ...]]:
        return os.system, ("false",)


def test_each_file_has_its_dump_or_its_reason(tmp_path: Path) -> None:
    files = [tmp_path / f"dump_{name}" for name in ("0", "1.json", "code", "cut", "bomb", "gone")]
    files[0].write_bytes(pickle.dumps(DUMP))
    files[1].write_text(json.dumps(DUMP))
    files[2].write_bytes(pickle.dumps(_RunsCode()))
    files[3].write_bytes(pickle.dumps(DUMP)[:-20])
    files[4].write_bytes(b"\x80\x04\x8e" + (1 << 40).to_bytes(8, "little") + b"x.")  # claims to hold a terabyte
    read = dict(dump_files.read_all(files))
    assert list(read) == files
    assert [isinstance(read[file], Dump) for file in files] == [True, True, False, False, False, False]
    assert "refused" in str(read[files[2]])
    assert "cut off" in str(read[files[3]])
    assert "No such file" in str(read[files[5]])


def test_nothing_to_read() -> None:
    assert list(dump_files.read_all([])) == []
