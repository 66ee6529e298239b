"""The steady clock: it never steps, follows the machine's slowly, and continues from what is stored."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.runtime.clock import SLEW, SteadyClock
from tests.source import modules

DAY = 86_400.0


class Machine:
    """A wall clock that can be set, and the true time since boot."""

    def __init__(self) -> None:
        self.offset, self.true = 1_000_000.0, 0.0

    def wall(self) -> float:
        return self.offset + self.true

    def elapsed(self) -> float:
        return self.true


@given(st.lists(st.tuples(st.floats(0, 3_600), st.floats(-400 * DAY, 400 * DAY)), max_size=20))
def test_whatever_the_machine_clock_does_durations_are_right_within_one_percent(
    moves: list[tuple[float, float]],
) -> None:
    machine = Machine()
    clock = SteadyClock(machine.wall, machine.elapsed)
    before = clock()
    for seconds, jump in moves:
        machine.offset += jump
        machine.true += seconds
        now = clock()
        assert (1 - SLEW) * seconds - 1e-3 <= now - before <= (1 + SLEW) * seconds + 1e-3
        before = now


@pytest.mark.parametrize("jump", [-DAY, DAY])
def test_it_finds_the_machine_clock_again(jump: float) -> None:
    machine = Machine()
    clock = SteadyClock(machine.wall, machine.elapsed)
    machine.offset += jump
    for _ in range(101):
        machine.true += DAY
        clock()
    assert clock() == pytest.approx(machine.wall())


def test_it_continues_from_what_is_stored() -> None:
    machine = Machine()
    clock = SteadyClock(machine.wall, machine.elapsed)
    assert clock.at_least(machine.wall() + DAY) == DAY
    assert clock() == machine.wall() + DAY
    assert clock.at_least(machine.wall()) == 0.0
    assert clock() == machine.wall() + DAY


# Who may read the machine's clock: it is sent to or compared with somebody else's, shown to an operator, or a date.
WALL = {"fleet/notifications/alertmanager.py", "fleet/controller/seams/facility.py", "fleet/policy/replay.py",
        "fleet/controller/operators/drill_player.py"}  # fmt: skip


def test_no_timer_of_the_fleet_reads_the_machine_clock() -> None:
    found = set()
    for path, tree in modules(holding=("time.time",), below=("fleet/",)):
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr == "time" and ast.unparse(node.value) == "time":
                found.add(path)
    assert {path for path in found if not path.startswith("fleet/standalone/")} == WALL
