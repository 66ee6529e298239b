"""One sick GPU fails under its own name, and the other seven are seen as before."""

from pathlib import Path

import pytest

from holdfast.lab import twin
from holdfast.model.health import Health
from holdfast.node.agent.assemble import load_settings
from holdfast.node.agent.virtual import VirtualAgent
from holdfast.node.sources.gpu import nvml_session
from holdfast.node.sources.gpu.nvml import NvmlSlowSource, NvmlSource
from tests.waiting import until

BORN = 1_800_000_000.0
SICK = 3


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> VirtualAgent:
    monkeypatch.setattr(nvml_session, "LIST_SECONDS", 0.3)
    monkeypatch.setattr(NvmlSource, "deadline", 0.5)
    monkeypatch.setattr(NvmlSlowSource, "deadline", 0.5)
    twin.make_node(tmp_path / "n01", now=BORN)
    agent = VirtualAgent(load_settings(str(tmp_path / "n01" / "holdfast.toml")), BORN)
    agent.advance(70)
    return agent


@pytest.mark.parametrize(
    ("fault", "value", "said"),
    [
        ("gpu_unknown_error", "999", "Unknown Error"),
        ("gpu_unknown_error", "10", "in time"),
        ("gpu_hang", "", "has not returned"),
    ],
)
def test_a_sick_gpu_is_named_and_blinds_no_other(
    agent: VirtualAgent, tmp_path: Path, fault: str, value: str, said: str
) -> None:
    assert agent.node.health is Health.PASS, agent.node.reason()
    twin.inject(tmp_path / "n01", fault, gpu=SICK, value=value, now=agent.now)
    agent.advance(75)
    verdict = agent.node.verdicts["gpu.responding"]
    rows = {row.subject: row for row in verdict.rows}
    assert rows[f"node/n01/gpu/{SICK}"].health is Health.FAIL
    assert said in rows[f"node/n01/gpu/{SICK}"].reason or "cannot open" in rows[f"node/n01/gpu/{SICK}"].reason
    assert [row.health for row in verdict.rows].count(Health.PASS) == 7
    assert "reset" in verdict.remedy
    assert agent.node.reason().startswith("gpu.responding")
    for name, other in agent.node.verdicts.items():
        seen = [row for row in other.rows if "/gpu/" in row.subject and not row.subject.endswith(f"/{SICK}")]
        assert all(row.health in (Health.PASS, Health.NOT_APPLICABLE) for row in seen), name
    twin.clear(tmp_path / "n01", fault, gpu=SICK, now=agent.now)
    sources = [source for source in agent.sources if isinstance(source, NvmlSource | NvmlSlowSource)]
    for isolation in [
        part for source in sources for part in (source._gpus._isolation, source._gpus._session._isolation)
    ]:
        until(lambda isolation=isolation: isolation.hanging(SICK) is None)  # calls that hung return
    agent.advance(130)
    assert agent.node.health is Health.PASS, agent.node.reason()
