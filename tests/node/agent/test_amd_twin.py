"""AMD nodes: a healthy one passes, with its sources slow; every fault turns exactly its checks, and back."""

from pathlib import Path

import pytest

from holdfast.lab import twin
from holdfast.lab.twin.answers import right as answers
from holdfast.lab.twin.hardware import load_model
from holdfast.model.health import Health
from holdfast.node.agent.assemble import load_settings
from holdfast.node.agent.virtual import VirtualAgent
from tests.node.agent.test_freshness import START, Healthy

BAD = (Health.FAIL, Health.DEGRADED)
SICK = 3


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("amd") / "n01"
    twin.make_node(path, "mi300x", now=START)
    return path


@pytest.fixture(scope="module")
def agent(home: Path) -> VirtualAgent:
    agent = VirtualAgent(load_settings(str(home / "holdfast.toml")), START)
    agent.advance(70)  # two reads of what is read once a minute
    return agent


def bad(agent: VirtualAgent) -> dict[str, set[str]]:
    found = {name: {row.subject for row in v.rows if row.health in BAD} for name, v in agent.node.verdicts.items()}
    return {name: subjects for name, subjects in found.items() if subjects}


def test_a_healthy_node_passes_and_asks_what_its_gpus_can_answer(agent: VirtualAgent) -> None:
    assert agent.node.health is Health.PASS, agent.node.reason()
    asked = {name for name, v in agent.node.verdicts.items() if v.health is Health.PASS}
    same = {"gpu.lost", "gpu.responding", "gpu.ecc", "gpu.rows", "gpu.temperature", "gpu.thermal_gradient", "gpu.power",
            "gpu.clocks", "gpu.throttle", "gpu.xid", "nvlink.lanes", "nvlink.errors", "pcie.link",
            "pcie.replay"}  # fmt: skip
    assert same <= asked
    nvidia = {"gpu.persistence", "gpu.recovery_action", "gpu.fabric_manager", "gpu.fabric_state", "nvswitch.sxid"}
    assert all(agent.node.verdicts[name].health is Health.NOT_APPLICABLE for name in nvidia)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(twin.all_faults("amd")))
def test_every_fault_turns_exactly_its_checks(agent: VirtualAgent, home: Path, name: str) -> None:
    fault = twin.all_faults("amd")[name]
    twin.inject(home, name, gpu=SICK, now=agent.now)
    slow = fault.needs or fault.on == "node"  # what warms every GPU at once is a rate too, until it is over
    agent.advance(400 if slow else 130)
    found = bad(agent)
    assert set(found) == set(fault.expects)
    address = open_address(home)
    every = {f"node/n01/gpu/{number}" for number in range(8)}
    own = every if fault.on == "node" else {f"node/n01/gpu/{SICK}", f"node/n01/pci/{address}"}
    for subjects in found.values():
        assert subjects <= own, "the right part"
    for check in fault.expects:
        assert answers.differences(name, agent.node.verdicts[check], load_model("mi300x")) == []
    twin.clear(home, name, gpu=SICK, now=agent.now)
    for _ in range(3):  # a rate is forgotten when its window is over
        if agent.node.health is not Health.PASS:
            agent.advance(240)
    assert agent.node.health is Health.PASS, agent.node.reason()


def open_address(home: Path) -> str:
    return str(twin.open_node(home).gpu_functions()[SICK].address)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_healthy_day_with_slow_sources_has_no_verdict_change(tmp_path: Path) -> None:
    twin.make_node(tmp_path / "n01", "mi300x", now=START)
    day = Healthy(load_settings(str(tmp_path / "n01" / "holdfast.toml"))).day(86400.0, {}, seed=1)
    assert (day.changes, day.refused) == ([], [])
