"""The command line as a whole: bad usage is one sentence and 64; the generated docs and the list of checks are true."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.cli.app import run
from holdfast.node import checks

ROOT = Path(__file__).parent.parent.parent
GPU_CHECKS = {name for name in checks.STAGES["passive"] if name.startswith(("gpu.", "nvlink.", "pcie.replay"))}


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "--nope"],
        ["check", "--stage", "nosuch"],
        ["frobnicate"],
        ["check", "--config", "/no/such/file"],
        ["twin", "inject", "/no/such/twin", "xid"],
        ["diagnose", "/no/such/log"],
    ],
    ids=" ".join,
)
def test_bad_usage_is_one_sentence_and_exit_64(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 64
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("holdfast: ")
    assert printed.err.count("\n") == 1


def test_a_wrong_key_in_the_configuration_is_named_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "holdfast.toml"
    config.write_text('[checks."fabric.port_down"]\nmax_down_secnds = 5\n')
    assert run(["check", "--config", str(config)]) == 64
    error = capsys.readouterr().err
    assert str(config) in error and "max_down_secnds" in error and "expected one of" in error


def test_every_check_file_is_listed_once_and_every_check_has_a_test() -> None:
    files = [f for f in (ROOT / "holdfast" / "node" / "checks").rglob("*.py") if "\nCHECK = Check(" in f.read_text()]
    assert len(checks.ALL) == len(files) == len(checks.BY_NAME)
    tested = "".join(f.read_text() for f in (ROOT / "tests" / "node" / "checks").rglob("test_*.py"))
    assert [f.stem for f in files if f.stem not in tested] == []


def test_limits_and_signals_of_a_check_are_named_so_that_they_can_be_configured() -> None:
    for check in checks.ALL:
        assert check.asks.endswith("?"), check.name
        assert check.remedy and check.owner, check.name
        assert set(check.name) <= set("abcdefghijklmnopqrstuvwxyz0123456789_."), check.name


@pytest.mark.slow
def test_a_machine_without_gpus_is_unknown_with_the_reason_and_answers_its_host_questions(tmp_path: Path) -> None:
    config = tmp_path / "holdfast.toml"
    quiet = tmp_path / "kmsg"
    quiet.write_text("")
    config.write_text(f'[roots]\nkmsg = "{quiet}"\nnvml = "/no/such/libnvidia-ml.so.1"\n')
    holdfast = Path(sys.executable).with_name("holdfast")
    done = subprocess.run(
        [holdfast, "check", "--stage", "passive", "--json", "--config", str(config)], capture_output=True, check=False
    )
    document = json.loads(done.stdout)
    by_name = {verdict["check"]: verdict for verdict in document["verdicts"]}
    assert done.returncode == 3
    assert set(document) >= {"node", "stage", "health", "verdicts"}
    assert {by_name[name]["health"] for name in GPU_CHECKS} == {"unknown"}
    assert all(by_name[name]["reason"] for name in GPU_CHECKS)
    assert by_name["host.filesystem"]["health"] in ("pass", "degraded", "fail")
    assert by_name["host.processes"]["health"] in ("pass", "degraded", "fail")


@pytest.mark.parametrize(
    ("lacks", "code"), [("rdma", 3), ("bogus", 64)], ids=["a part that checks ask about", "a misspelt part"]
)
def test_a_manifest_may_only_lack_parts_that_exist(tmp_path: Path, lacks: str, code: int) -> None:
    manifest, config = tmp_path / "manifest.toml", tmp_path / "holdfast.toml"
    manifest.write_text(f'[node]\nlacks = ["{lacks}"]\n')
    config.write_text(f'[agent]\nmanifest = "{manifest}"\n[roots]\nkmsg = "{manifest}"\nnvml = "/no/such/lib"\n')
    assert run(["check", "--config", str(config), "--json"]) == code


def test_a_sysfs_tree_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["signals", "--root", "/no/such/tree"]) == 64
    assert "expected a sysfs tree" in capsys.readouterr().err
