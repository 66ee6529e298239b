"""What is compared with, and who takes over: a fault is never learned as usual, and an aftermath is no new cause."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from holdfast.fleet.api.board import Board
from holdfast.fleet.controller.seams.loop import SeamWatch
from holdfast.fleet.controller.seams.settings import SeamFiles, SeamSettings
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.incidents.baseline import Baseline
from holdfast.fleet.incidents.business_context import BusinessContext
from holdfast.fleet.incidents.open_incidents import AFTERMATH_SECONDS, TAKE_OVER_SECONDS
from holdfast.fleet.notifications.alertmanager import Alerts, AlertSettings
from holdfast.fleet.store import Store
from holdfast.model.account import Account, Chart
from holdfast.model.panel import Panel, table
from holdfast.model.topology import Topology
from tests.stores import new_store

FLOW = "cdu_flow_litres_per_minute"


def _panel(first: float, now: float, *low: tuple[float, float]) -> Panel:
    times = np.arange(first, now + 10, 10.0)
    flow = np.full(len(times), 240.0)
    for since, until in low:
        flow[(times >= since) & (times < until)] = 80.0
    return Panel(times, {FLOW: table({"cdu/c1": flow})})


def test_a_window_that_starts_in_a_fault_starts_after_it() -> None:
    calm = Baseline()
    calm.over(950.0, 2700.0)
    panel = _panel(800.0, 6200.0, (950.0, 2450.0))
    assert calm.window(panel).times[0] == 2700.0
    assert calm.window(_panel(0.0, 400.0)).times[0] == 0.0


def test_a_short_fault_within_a_long_one_does_not_bring_the_beginning_back() -> None:
    calm = Baseline()
    calm.over(950.0, 2700.0)
    calm.over(960.0, 1000.0)
    assert calm.window(_panel(800.0, 6200.0, (950.0, 2450.0))).times[0] == 2700.0


def test_what_is_compared_with_knows_no_past_fault() -> None:
    calm = Baseline()
    calm.over(2000.0, 3000.0)
    panel = _panel(0.0, 5400.0, (2000.0, 2700.0), (5200.0, 5400.0))
    calm.keep(panel, [5200.0])
    assert calm.panel is not None
    assert calm.panel.times[0] == 0.0 and calm.panel.times[-1] == 5140.0
    assert float(calm.panel.of(FLOW).values.min()) == 240.0


@pytest.mark.parametrize("columns", [2, 3, 4])
def test_of_a_window_that_has_only_begun_all_of_it_is_kept(columns: int) -> None:
    calm, now = Baseline(), 10.0 * (columns - 1)
    calm.keep(_panel(0.0, now), [0.0])
    assert calm.panel is not None
    assert calm.panel.now == now


def test_the_good_past_stands_until_the_window_has_one_of_its_own() -> None:
    calm = Baseline()
    calm.keep(_panel(0.0, 1000.0), [950.0])
    calm.over(950.0, 2700.0)
    calm.keep(_panel(400.0, 2800.0), [])
    assert calm.panel is not None, "the window begins in the fault, and what came after it is too short"
    calm.keep(_panel(400.0, 4800.0), [])
    assert calm.panel is None


def _watch(tmp_path: Path) -> SeamWatch:
    files = SeamFiles(topology=Topology(), sources=[], business_context=BusinessContext())
    store = Store.open(new_store(tmp_path / "store.db"))
    return SeamWatch(SeamSettings(), files, Alerts(AlertSettings()), store, Board(Policy()))


def _account(kind: str, *victims: str) -> Account:
    return Account(kind=kind, confidence=0.9, since=0.0, lasted_seconds=0.0, sentence=kind, victims=victims)


@pytest.mark.parametrize(
    ("root", "hurts", "waits"),
    [("job/gemma/rank/3", (), AFTERMATH_SECONDS), ("node/n9/gpu/1", ("job/gemma",), TAKE_OVER_SECONDS)],
)
def test_a_victim_that_is_slow_for_a_while_yet_is_no_new_cause(
    tmp_path: Path, root: str, hurts: tuple[str, ...], waits: float
) -> None:
    watch, panel = _watch(tmp_path), _panel(0.0, 100.0)
    watch.take({"node/n1/gpu/0": _account("gpu.slow", "job/gemma", "job/gemma/rank/3")}, panel, 0.0)
    later = {root: _account("job.rank_slow", *hurts)}
    for now in np.arange(60.0, waits + 60.0, 60.0):
        assert not watch.take(later, panel, float(now))
        assert list(watch.open) == ["node/n1/gpu/0"]
    assert list(watch.take(later, panel, waits + 60.0)) == ["node/n1/gpu/0"]


def test_a_slowdown_without_a_cause_displaces_no_cause_however_long_it_lasts(tmp_path: Path) -> None:
    watch, panel = _watch(tmp_path), _panel(0.0, 100.0)
    watch.take({"node/n1/gpu/0": _account("gpu.slow", "job/gemma")}, panel, 0.0)
    unexplained = {"job/gemma": _account("job.slowdown"), "job/other": _account("job.slowdown")}
    for now in np.arange(60.0, AFTERMATH_SECONDS + 600.0, 60.0):
        over = watch.take(unexplained, panel, float(now))
        assert not any("turned out" in why for why in over.values())
        watch.forget(over, panel)
        assert not {"job/gemma", "node/n1/gpu/0"} <= set(watch.open), "one root, one incident"
        assert "job/other" in watch.open
    assert "job/gemma" in watch.open, "the GPU is well, and the job is still slow"


STEP = "job_step_seconds"


def _slow_job(since: float) -> Account:
    values = (4.6,) * 10 + (6.2,) * 20
    chart = Chart(subject="job/gemma", signal=STEP, start=since - 100.0, step=10.0, values=values)
    return replace(_account("job.slowdown"), since=since, path=("job/gemma",), charts=(chart,))


@pytest.mark.parametrize(
    ("why", "after", "since", "step", "opens"),
    [
        ("the window still holds what the GPU did to it", 60.0, 200.0, 6.2, False),
        ("it is well, however long the window holds it", AFTERMATH_SECONDS + 60.0, 200.0, 4.6, False),
        ("it had time to recover and is slow", AFTERMATH_SECONDS, 200.0, 6.2, True),
        ("it began when the GPU was well", 60.0, 400.0, 6.2, True),
    ],
)
def test_the_aftermath_of_an_incident_is_no_incident(
    tmp_path: Path, why: str, after: float, since: float, step: float, opens: bool
) -> None:
    watch, panel = _watch(tmp_path), _panel(0.0, 400.0)
    watch.take({"node/n1/gpu/0": _account("gpu.slow", "job/gemma")}, panel, 0.0)
    watch.forget(watch.take({}, panel, 400.0), panel)
    assert not watch.open
    times = np.arange(0.0, 401.0, 10.0)
    now = Panel(times, {STEP: table({"job/gemma": [step] * len(times), "job/other": [step] * len(times)})})
    watch.take({"job/gemma": _slow_job(since), "job/other": _account("job.slowdown")}, now, 400.0 + after)
    assert ("job/gemma" in watch.open) is opens, why
    assert "job/other" in watch.open, "it suffered from nothing"


def test_a_job_that_stands_still_after_an_incident_is_reported_at_once(tmp_path: Path) -> None:
    watch, panel = _watch(tmp_path), _panel(0.0, 400.0)
    watch.take({"node/n1/gpu/0": _account("gpu.slow", "job/gemma")}, panel, 0.0)
    watch.forget(watch.take({}, panel, 400.0), panel)
    watch.take({"job/gemma": _account("job.stopped")}, panel, 410.0)
    assert "job/gemma" in watch.open


def test_a_gpu_of_a_victim_is_not_blamed_beside_the_open_cause(tmp_path: Path) -> None:
    watch, panel = _watch(tmp_path), _panel(0.0, 100.0)
    cause = {"cdu/c1": _account("cooling.flow_low", "node/n1", "job/gemma")}
    slow = {f"node/n{number}/gpu/0": _account("gpu.slow", "job/other") for number in (1, 2)}
    watch.take(cause, panel, 0.0)
    watch.take(cause | slow, panel, 60.0)
    assert sorted(watch.open) == ["cdu/c1", "node/n2/gpu/0"]


@pytest.mark.parametrize(("ended", "begins"), [(100.0, 100.0), (101.0, 110.0)])
def test_a_fault_before_the_window_is_forgotten_and_one_at_its_beginning_is_not(ended: float, begins: float) -> None:
    calm = Baseline()
    calm.over(50.0, ended)
    panel = _panel(100.0, 5000.0)
    calm.keep(panel, [])
    assert calm.window(panel).times[0] == begins


def test_what_began_first_decides_how_far_the_calm_reaches() -> None:
    calm = Baseline()
    calm.keep(_panel(0.0, 5400.0), [5000.0, 4000.0])
    assert calm.panel is not None
    assert calm.panel.times[-1] == 3940.0
    kept = calm.panel
    calm.keep(_panel(600.0, 6000.0), [5000.0])
    assert calm.panel is kept, "it stands still while something is open"


def test_a_fault_from_the_beginning_on_leaves_the_baseline_alone() -> None:
    calm = Baseline()
    calm.keep(_panel(0.0, 1000.0), [10.0])
    assert calm.panel is not None
    assert len(calm.panel.times) >= 1
    assert calm.panel.times[-1] <= 1000.0


def test_two_faults_at_the_beginning_are_both_left_out() -> None:
    calm = Baseline()
    calm.over(200.0, 600.0)
    calm.over(700.0, 1500.0)
    assert calm.window(_panel(100.0, 9000.0)).times[0] == 1500.0


def test_a_fault_in_the_middle_leaves_the_beginning_as_it_is() -> None:
    calm = Baseline()
    calm.over(5000.0, 5500.0)
    assert calm.window(_panel(0.0, 9000.0)).times[0] == 0.0


@pytest.mark.parametrize(("now", "stands"), [(2990.0, True), (3000.0, False)])
def test_a_third_of_the_window_since_the_last_fault_is_calm_enough(now: float, stands: bool) -> None:
    """A window from 0 whose fault ended at 2,000: at 3,000 a third of it is calm."""
    calm = Baseline()
    calm.keep(_panel(0.0, 500.0), [450.0])
    calm.over(60.0, 2000.0)
    calm.keep(_panel(0.0, now), [])
    assert (calm.panel is not None) is stands


def test_columns_of_past_faults_are_taken_out_of_what_is_compared_with() -> None:
    calm = Baseline()
    calm.over(2060.0, 2500.0)
    calm.keep(_panel(0.0, 5400.0), [5000.0])
    assert calm.panel is not None
    times = set(calm.panel.times.tolist())
    assert (1990.0 in times, 2000.0 in times, 2490.0 in times, 2500.0 in times) == (True, False, False, True)


def test_what_is_compared_with_ends_a_minute_before_the_first_that_is_open() -> None:
    calm = Baseline()
    calm.keep(_panel(0.0, 5400.0), [5200.0, 5000.0, 5300.0])
    assert calm.panel is not None
    assert calm.panel.times[-1] == 4940.0


@pytest.mark.parametrize(("since", "stored"), [(1060.0, True), (1070.0, False)])
def test_a_window_that_began_within_a_fault_takes_what_is_stored(since: float, stored: bool) -> None:
    calm, learned = Baseline(), _panel(0.0, 500.0)
    calm.keep(_panel(1000.0, 5000.0), [4000.0, since], learned)
    assert (calm.panel is learned) is stored


def test_of_a_window_that_is_a_fault_as_a_whole_nothing_is_left_out() -> None:
    calm = Baseline()
    calm.over(100.0, 6000.0)
    calm.keep(_panel(0.0, 5000.0), [4990.0])
    assert calm.panel is not None
    assert list(calm.panel.times) == [5000.0]


def test_a_window_without_a_past_fault_is_compared_with_as_it_is() -> None:
    calm, panel = Baseline(), _panel(0.0, 500.0)
    assert calm._undisturbed(panel) is panel
    calm.over(100.0, 200.0)
    assert len(calm._undisturbed(panel).times) == len(panel.times) - 16, "from a minute before it on"
