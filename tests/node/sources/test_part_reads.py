"""One part that hangs costs its own answers: the others are read on, and it is read again when it returns."""

import threading
from pathlib import Path

import pytest

from holdfast.model.health import Health
from holdfast.model.history import History
from holdfast.model.inventory import Inventory
from holdfast.model.signal import Reading
from holdfast.node.agent.clock import AgentClock
from holdfast.node.agent.runner import Runner
from holdfast.node.checks.fabric.driver import CHECK as DRIVER
from holdfast.node.checks.fabric.port_down import CHECK as DOWN
from holdfast.node.sources.fabric.infiniband import InfinibandSource
from holdfast.node.sources.part_reads import PartReads
from tests.node.sources.fabric.test_infiniband import PORTS, Tree

TIMEOUT = 60.0


def test_a_part_that_hangs_is_left_behind_and_read_again_later() -> None:
    gate, began, reads, seen = threading.Event(), threading.Event(), PartReads(), list[int]()

    def hang() -> None:
        began.set()
        gate.wait(TIMEOUT)

    calls = {0: lambda: seen.append(0), 1: hang, 2: lambda: seen.append(2)}
    finished: list[bool] = []
    first = threading.Thread(target=lambda: finished.append(reads.run(calls)))
    first.start()
    assert began.wait(TIMEOUT)
    assert reads.hanging(1) is None, "not yet left behind"
    assert reads.abandon() and reads.hanging(1) is not None
    assert reads.run(calls) and seen == [0, 0, 2]
    assert not reads.abandon(), "nothing is being read"
    gate.set()
    first.join(TIMEOUT)
    assert finished == [False] and seen == [0, 0, 2], "what was left behind reads no further part"
    assert reads.hanging(1) is None
    assert reads.run({1: lambda: seen.append(1)}) and seen[-1] == 1


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    made = Tree(tmp_path / "sys")
    for number in range(3):
        made.device(f"mlx5_{number}", pci=f"0000:{0x1A + number:02x}:00.0")
    return made


def judged(readings: list[Reading]) -> History:
    past = History("n1")
    past.inventory = Inventory(node="n1", subjects=frozenset(PORTS))
    for reading in readings:
        past.add(reading)
    return past


def test_an_adapter_that_does_not_answer_fails_under_its_own_name(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """The runner reads the other ports on; the state of the hanging one is unknown, and its driver check fails."""
    source, gate, began = InfinibandSource("n1", str(tree.root)), threading.Event(), threading.Event()
    source.every, source.deadline = 0.01, 0.05
    readings = [source.read(1.0)]

    def hang(now: float) -> None:
        began.set()
        gate.wait(TIMEOUT)

    monkeypatch.setattr(source._ports["mlx5_1/1"], "sample", hang)
    runner = Runner([source], AgentClock())
    runner.start()
    assert began.wait(TIMEOUT)
    while not readings[-1].events:
        runner.report_silence()
        readings += [] if runner.readings.empty() else [runner.readings.get()]
    runner.stop()
    last = readings[-1]
    states = {where for where, name, _ in last.signals if name == "port_state"}
    assert states == {PORTS[0], PORTS[2]}
    assert "does not answer" in last.absent[(PORTS[1], "port_state")]
    past = judged([last])
    rows = {row.subject: row.health for row in DOWN(past.window(last.at, DOWN.span)).rows}
    assert rows == {PORTS[0]: Health.PASS, PORTS[1]: Health.UNKNOWN, PORTS[2]: Health.PASS}
    assert [event.device for event in last.events] == ["0000:1b:00.0"]
    assert last.events[0].kind in DRIVER.event_kinds and last.events[0].severity == "fatal"
    gate.set()
