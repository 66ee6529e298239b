"""The runner: a hung source is reported and left behind; the others and shutdown go on."""

import threading

from holdfast.model.signal import Reading, Signal
from holdfast.node.agent.clock import AgentClock
from holdfast.node.agent.runner import Runner, read_guarded


class Steady:
    name, every, deadline, carries = "steady", 0.01, 1.0, ("x",)

    def read(self, now: float) -> Reading:
        return Reading(source=self.name, at=now, signals=[Signal("node/n", "x", now)])


class Hung:
    name, every, deadline, carries = "nvml", 0.01, 0.05, ("y",)

    def __init__(self) -> None:
        self.release = threading.Event()

    def read(self, now: float) -> Reading:
        self.release.wait(120)
        return Reading(source=self.name, at=now)


class Broken:
    name, every, deadline, carries = "broken", 1.0, 1.0, ()

    def read(self, now: float) -> Reading:
        raise ZeroDivisionError("an unforeseen case")


def take_until(runner: Runner, wanted: str, most: int = 400) -> list[Reading]:
    """Drain readings until one is blind for `wanted`, asking after silence as the agent does."""
    got = []
    for _ in range(most):
        runner.report_silence()
        got.append(runner.readings.get(timeout=60))
        if got[-1].source == wanted and got[-1].blind:
            return got
    raise AssertionError(f"{wanted} was never reported silent")


def test_a_hung_driver_is_unknown_and_does_not_stop_the_others() -> None:
    hung = Hung()
    runner = Runner([hung, Steady()], AgentClock())
    runner.start()
    got = take_until(runner, "nvml")
    assert "the driver has not answered for" in got[-1].blind
    assert sum(reading.source == "steady" for reading in got) >= 2
    runner.stop()
    hung.release.set()


def test_a_source_that_raises_is_blind_with_the_error_as_reason() -> None:
    reading = read_guarded(Broken(), 5.0)
    assert "ZeroDivisionError: an unforeseen case" in reading.blind
