"""How much of an account is kept, what a sentence says of money and delay, and the limits of a chart."""

import numpy as np
import pytest

from holdfast.fleet.incidents import account as accounts
from holdfast.fleet.incidents import baseline, losses
from holdfast.fleet.incidents.account import MOST_PATHS, _chart, _with_the_past, account, timeline
from holdfast.fleet.incidents.business_context import parse
from holdfast.fleet.incidents.past import called, sentence
from holdfast.fleet.jobs.accounts import Accounts
from holdfast.model.account import Account, Bill, Chart, Loss
from holdfast.model.finding import Finding
from holdfast.model.panel import Panel, table
from holdfast.model.signal import Event
from holdfast.model.topology import Topology

CONTEXT = parse("[prices]\ngpu_hour = 2.0\n", "p")
FINDING = Finding(cause="cdu/c2", kind="cooling.flow_low", confidence=0.9, since=1800.0)


def _loss(
    subject: str, share: float, chance: float = 1.0, value: float | None = 2400.0, milestone: str = "release"
) -> Loss:
    return Loss(
        subject=subject, gpus=8.0, share_so_far=share, share_now=share, milestone=milestone, day_value=value,
        critical_chance=chance,
    )  # fmt: skip


def _says(*found: Loss, gpu_hour: float = 0.0, rate: float = 4.0) -> str:
    priced = Bill(gpu_hours_per_hour=rate, currency="USD")
    return sentence(FINDING, found, priced, {"ops": "Dana"}, gpu_hour)


@pytest.mark.parametrize(
    ("why", "found", "said"),
    [
        ("a half of a day's value, in an hour", (_loss("job/a", 0.5),), "job a is losing the work of 4 GPUs and delays release by 12 h per day (50 USD/h)"),
        ("where it is critical half of the time", (_loss("job/a", 0.5, 0.5),), "job a is losing the work of 4 GPUs and delays release by 12 h per day (25 USD/h)"),
        ("a day without a value", (_loss("job/a", 0.5, value=None),), "job a is losing the work of 4 GPUs and delays release by 12 h per day"),
        ("without a milestone", (_loss("job/a", 0.5, milestone=""),), "job a is losing the work of 4 GPUs"),
        ("the latest of two", (_loss("job/a", 0.25, milestone="m1"), _loss("job/b", 0.5, milestone="m2")), "jobs a and b are losing the work of 4 GPUs and delay m2 by 12 h per day (50 USD/h)"),
    ],
)  # fmt: skip
def test_what_an_incident_delays(why: str, found: tuple[Loss, ...], said: str) -> None:
    assert _says(*found) == f"cdu/c2: coolant flow is low; {said}; ops on call: Dana", why


def test_the_compute_that_is_lost_has_a_price_where_a_gpu_hour_has_one() -> None:
    assert "the work of 4 GPUs (10.00 USD/h compute)" in _says(_loss("job/a", 0.5, milestone=""), gpu_hour=2.5)


@pytest.mark.parametrize(
    ("count", "names"),
    [(1, "job 0 is"), (2, "jobs 0 and 1 are"), (3, "jobs 0, 1 and 2 are"), (4, "jobs 0, 1, 2 and 1 more are"), (6, "jobs 0, 1, 2 and 3 more are")],
)  # fmt: skip
def test_three_jobs_are_named(count: int, names: str) -> None:
    assert f"; {names} losing" in _says(*(_loss(f"job/{n}", 0.5, milestone="") for n in range(count)))


def test_a_path_and_a_job_are_called_what_they_are() -> None:
    said = _says(_loss("job/a", 0.5, milestone=""), _loss("path/x-y-z", 0.5, milestone=""))
    assert "; job a and the path x to y-z are losing" in said
    assert called("cdu/c2") == "cdu/c2"


TIMES = np.arange(0, 7200, 10.0)


def _panel(columns: int = 720) -> Panel:
    times = np.arange(columns) * 10.0
    return Panel(times, {"cdu_flow_litres_per_minute": table({"cdu/c2": np.arange(columns, dtype=float)})})


@pytest.mark.parametrize(("more", "kept"), [(MOST_PATHS - 1, MOST_PATHS), (MOST_PATHS + 9, MOST_PATHS)])
def test_as_many_ways_are_kept_over_the_evaluations(more: int, kept: int) -> None:
    before = Account(
        kind="k", confidence=0.9, since=1800.0, lasted_seconds=0.0, path=tuple(f"old {n}" for n in range(more))
    )
    finding = Finding(cause="cdu/c2", kind="cooling.flow_low", confidence=0.9, since=1800.0, path=("new", "old 0"))
    made = account(finding, _panel(), Topology(), CONTEXT, before)
    assert made.path[:2] == ("new", "old 0")
    assert len(made.path) == min(kept, more + 1)
    assert MOST_PATHS == 64


@pytest.mark.parametrize(
    ("columns", "since", "width", "points"),
    [(150, 900.0, 3, 50), (60, 900.0, 1, 60), (61, 900.0, 2, 31), (1, 900.0, 1, 1), (720, 1800.0, 11, 58)],
)
def test_a_chart_has_sixty_points_at_most(columns: int, since: float, width: int, points: int) -> None:
    panel = (
        _panel(max(2, columns))
        if columns > 1
        else Panel(np.array([0.0]), {"cdu_flow_litres_per_minute": table({"cdu/c2": [5.0]})})
    )
    found = _chart("cdu_flow_litres_per_minute", "cdu/c2", panel, since)
    assert found is not None
    assert (found.step, len(found.values)) == (panel.step * width, points)
    assert found.start == since - 900.0


def test_what_is_not_measured_or_has_not_begun_has_no_chart() -> None:
    assert _chart("cdu_flow_litres_per_minute", "cdu/c9", _panel(), 1800.0) is None
    assert _chart("cdu_flow_litres_per_minute", "cdu/c2", _panel(10), 99_999.0) is None


@pytest.mark.parametrize(("start", "kept"), [(1790.0, "old"), (1789.0, "new"), (1800.0, "old")])
def test_a_chart_that_no_longer_shows_the_time_before_is_the_earlier_one(start: float, kept: str) -> None:
    new = Chart(subject="a", signal="s", start=start, step=10.0, values=(1.0,))
    old = Chart(subject="a", signal="s", start=900.0, step=10.0, values=(2.0,))
    before = Account(kind="k", confidence=0.9, since=1800.0, lasted_seconds=0.0, charts=(old,))
    assert _with_the_past((new,), before, 1800.0) == (old if kept == "old" else new,)
    assert _with_the_past((new,), None, 1800.0) == (new,)


def test_before_its_first_window_a_job_has_made_no_step() -> None:
    made = Accounts()
    assert (made.step, made.best_step, made.made_before, made.attempt, made.at) == (-1, -1, -1, 0, 0.0)
    assert made.usual_seconds is None
    assert made.ledger_until(50.0) == made.ledger


@pytest.mark.parametrize(
    ("kept", "many"),
    [
        (accounts.MOST_VICTIMS, 20_000),
        (accounts.MOST_SYMPTOMS, 64),
        (accounts.MOST_MOMENTS, 200),
        (accounts.MOST_CHARTS, 8),
        (accounts.OF_THE_CAUSE, 3),
        (losses.BASELINE_SECONDS, 1800.0),
        (losses.HOUR, 3600.0),
        (baseline.BEFORE_SECONDS, 60.0),
        (baseline.ENOUGH, 1 / 3),
    ],
)
def test_how_much_is_kept_and_compared(kept: float, many: float) -> None:
    assert kept == many


@pytest.mark.parametrize(("letters", "kept"), [(10, len("cdu/c2 x: ") + 10), (900, 300)])
def test_what_is_said_of_an_event_is_cut(letters: int, kept: int) -> None:
    event = Event(kind="x", at=1800.0, text="a" * letters, subject="cdu/c2", code="", detail={})
    panel = Panel(_panel().times, {}, (event,))
    (moment,) = timeline(FINDING, panel)
    assert len(moment.text) == kept
