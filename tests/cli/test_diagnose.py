"""`holdfast diagnose` as a person or a script calls it."""

import bz2
import gzip
import json
import lzma
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from holdfast.cli.diagnose import diagnose
from holdfast.cli.refusal import Refusal

LOG = "[   1.0] Linux version 6.1\n[  12.5] NVRM: Xid (PCI:0000:9b:00): 79, pid=1, GPU has fallen off the bus.\n"
APP = typer.Typer()
APP.command()(diagnose)


def run(*arguments: str) -> int:
    return int(typer.main.get_command(APP).main(list(arguments), standalone_mode=False))


@pytest.fixture
def document(capfd: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    def read(*paths: Path, code: int = 0) -> dict[str, Any]:
        assert run("--json", *map(str, paths)) == code
        found: dict[str, Any] = json.loads(capfd.readouterr().out)
        return found

    return read


def test_json_is_one_document_with_every_field(tmp_path: Path, document: Callable[..., dict[str, Any]]) -> None:
    path = tmp_path / "dmesg.txt"
    path.write_text(LOG)
    (event,) = document(path)["events"]
    assert event == {
        "kind": "xid", "code": 79, "device": "0000:9b:00", "severity": "fatal", "action": "restart_node",
        "file": str(path), "line": 2, "count": 1, "at": None,
        "text": "NVRM: Xid (PCI:0000:9b:00): 79, pid=1, GPU has fallen off the bus.",
        "detail": {"pid": "1", "since_boot_seconds": 12.5},
    }  # fmt: skip


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_logs_are_known_by_their_bytes(
    tmp_path: Path, document: Callable[..., dict[str, Any]], compress: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "kern.log.3"
    path.write_bytes(compress(LOG.encode()))
    assert [event["code"] for event in document(path)["events"]] == [79]


def test_a_directory_is_read_with_all_below_it(tmp_path: Path, document: Callable[..., dict[str, Any]]) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "kern.log").write_text(LOG)
    (tmp_path / "b.bin").write_bytes(os.urandom(100_000))
    counters = tmp_path / "devices" / "0000:9b:00.0"
    counters.mkdir(parents=True)
    (counters / "aer_dev_fatal").write_text("DLP 2\nTOTAL_ERR_FATAL 2\n")
    found = document(tmp_path)
    assert [(e["kind"], e["code"], e["device"], e["count"]) for e in found["events"]] == [
        ("xid", 79, "0000:9b:00", 1),
        ("aer", "DLP", "0000:9b:00.0", 2),
    ]
    assert (found["files"], found["unread"]) == (3, [])


def test_a_damaged_archive_keeps_what_was_read_and_says_so(
    tmp_path: Path, document: Callable[..., dict[str, Any]]
) -> None:
    path = tmp_path / "kern.log.gz"
    path.write_bytes(gzip.compress((LOG + os.urandom(50_000).hex()).encode())[:-3000])
    found = document(path, code=1)
    assert [event["code"] for event in found["events"]] == [79]
    assert len(found["unread"]) == 1


def test_no_such_file_is_a_usage_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="nowhere"):
        run(str(tmp_path / "nowhere"))


def test_a_device_is_refused_instead_of_waited_on(capfd: pytest.CaptureFixture[str]) -> None:
    assert run("/dev/zero") == 1
    assert "a device" in capfd.readouterr().err


def test_people_get_a_table_or_a_sentence(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "dmesg.txt"
    path.write_text(LOG)
    assert run(str(path)) == 0
    shown = capfd.readouterr().out
    assert "xid 79" in shown
    assert "restart node" in shown
    path.write_text("all is well\n")
    run(str(path))
    assert "nothing found in 1 file" in capfd.readouterr().out
