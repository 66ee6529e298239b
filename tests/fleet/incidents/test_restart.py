"""A controller that restarts within a fault: the incident stays open, its bill goes on, and it ends when it is over."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.fleet.api.board import Board
from holdfast.fleet.controller.seams.loop import SeamWatch
from holdfast.fleet.controller.seams.settings import SeamFiles, SeamSettings
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.incidents.business_context import BusinessContext
from holdfast.fleet.incidents.learned import SLOTS, LearnedBaseline
from holdfast.fleet.incidents.recovery import FORGOTTEN_SECONDS, recovered
from holdfast.fleet.notifications.alertmanager import Alerts, AlertSettings
from holdfast.fleet.store import Store
from holdfast.model.account import Account, Chart
from holdfast.model.incident import Incident
from holdfast.model.panel import Panel, SignalTable, table
from holdfast.model.topology import Topology
from tests.counts import draws
from tests.seams.conftest import World, _calm
from tests.seams.making import Make, change, hot, nodes, of
from tests.stores import new_store

FLOW, RACK_FLOW = "cdu_flow_litres_per_minute", "rack_flow_litres_per_minute"
SUPPLY, INLET = "cdu_supply_celsius", "rack_inlet_celsius"
STEP = change("job_step_seconds", times=1.2)
RANKS = tuple(f"job/llama/rank/{rank}" for rank in range(24))
FAULTS: dict[str, tuple[str, Make]] = {
    "a unit delivers a third": (
        "cdu/c1",
        of(
            change(FLOW, "cdu/c1", times=0.33),
            change(RACK_FLOW, "rack/r1", "rack/r2", times=0.33),
            hot(nodes(1, 6)),
            STEP,
        ),
    ),
    "a unit supplies warm": (
        "cdu/c1",
        of(change(SUPPLY, "cdu/c1", by=12.0), change(INLET, "rack/r1", "rack/r2", by=12.0), hot(nodes(1, 6)), STEP),
    ),
    "a rack is blocked": ("rack/r1", of(change(RACK_FLOW, "rack/r1", times=0.3), hot(nodes(1, 3)), STEP)),
    "a fan fails": ("node/n1", of(change("fan_speed_ratio", "node/n1", times=0.1), hot(nodes(1, 1)), STEP)),
    "a feed is lost": (
        "feed/a",
        of(
            change("feed_voltage_volts", "feed/a", times=0.1),
            change("psu_healthy", *(f"psu/r{n}-a" for n in range(1, 5)), times=0.0),
        ),
    ),
    "a supply is lost": ("psu/r1-a", change("psu_healthy", "psu/r1-a", times=0.0)),
    "a link is weak": (
        "link/leaf1-spine1",
        of(change("link_bandwidth_bytes_per_second", "link/leaf1-spine1", times=0.4), STEP),
    ),
    "metadata is slow": ("storage/s1", change("storage_metadata_seconds", times=50.0)),
    "a GPU is slow": (
        "node/n3/gpu/1",
        of(
            change("gpu_clock_sm_hertz", "node/n3/gpu/1", times=0.7),
            change("rank_compute_seconds", RANKS[5], times=1.3),
            STEP,
        ),
    ),
    "a rank is slow": (RANKS[5], of(change("rank_compute_seconds", RANKS[5], times=1.3), STEP)),
}


def _watch(store: Store) -> SeamWatch:
    files = SeamFiles(topology=Topology(), sources=[], business_context=BusinessContext())
    return SeamWatch(SeamSettings(), files, Alerts(AlertSettings()), store, Board(Policy()))


def _looks(watch: SeamWatch, world: World, panel: Panel, first: float, last: float) -> dict[str, str]:
    """One a minute, as the loop does it, or while one works fewer; answers what ended."""
    over: dict[str, str] = {}
    for now in np.arange(first, last + 1, draws(180, 60)):
        seen = panel.until(float(now))
        ended = watch.take(watch.judge(seen, world.topology), seen, float(now))
        watch.forget(ended, seen)
        over |= ended
    return over


def _longer(panel: Panel, back_at: int | None = None, calm: Panel | None = None) -> Panel:
    """The fault of the last columns goes on for an hour; from a column on everything is as it was before."""
    values = {}
    for name, one in panel.tables.items():
        late = np.tile(one.values[:, -60:], 6)
        if back_at is not None and calm is not None:
            late[:, back_at:] = np.tile(calm.tables[name].values[:, :60], 6)[:, back_at:]
        values[name] = SignalTable(one.subjects, late)
    return Panel(np.arange(360) * 10.0 + panel.now + 600.0, values)


@pytest.mark.parametrize("fault", list(FAULTS)[:: draws(4, 1)])
def test_an_open_fault_outlives_a_restart_and_ends_when_it_is_over(tmp_path: Path, fault: str) -> None:
    cause, make = FAULTS[fault]
    calm, world = _calm(1), _calm(1)
    make(world)
    store = Store.open(new_store(tmp_path / "store.db"))
    first = _watch(store)
    first.evaluation.learned.learn(calm.panel)
    store.save_seam_documents("baseline", first.evaluation.learned.documents(), 0.0)
    _looks(first, world, world.panel, 1500.0, world.panel.now)
    assert cause in first.open, (fault, first.open.keys())
    before = first.open[cause]

    second = _watch(store)
    second.evaluation.learned.load(store.seam_documents("baseline"))
    after = _longer(world.panel)
    second.restore([Incident(id="x", opened=before.since, subject=cause, account=before)], float(after.times[0]))
    assert not _looks(second, world, after, float(after.times[0]) + 60, after.now)
    assert list(second.open) == [cause]
    assert second.open[cause].lasted_seconds > before.lasted_seconds + 3600
    assert second.open[cause].bill.gpu_hours >= before.bill.gpu_hours * 1.5

    well = _longer(world.panel, 180, calm.panel)
    third = _watch(store)
    third.evaluation.learned.load(store.seam_documents("baseline"))
    third.restore([Incident(id="x", opened=before.since, subject=cause, account=before)], float(well.times[0]))
    assert list(_looks(third, world, well, float(well.times[0]) + 60, well.now)) == [cause]
    assert not third.open


def _account(**more: Any) -> Account:
    chart = Chart(subject="cdu/c1", signal=FLOW, start=0.0, step=60.0, values=(200.0,) * 10 + (80.0,) * 10)
    return replace(
        Account(kind="cooling.flow_low", confidence=0.9, since=600.0, lasted_seconds=600.0, path=("cdu/c1 > rack/r1",),
                charts=(chart,)), **more
    )  # fmt: skip


@pytest.mark.parametrize(
    ("why", "now", "unseen", "over"),
    [
        ("as bad as ever", 80.0, 400.0, False),
        ("hardly better", 135.0, 400.0, False),
        ("more than half of the way back", 145.0, 400.0, True),
        ("back", 199.0, 400.0, True),
        ("not measured", float("nan"), 400.0, False),
        ("not measured for a day", float("nan"), FORGOTTEN_SECONDS, False),
        ("so for a day: it is the new usual", 80.0, FORGOTTEN_SECONDS, True),
    ],
)
def test_what_is_evidence_of_recovery(why: str, now: float, unseen: float, over: bool) -> None:
    lately = Panel(np.arange(30) * 10.0, {FLOW: table({"cdu/c1": [now] * 30})})
    assert recovered(_account(), lately, unseen) is over, why


def test_what_rests_on_no_chart_ends_when_it_is_not_found() -> None:
    assert recovered(_account(charts=()), Panel(np.arange(3) * 10.0), 400.0)


def test_a_learned_baseline_is_what_was_taught_by_time_of_day() -> None:
    quiet = _calm(1)
    learned = LearnedBaseline()
    assert learned.panel(quiet.panel) is None and learned.known == 0
    assert learned.learn(quiet.panel)
    assert not learned.learn(quiet.panel), "once in ten minutes"
    again = LearnedBaseline()
    again.load({**learned.documents(), "cdu_supply_celsius": "{", FLOW: learned.documents()[FLOW]})
    usual = again.panel(quiet.panel)
    assert usual is not None and "cdu_supply_celsius" not in usual.tables
    assert np.median(usual.of(FLOW).values[0]) == pytest.approx(200.0, rel=0.01)
    assert SLOTS == 8
