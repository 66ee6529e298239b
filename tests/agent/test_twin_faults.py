"""Every fault of the twin turns exactly its checks, on the right GPU or port, and clearing it turns them back."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.agent.assemble import load_settings
from holdfast.agent.virtual import VirtualAgent
from holdfast.model.health import Health
from holdfast.model.verdict import Verdict
from holdfast.sources.repairs import tell
from holdfast.twin.fault import Fault, all_faults
from holdfast.twin.inject import clear, inject
from holdfast.twin.life import tick
from holdfast.twin.node import Node, make_node

pytestmark = pytest.mark.slow

START = 1_800_000_000.0
BAD = (Health.FAIL, Health.DEGRADED)
GPU, PORT = 3, "mlx5_4"
SETTLE_SECONDS = 130.0  # two rounds of the slowest source, so that rates have something to compare
SHOW_SECONDS = 450.0  # six minutes of throttling make a fail
CLEAR_SECONDS = 4000.0  # an hour's window must pass before its counters are forgotten


class Life:
    """A twin node and the agent on it, in virtual time."""

    def __init__(self, directory: Path) -> None:
        self.twin: Node = make_node(directory, now=START)
        self.agent = VirtualAgent(load_settings(str(directory / "holdfast.toml")), START)

    def passes(self, seconds: float) -> None:
        self.agent.advance(seconds, self._each_second)

    def _each_second(self, now: float) -> None:
        if round(now) % 10 == 0:
            tick(self.twin, 10.0)

    def until(self, checks: set[str], most: float) -> None:
        """Let time pass until exactly these checks are bad, and a while longer to see that they stay alone."""
        end = self.agent.now + most
        while set(self.bad()) != checks and self.agent.now < end:
            self.passes(10.0)
        self.passes(70.0)

    def bad(self) -> dict[str, Verdict]:
        return {name: v for name, v in self.agent.node.verdicts.items() if v.health in BAD}

    def states(self) -> dict[str, str]:
        return {name: f"{v.state}: {v.summary()}" for name, v in self.agent.node.verdicts.items() if v.state != "pass"}


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    alive = Life(tmp_path_factory.mktemp("twin") / "n01")
    alive.passes(SETTLE_SECONDS)
    assert alive.states() == {}
    yield alive


def test_an_hour_without_faults_has_no_verdict_but_pass(tmp_path: Path) -> None:
    alive = Life(tmp_path / "n01")
    alive.passes(SETTLE_SECONDS)
    assert alive.states() == {}
    settled = len(alive.agent.changes)
    alive.passes(3600)
    assert [change for change in alive.agent.changes[settled:] if change.after != "pass"] == []
    assert alive.states() == {}


FAULTS = [fault for fault in all_faults().values() if fault.turns]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_turns_exactly_its_checks_and_clearing_turns_them_back(life: Life, fault: Fault) -> None:
    inject(life.twin, fault.name, gpu=GPU, port=PORT, now=life.agent.now, pause=life.passes)
    life.until(set(fault.turns), SHOW_SECONDS)
    bad = life.bad()
    assert set(bad) == set(fault.turns), life.states()
    for verdict in bad.values():
        assert verdict.remedy and verdict.owner and verdict.failure_class, verdict
        _is_about_the_right_part(verdict, fault, life.twin)
    clear(life.twin, fault.name, gpu=GPU, port=PORT, now=life.agent.now)
    tell(str(life.twin.directory / "state"), f"node/{life.twin.name}", life.agent.now, "the fault was cleared")
    life.until(set(), CLEAR_SECONDS)
    assert life.states() == {}


def _is_about_the_right_part(verdict: Verdict, fault: Fault, twin: Node) -> None:
    subjects = {row.subject for row in verdict.rows if row.health in BAD}
    if fault.on == "gpu":
        address = str(twin.gpu_functions()[GPU].address)
        above = twin.gpu_functions()[GPU].path.rsplit("/", 2)[-2]
        allowed = {f"gpu/{GPU}", f"pci/{address}", f"pci/{above}"}
    elif fault.on == "port":
        port = next(port for port in twin.ports() if port.name == PORT)
        above = port.function.path.rsplit("/", 2)[-2]
        allowed = {f"nic/{PORT}/1", f"pci/{port.function.address}", f"pci/{above}"}
    else:
        return
    assert subjects and all(any(s.endswith(part) for part in allowed) for s in subjects), subjects
