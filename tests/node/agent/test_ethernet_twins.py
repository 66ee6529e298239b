"""RoCE and EFA nodes: healthy ones pass, each fault of their counters is named on its port, and only there."""

from pathlib import Path

import pytest

from holdfast.lab import twin
from holdfast.lab.twin.answers import right as answers
from holdfast.lab.twin.hardware import load_model
from holdfast.model.health import Health
from holdfast.node.agent.assemble import load_settings
from holdfast.node.agent.virtual import VirtualAgent

pytestmark = pytest.mark.slow

BORN = 1_800_000_000.0
MODELS = ("h100_roce", "h200_bnxt", "mi300x_ionic", "h100_efa")


@pytest.mark.parametrize("model", MODELS)
def test_a_healthy_node_passes_and_its_faults_are_named(tmp_path: Path, model: str) -> None:
    home = tmp_path / "n01"
    node = twin.make_node(home, model, now=BORN)
    agent = VirtualAgent(load_settings(str(home / "holdfast.toml")), BORN)
    agent.advance(130)
    assert agent.node.health is Health.PASS, agent.node.reason()
    assert len(agent.node.verdicts["fabric.errors"].rows) == 9
    assert agent.node.verdicts["fabric.errors"].health is Health.PASS
    faults = [name for name, fault in twin.all_faults(load_model(model).fabric).items()]
    assert faults
    port = node.ports()[2].name
    for name in faults:
        twin.inject(home, name, port=port, now=agent.now)
        agent.advance(31)
        verdict = agent.node.verdicts["fabric.errors"]
        bad = [row for row in verdict.rows if row.health in (Health.FAIL, Health.DEGRADED)]
        assert [row.subject for row in bad] == [f"node/n01/nic/{port}/1"], name
        assert "grew by" in bad[0].reason
        assert answers.differences(name, verdict, node.model) == []
        assert agent.node.reason().startswith("fabric.errors")
        twin.clear(home, name, port=port, now=agent.now)
        agent.advance(930)
        assert agent.node.health is Health.PASS, (name, agent.node.reason())
