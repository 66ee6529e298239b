"""One sick GPU fails under its own name, and the other seven are seen as before."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from holdfast.lab import twin
from holdfast.model.health import Health
from holdfast.node.agent.assemble import load_settings
from holdfast.node.agent.virtual import VirtualAgent
from holdfast.node.sources.gpu.isolation import Isolation
from holdfast.node.sources.gpu.nvml import NvmlSlowSource, NvmlSource
from tests.waiting import TIMEOUT_SECONDS, until

BORN = 1_800_000_000.0
SICK = 3


@pytest.fixture
def hung(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The GPUs that are not waited for; every other call gets the time it takes, however busy the machine is."""
    hung: set[int] = set()
    run = Isolation.run

    def patient(self: Isolation, calls: Mapping[int, Callable[[], object]], seconds: float) -> dict[int, object]:
        well = run(self, {gpu: call for gpu, call in calls.items() if gpu not in hung}, TIMEOUT_SECONDS)
        return well | run(self, {gpu: call for gpu, call in calls.items() if gpu in hung}, 0.0)

    monkeypatch.setattr(Isolation, "run", patient)
    return hung


@pytest.fixture
def agent(tmp_path: Path, hung: set[int]) -> VirtualAgent:
    twin.make_node(tmp_path / "n01", now=BORN)
    agent = VirtualAgent(load_settings(str(tmp_path / "n01" / "holdfast.toml")), BORN)
    agent.advance(70)
    return agent


@pytest.mark.parametrize(
    ("fault", "value", "expected"),
    [
        ("gpu_unknown_error", "999", "Unknown Error"),
        ("gpu_unknown_error", "10", "in time"),
        ("gpu_hang", "", "has not returned"),
    ],
)
def test_a_sick_gpu_is_named_and_blinds_no_other(
    agent: VirtualAgent, hung: set[int], tmp_path: Path, fault: str, value: str, expected: str
) -> None:
    assert agent.node.health is Health.PASS, agent.node.reason()
    hung |= {SICK} if fault == "gpu_hang" else set()
    twin.inject(tmp_path / "n01", fault, gpu=SICK, value=value, now=agent.now)
    agent.advance(75)
    verdict = agent.node.verdicts["gpu.responding"]
    rows = {row.subject: row for row in verdict.rows}
    assert rows[f"node/n01/gpu/{SICK}"].health is Health.FAIL
    assert expected in rows[f"node/n01/gpu/{SICK}"].reason or "cannot open" in rows[f"node/n01/gpu/{SICK}"].reason
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
    hung.clear()
    agent.advance(130)
    assert agent.node.health is Health.PASS, agent.node.reason()
