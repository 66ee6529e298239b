"""An incident ends on evidence: its worst is behind it, beyond noise; a job that ended can recover no more."""

from dataclasses import replace

import numpy as np
import pytest

from holdfast.fleet.incidents.recovery import ended, recovered
from holdfast.model.account import Account, Chart
from holdfast.model.job import Job, JobState
from holdfast.model.panel import Panel, SignalTable

SINCE = 600.0


def account(*values: float, subject: str = "node/n1/gpu/0") -> Account:
    """Ten values before it began, the rest since; 60 s apart."""
    chart = Chart(signal="x", subject=subject, start=0.0, step=60.0, values=tuple(values))
    found = Account.__new__(Account)
    for name, value in {"charts": (chart,), "since": SINCE, "path": (subject,)}.items():
        object.__setattr__(found, name, value)
    return found


def panel(value: float, *jobs: Job, subject: str = "node/n1/gpu/0") -> Panel:
    times = np.arange(5) * 60.0 + 2000.0
    table = SignalTable((subject,), np.full((1, 5), value, dtype=np.float32))
    return replace(Panel(times, {"x": table}), jobs=jobs)


BEFORE = (100.0, 101.0, 99.0, 100.0, 101.0, 99.0, 100.0, 101.0, 99.0, 100.0)


@pytest.mark.parametrize("now, over", [(100.0, True), (80.0, True), (60.0, False), (50.0, False)])
def test_it_must_be_half_way_back_from_its_worst(now: float, over: bool) -> None:
    """The last points are of the recovery already: they are not how bad it was."""
    one = account(*BEFORE, 50.0, 50.0, 50.0, 50.0, 50.0, 95.0, 99.0, 100.0, 100.0, 100.0)
    assert recovered(one, panel(now), 600.0) is over


def test_a_move_within_its_noise_holds_nothing_open() -> None:
    assert recovered(account(*BEFORE, 102.0, 103.0, 102.0, 103.0, 102.0), panel(103.0), 600.0)


def test_silence_is_no_recovery() -> None:
    assert not recovered(account(*BEFORE, *5 * [50.0]), panel(float("nan")), 600.0)


@pytest.mark.parametrize("subject, runs, silent, over", [
    ("job/a", ("b",), True, True), ("job/a", ("a",), True, False), ("job/a", (), True, False),
    ("job/a", ("b",), False, False), ("node/n1", ("b",), True, False),
])  # fmt: skip
def test_only_a_silent_job_that_does_not_run_has_ended(
    subject: str, runs: tuple[str, ...], silent: bool, over: bool
) -> None:
    jobs = [Job(id=name, nodes=("n1",), state=JobState.RUNNING, source="t") for name in runs]
    lately = panel(float("nan") if silent else 1.0, *jobs, subject=subject)
    assert ended(subject, account(*BEFORE, subject=subject), lately) is over
