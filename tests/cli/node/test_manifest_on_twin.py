"""A manifest learned from a healthy simulated node, and then one GPU or port less."""

import shutil
from pathlib import Path

import pytest

from holdfast.cli.app import run
from holdfast.model.health import Health
from holdfast.model.verdict import Verdict
from holdfast.node.agent.assemble import load_settings
from holdfast.node.agent.once import check_node

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler for the simulated driver"),
]


@pytest.fixture
def twin(tmp_path: Path) -> Path:
    """A node with its manifest, named in its configuration."""
    home = tmp_path / "n01"
    assert run(["twin", "node", str(home)]) == 0
    config = home / "holdfast.toml"
    assert run(["node", "learn", "--config", str(config), "--out", str(home / "manifest.toml")]) == 0
    config.write_text(config.read_text().replace("[agent]\n", f'[agent]\nmanifest = "{home}/manifest.toml"\n'))
    return home


def verdicts(twin: Path) -> dict[str, Verdict]:
    return check_node(load_settings(str(twin / "holdfast.toml")), "bootstrap").verdicts


def failing(verdict: Verdict) -> list[str]:
    return [row.subject.partition("/")[2].partition("/")[2] for row in verdict.rows if row.health is Health.FAIL]


def test_the_node_it_was_learned_from_equals_it(twin: Path) -> None:
    seen = verdicts(twin)
    for name in ("node.inventory", "node.firmware", "node.topology", "gpu.fabric_manager", "host.modules"):
        assert seen[name].health is Health.PASS, seen[name].summary()


def test_a_gpu_and_a_port_that_are_gone_are_named_alone(twin: Path) -> None:
    assert run(["twin", "inject", str(twin), "gpu_off_bus"]) == 0
    assert run(["twin", "inject", str(twin), "port_missing"]) == 0
    assert failing(verdicts(twin)["node.inventory"]) == ["gpu/0", "nic/mlx5_0/1"]
