"""`holdfast node learn` on a small tree: what it writes, what it refuses, and that the manifest then counts."""

import json
from pathlib import Path

import pytest

from holdfast.cli.app import run
from holdfast.model import manifest
from holdfast.model.health import Health
from holdfast.node.agent.assemble import load_settings
from holdfast.node.agent.once import check_node


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A machine without GPUs whose every file is ours."""
    for path, text in {
        "proc/mounts": "/dev/sda1 / ext4 rw 0 0\n",
        "proc/meminfo": "MemTotal: 1000000 kB\nMemAvailable: 500000 kB\n",
        "proc/loadavg": "0.1 0.1 0.1 1/2 3\n",
        "proc/uptime": "100.0 1.0\n",
        "proc/sys/kernel/osrelease": "5.15.0-89-generic\n",
        "proc/1/stat": "1 (init) S 0 1 1 0 -1 0 0 0 0 0 5 0 0 0 20 0 1 0 1000 0 0\n",
        "sys/devices/system/edac/mc/mc0/ce_count": "0\n",
        "sys/devices/system/edac/mc/mc0/ue_count": "0\n",
        "timex": "status=0\noffset_seconds=0\nmax_error_seconds=0.01\n",
        "kmsg": "",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "sys/devices/system/cpu").mkdir()
    file = tmp_path / "holdfast.toml"
    roots = {name: str(tmp_path / name) for name in ("sys", "proc", "timex", "kmsg")}
    roots |= {"nvml": str(tmp_path / "none.so"), "dcgmi": str(tmp_path / "dcgmi")}
    lines = ["node = 'n1'", "[roots]", *(f"{name} = '{value}'" for name, value in roots.items())]
    lines += ["[probes]", "active = false"]  # they would load torch and measure this machine
    lines += ["[agent]", f"state_dir = '{tmp_path}/state'", f"manifest = '{tmp_path}/manifest.toml'"]
    file.write_text("\n".join(lines))
    return file


LACKING = ("--lacks", "gpu,rdma,pci")


def test_a_healthy_node_is_learned_and_then_equals_its_manifest(config: Path, tmp_path: Path) -> None:
    assert run(["node", "learn", "--config", str(config), *LACKING]) == 0
    learned = manifest.parse((tmp_path / "manifest.toml").read_text(), "m")
    assert learned.expect["node"]["host_kernel_version"] == "5.15.0-89-generic"
    assert {"gpu", "rdma", "pci", "nvlink"} <= set(learned.lacks)
    node = check_node(load_settings(str(config)), "bootstrap")
    assert node.verdicts["node.inventory"].health is Health.PASS
    assert node.verdicts["node.firmware"].health in (Health.PASS, Health.NOT_APPLICABLE)


def test_what_changed_since_is_reported(config: Path, tmp_path: Path) -> None:
    run(["node", "learn", "--config", str(config), *LACKING])
    (tmp_path / "proc/meminfo").write_text("MemTotal: 500000 kB\nMemAvailable: 400000 kB\n")
    verdict = check_node(load_settings(str(config)), "bootstrap").verdicts["node.inventory"]
    assert verdict.health is Health.FAIL
    assert "host_memory_total_bytes is 512000000" in verdict.summary()


def test_an_unhealthy_node_is_no_model(config: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sys/devices/system/edac/mc/mc0/ue_count").write_text("3\n")
    assert run(["node", "learn", "--config", str(config), *LACKING]) == 1
    assert "host.edac is fail" in capfd.readouterr().err
    assert not (tmp_path / "manifest.toml").exists()
    assert run(["node", "learn", "--config", str(config), *LACKING, "--force"]) == 0


def test_blindness_is_no_model_either(config: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["node", "learn", "--config", str(config)]) == 1
    assert "is unknown" in capfd.readouterr().err


def test_a_manifest_is_not_overwritten_unasked(config: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "other.toml"
    file.write_text("mine")
    learn = ["node", "learn", "--config", str(config), "--out", str(file), *LACKING]
    assert run(learn) == 1
    assert f"{file} exists" in capfd.readouterr().err
    assert file.read_text() == "mine"
    assert run([*learn, "--force", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["manifest"] == str(file)


def test_a_place_that_cannot_be_written_is_one_sentence(
    config: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    output = str(tmp_path / "file" / "manifest.toml")
    assert run(["node", "learn", "--config", str(config), "--out", output, *LACKING]) == 1
    assert str(tmp_path / "file") in capfd.readouterr().err
