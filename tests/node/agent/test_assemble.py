"""The name that a node reports under."""

import pytest

from holdfast.model.settings import Settings
from holdfast.node.agent.assemble import node_name


def test_the_name_is_the_configurations_then_the_environments_then_the_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "gpu-1.site.example")
    monkeypatch.delenv("HOLDFAST_NODE", raising=False)
    assert node_name(Settings()) == "gpu-1"
    monkeypatch.setenv("HOLDFAST_NODE", "gpu-1.kubernetes.example")
    assert node_name(Settings()) == "gpu-1.kubernetes.example"
    assert node_name(Settings(node="mine")) == "mine"
