"""`holdfast diagnose` as a person or a script calls it."""

import bz2
import gzip
import json
import lzma
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from holdfast.cli.diagnose.command import diagnose
from holdfast.model.refusal import Refusal

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


OOM = (
    "[rank3]: Traceback (most recent call last):\n"
    '[rank3]:   File "/w/train.py", line 7, in main\n'
    "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB.\n"
)


def test_the_document_has_the_promised_shape(tmp_path: Path, document: Callable[..., dict[str, Any]]) -> None:
    path = tmp_path / "train.log"
    path.write_text(OOM)
    output = document(path)
    assert list(output)[:4] == ["causes", "next", "events", "unseen"]
    (cause,) = output["causes"]
    assert (cause["cause"], cause["subject"], cause["class"]) == ("job.cuda_oom", "job/this/rank/3", "crash")
    assert cause["evidence"][0]["file"] == str(path)
    assert cause["evidence"][0]["line"] == 3
    assert 0 < cause["confidence"] <= 1
    assert set(output["next"]) == {
        "action", "exclude", "checkpoint", "settings", "reason", "fix", "verify", "link", "report_to",
    }  # fmt: skip


@pytest.mark.parametrize(
    "encode",
    [
        lambda text: text.encode("utf-16"),
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: b"\xff\xfe\x00garbage\x80\n".lstrip(b"\xff\xfe") + text.encode(),
        lambda text: "\n".join(f"\x1b[31m{line}\x1b[0m" for line in text.split("\n")).encode(),
        lambda text: b"caf\xe9 latin-1\n" + text.encode(),
    ],
)
def test_encodings_line_ends_and_colours(
    tmp_path: Path, document: Callable[..., dict[str, Any]], encode: Callable[[str], bytes]
) -> None:
    path = tmp_path / "train.log"
    path.write_bytes(encode(OOM))
    assert [cause["cause"] for cause in document(path)["causes"]] == ["job.cuda_oom"]


def test_zstandard_too(tmp_path: Path, document: Callable[..., dict[str, Any]]) -> None:
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "train.log.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(OOM.encode()))
    assert [cause["cause"] for cause in document(path)["causes"]] == ["job.cuda_oom"]


class _Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("harm",)


def test_a_pickle_that_would_run_code_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, document: Callable[..., dict[str, Any]]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "dump_0"
    path.write_bytes(pickle.dumps(_Evil()))
    output = document(path, code=1)
    assert "mkdir" in output["unread"][0]
    assert not Path("harm").exists()
    path.write_bytes(pickle.dumps({"version": "2.9", "entries": [], "pg_config": {}})[:-9])
    assert "cut off" in document(path, code=1)["unread"][0]


def test_garbage_says_nothing(tmp_path: Path, document: Callable[..., dict[str, Any]]) -> None:
    (tmp_path / "a.bin").write_bytes(os.urandom(3_000_000))
    (tmp_path / "b.bin").write_bytes(b"\0" * 1_000_000)
    output = document(tmp_path)
    assert (output["causes"], output["next"]["action"]) == ([], None)


def test_the_history_and_the_ticket_name_cause_evidence_and_next_step(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "train.log"
    path.write_text(OOM)
    run(str(path))
    shown = capfd.readouterr().out
    assert "job.cuda_oom" in shown.splitlines()[0]
    assert f"{path}:3" in shown
    assert "stop" in shown
    assert "smaller micro batch" in shown
    assert "place unknown" not in shown
    run("--markdown", str(path))
    ticket = capfd.readouterr().out
    assert ticket.startswith("## Why the job failed")
    assert "### Next step" in ticket


def test_ranks_and_hosts_are_read_from_the_names_of_files(
    tmp_path: Path, document: Callable[..., dict[str, Any]]
) -> None:
    folder = tmp_path / "attempt_0" / "5"
    folder.mkdir(parents=True)
    (folder / "stderr.log").write_text(OOM.replace("[rank3]: ", ""))
    assert document(tmp_path)["causes"][0]["subject"] == "job/this/rank/5"


@pytest.mark.soak
def test_a_directory_of_a_hundred_thousand_files(tmp_path: Path, document: Callable[..., dict[str, Any]]) -> None:
    for number in range(100_000):
        (tmp_path / f"rank{number}.log").write_text("step 1 loss 2.0\n" if number != 77 else OOM)
    output = document(tmp_path)
    assert output["files"] == 100_000
    assert [cause["cause"] for cause in output["causes"]] == ["job.cuda_oom"]


@pytest.mark.parametrize("name", ["bundle.tar.gz", "bundle.tar", "bundle.zip"])
def test_a_bundle_is_read_member_by_member(tmp_path: Path, document: Callable[..., dict[str, Any]], name: str) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "rank3.log").write_text(OOM)
    (folder / "rank0.log.gz").write_bytes(gzip.compress(b"step 1 loss 2.0\n"))
    kind = {"bundle.tar.gz": "gztar", "bundle.tar": "tar", "bundle.zip": "zip"}[name]
    shutil.make_archive(str(tmp_path / "bundle"), kind, folder)
    found = document(tmp_path / name)
    assert found["causes"][0]["cause"] == "job.cuda_oom"
    assert found["causes"][0]["evidence"][0]["file"].endswith(f"{name}/rank3.log") or found["causes"][0]["evidence"][0][
        "file"
    ].endswith(f"{name}/./rank3.log")


def test_a_damaged_bundle_says_so(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bundle.zip"
    path.write_bytes(b"PK no archive")
    run(str(path))
    assert "bundle.zip" in capfd.readouterr().err
