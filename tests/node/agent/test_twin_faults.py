"""The whole path in virtual time: twin -> sources -> checks. Each fault turns exactly its checks, and back."""

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.lab import twin
from holdfast.lab.twin.answers import right as answers
from holdfast.lab.twin.fault import Fault
from holdfast.model import subject
from holdfast.model.health import Health
from holdfast.node.agent.assemble import census, load_settings, questions, sources
from holdfast.node.agent.node import Node
from holdfast.node.agent.once import prepare
from holdfast.node.agent.virtual import VirtualAgent

pytestmark = pytest.mark.slow

BORN = 1_800_000_000.0
ROUND = 30.0
BAD = (Health.FAIL, Health.DEGRADED)
HANGS = {"driver_hang"}  # would hang this thread; the agent's tests have it on a thread of its own
PORTS = {"port_down": "mlx5_4", "port_flap": "mlx5_5", "port_missing": "mlx5_6"}  # downtime is remembered per port


class Watched:
    """A twin node and the judgement over it, driven by a clock of our own."""

    def __init__(self, home: Path) -> None:
        self.twin = twin.make_node(home, now=BORN)
        self.now = BORN
        settings = load_settings(str(home / "holdfast.toml"))
        self.node = Node(census(settings), questions(settings, "passive"))
        self.sources = sources(settings, "passive")
        prepare(self.node, self.sources)

    def live(self, seconds: float, step: float = ROUND) -> None:
        for _ in range(math.ceil(seconds / step)):
            self.now += step
            twin.tick(self.twin, step, seed=1)
            for source in self.sources:
                self.node.take(source.read(self.now))
            self.node.judge(self.now)

    def bad(self) -> dict[str, set[str]]:
        """Checks with a failed or degraded row, and whose rows those are."""
        found = {name: {row.subject for row in v.rows if row.health in BAD} for name, v in self.node.verdicts.items()}
        return {name: subjects for name, subjects in found.items() if subjects}

    def live_until(self, wanted: set[str], at_most: float, step: float = ROUND) -> None:
        end = self.now + at_most
        while set(self.bad()) != wanted and self.now < end:
            self.live(step, step)


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    it = Watched(tmp_path_factory.mktemp("twin") / "n01")
    it.live(480)
    yield it


def _place(fault: Fault) -> dict[str, object]:
    if fault.on == "port":
        return {"port": PORTS.get(fault.name, "mlx5_3")}
    return {"gpu": 3} if fault.on == "gpu" else {}


def _broken(watched: Watched, fault: Fault) -> set[str]:
    """The subjects that the verdicts may blame for a fault."""
    name = watched.twin.name
    if fault.on == "gpu":
        function = watched.twin.gpu_functions()[3]
        return {subject.gpu(name, 3), *(subject.pci(name, str(a)) for a in (function.address, *function.above))}
    if fault.on == "port":
        port = next(port for port in watched.twin.ports() if port.name == _place(fault)["port"])
        addresses = (port.function.address, *port.function.above)
        return {subject.port(name, port.name, 1), *(subject.pci(name, str(a)) for a in addresses)}
    return set()


@pytest.mark.parametrize("name", [name for name in twin.all_faults("nvidia") if name not in HANGS])
def test_a_fault_turns_exactly_its_checks_and_clearing_it_turns_them_back(watched: Watched, name: str) -> None:
    fault = twin.all_faults("nvidia")[name]
    assert watched.bad() == {}, "the test before left something behind"
    step = 1.0 if fault.on == "port" else ROUND
    place = _place(fault)
    twin.inject(watched.twin, name, now=watched.now, pause=lambda s: watched.live(s, 1.0), **place)  # type: ignore[arg-type]
    watched.live(2 * step, step)
    watched.live_until(set(fault.expects), at_most=480, step=step)
    found = watched.bad()
    assert set(found) == set(fault.expects)
    for check in found:
        verdict = watched.node.verdicts[check]
        assert verdict.owner
        assert answers.differences(name, verdict, watched.twin.model) == []
    if blamed := _broken(watched, fault):
        assert set().union(*found.values()) <= blamed
    twin.clear(watched.twin, name, now=watched.now, **place)  # type: ignore[arg-type]
    watched.live(ROUND)
    watched.live_until(set(), at_most=900)
    assert watched.bad() == {}


def test_an_hour_without_faults_has_no_verdict_but_pass(tmp_path: Path) -> None:
    watched = Watched(tmp_path / "n01")
    watched.live(60)
    verdicts = set()
    for minute in range(60):
        if minute == 20:
            for gpu in range(8):
                twin.inject(watched.twin, "gpu_process", gpu=gpu, now=watched.now)
        if minute == 45:
            for gpu in range(8):
                twin.clear(watched.twin, "gpu_process", gpu=gpu, now=watched.now)
        watched.live(60)
        verdicts |= {(v.check, v.health.value, v.summary()) for v in watched.node.verdicts.values()}
    assert {v for v in verdicts if v[1] not in ("pass", "not_applicable")} == set()


def test_an_hour_at_every_source_s_own_cadence_changes_no_verdict(tmp_path: Path) -> None:
    node = twin.make_node(tmp_path / "n01", now=BORN)
    agent = VirtualAgent(load_settings(str(tmp_path / "n01" / "holdfast.toml")), BORN)

    def pass_time(now: float) -> None:
        if round(now) % 10 == 0:
            twin.tick(node, 10.0)

    agent.advance(130, pass_time)
    assert {v.health for v in agent.node.verdicts.values()} <= {Health.PASS, Health.NOT_APPLICABLE}
    assert agent.advance(3600, pass_time) == []
