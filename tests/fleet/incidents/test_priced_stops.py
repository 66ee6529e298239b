"""A job that hangs or is killed, as a controller sees it that is told of step times alone: opened, priced, closed."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from holdfast.economics.costs.finding import Prices
from holdfast.fleet.api.board import Board
from holdfast.fleet.controller.seams.loop import SeamWatch
from holdfast.fleet.controller.seams.settings import SeamFiles, SeamSettings
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.incidents.business_context import BusinessContext, BusinessJob, Milestone
from holdfast.fleet.notifications.alertmanager import Alerts, AlertSettings
from holdfast.fleet.store import Store
from holdfast.model.account import Account
from holdfast.model.finding import Finding
from holdfast.model.incident import Incident
from holdfast.model.job import Job, JobState
from holdfast.model.topology import Topology
from holdfast.model.wire.progress import RankWindow
from holdfast.model.wire.report import Report
from holdfast.runtime import clock
from holdfast.seams.planned import PlannedWork
from holdfast.seams.stopped import STOPPED
from tests.economics.costs.test_ledger import _by_hand
from tests.stores import new_store

MINUTE, HOUR, BEGIN = 60.0, 3600.0, 1_000_000.0
STEP = 2.0
RELEASE = Milestone(name="release", due=datetime(2030, 1, 1, tzinfo=UTC), float_days=0.25, value_per_day=2400.0)


def context(gpus: float, milestone: str = "", names: tuple[str, ...] = ("llama",)) -> BusinessContext:
    jobs = {f"job/{name}": BusinessJob(name=name, gpus=gpus, milestone=milestone) for name in names}
    prices = Prices(gpu_hour=2.35, alternative_gpu_hour=3.1, queued_chance=0.5)
    return BusinessContext(prices=prices, jobs=jobs, milestones={"release": RELEASE} if milestone else {})


@dataclass
class Site:
    """A virtual day: one rank of each job reports through the agent of its node, and the loop looks now and then."""

    store: Store
    business: BusinessContext
    jobs: tuple[str, ...] = ("llama",)
    now: float = BEGIN
    closed: list[tuple[str, Account, str]] = field(default_factory=list)
    made: dict[str, int] = field(default_factory=dict)  # steps
    session: dict[str, str] = field(default_factory=dict)
    scheduled: bool = True
    found: dict[str, Account] = field(default_factory=dict)  # by another cause

    def __post_init__(self) -> None:
        self.watch = self._new()

    def _new(self) -> SeamWatch:
        files = SeamFiles(topology=Topology(owners={"job": "research"}), sources=[], business_context=self.business)
        return SeamWatch(SeamSettings(), files, Alerts(AlertSettings()), self.store, Board(Policy()))

    def restart(self) -> None:
        """What is stored of the incidents, and nothing else, is known afterwards."""
        before, delays = self.watch.open, dict(self.watch.incidents.ledger.delays)
        self.watch = self._new()
        self.watch.incidents.ledger.delays = delays
        self.watch.restore(
            [Incident(id=root, opened=one.since, subject=root, account=one) for root, one in before.items()], self.now
        )

    def passes(self, seconds: float, *working: str, every: float = 4 * MINUTE) -> None:
        """Jobs that work make a step in two seconds; the others make none."""
        end = self.now + seconds
        while self.now < end:
            span = min(every, end - self.now)
            self.now += span
            for name in working:
                self.report(name, span)
            self.look()

    def report(self, name: str, seconds: float) -> None:
        steps = round(seconds / STEP)
        self.made[name] = self.made.get(name, 0) + steps
        self._send(name, at=self.now, step=self.made[name], steps=steps, seconds=seconds)

    def dies(self, name: str, steps_lost: int) -> None:
        self._send(name, at=self.now, step=self.made[name], ended="gone")
        self.session[name] = f"{self.session.get(name, 'a')}x"
        self.made[name] -= steps_lost

    def _send(self, name: str, **facts: object) -> None:
        session = self.session.get(name, "a")
        began = BEGIN if session == "a" else self.now - 1.0
        window = RankWindow(
            job=name, owner="uid-1", rank=0, world=8, session=session, began=began, **facts,  # type: ignore[arg-type]
        )  # fmt: skip
        node = f"node-{name}"
        self.watch.intake.take_report(Report(node=node, session="s", seq=1, at=self.now, progress=(window,)))

    def look(self) -> None:
        running = tuple(
            Job(id=str(number), source="slurm", start=BEGIN - 60, nodes=(f"node-{name}",), state=JobState.RUNNING)
            for number, name in enumerate(self.jobs)
            if self.scheduled
        )
        panel = self.watch.window.panel(running)
        self.watch.look_for_stops(running, self.now)
        found = self.watch.judge(panel, self.watch.topology) | self.found
        if any(loss.subject in self.watch.stops for one in self.found.values() for loss in one.losses):
            found = {root: one for root, one in found.items() if one.kind != STOPPED}
        over = self.watch.take(found, panel, self.now)
        self.closed += [(root, self.watch.open[root], why) for root, why in over.items()]
        self.watch.forget(over, panel)


def costs(*accounts: Account) -> dict[str, float]:
    names = [layer.name for layer in accounts[0].bill.layers]
    return {name: sum(one.bill.layers[place].so_far or 0.0 for one in accounts) for place, name in enumerate(names)}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setattr(clock, "now", lambda: SITES[-1].now if SITES else BEGIN)
    SITES.clear()
    return Store.open(new_store(tmp_path / "store.db"))


SITES: list[Site] = []


def site(store: Store, business: BusinessContext, *jobs: str) -> Site:
    SITES.append(made := Site(store, business, jobs or ("llama",)))
    return made


@pytest.mark.parametrize("restarted", [False, True], ids=["", "and the controller restarts in between"])
def test_a_hang_of_six_hours_opens_an_incident_and_costs_what_the_docs_say(store: Store, restarted: bool) -> None:
    made = site(store, context(1024))
    made.passes(40 * MINUTE, "llama")
    made.passes(6 * HOUR / 2)
    (found,) = made.watch.open.values()
    assert (found.kind, found.since) == (STOPPED, BEGIN + 40 * MINUTE)
    assert found.sentence.startswith(
        "job/llama: the job makes no steps, and no cause was found; job llama is losing the work of 1.02e+03 GPUs"
    )
    assert found.evidence[0] == "job/llama has made no step for 3 h after step 1200; a step usually takes 2 s"
    assert found.owners == ("research",) and found.unknown and "ruled out" in found.evidence[2]
    if restarted:
        made.restart()
    made.passes(6 * HOUR / 2)
    assert made.closed == []
    made.dies("llama", 900)  # half an hour of steps
    made.passes(20 * MINUTE, "llama")
    ((root, bill, why),) = made.closed
    assert (root, why) == ("job/llama", "it makes steps again")
    by_hand = _by_hand("hangs for six hours")
    assert {name: costs(bill)[name] for name in by_hand} == pytest.approx(by_hand)


def test_a_job_that_is_killed_four_times_costs_what_the_docs_say(store: Store) -> None:
    made = site(store, context(256))
    for _ in range(4):
        made.passes(HOUR, "llama")
        made.dies("llama", 600)  # twenty minutes of steps
        made.passes(12 * MINUTE)
    made.passes(HOUR, "llama")
    assert [why for _, _, why in made.closed] == ["it makes steps again"] * 4
    by_hand = _by_hand("is killed four times")
    found = costs(*(bill for _, bill, _ in made.closed))
    assert {name: found[name] for name in by_hand} == pytest.approx(by_hand, abs=0.01)


def test_a_short_death_is_an_incident_by_the_work_that_it_cost(store: Store) -> None:
    made = site(store, context(256))
    made.passes(HOUR, "llama")
    made.dies("llama", 600)
    made.passes(2 * MINUTE)
    made.passes(20 * MINUTE, "llama")
    ((_, bill, _),) = made.closed
    assert costs(bill)["direct compute"] == pytest.approx(256 * 2 / 60 * 2.35)
    assert costs(bill)["rollback"] == pytest.approx(256 / 3 * 2.35)


def test_a_job_of_which_no_one_says_that_it_is_there_opens_nothing(store: Store) -> None:
    made = site(store, context(256))
    made.passes(HOUR, "llama")
    made.scheduled = False
    made.passes(2 * HOUR)
    assert not made.watch.open and not made.closed


def test_what_was_announced_is_no_incident(store: Store) -> None:
    made = site(store, context(256))
    made.passes(HOUR, "llama")
    made.watch.evaluation.planned = (
        PlannedWork(name="w", subjects=("job/llama",), start=made.now - 60, end=made.now + HOUR),
    )
    made.passes(HOUR)
    assert not made.watch.open
    made.passes(HOUR)
    assert list(made.watch.open) == ["job/llama"], "it is over, and the job still stands"


def test_two_jobs_of_one_milestone_that_hang_together_delay_it_once_beyond_its_float(store: Store) -> None:
    """A float of six hours; both stand still for ten: four hours late, at 100 an hour, once."""
    made = site(store, context(64, "release", ("a", "b")), "a", "b")
    made.passes(40 * MINUTE, "a", "b")
    made.passes(10 * HOUR)
    assert len(made.watch.open) == 2
    made.passes(20 * MINUTE, "a", "b")
    found = costs(*(bill for _, bill, _ in made.closed))
    assert found["schedule slip"] == pytest.approx(400.0)
    assert found["direct compute"] == pytest.approx(2 * 64 * 10 * 2.35)
    made.passes(HOUR, "a", "b")
    made.closed.clear()
    made.passes(HOUR, "b")
    made.passes(20 * MINUTE, "a", "b")
    ((_, bill, _),) = made.closed
    assert costs(bill)["schedule slip"] == pytest.approx(100.0), "the float is used up"


def test_a_cause_that_is_found_takes_the_stop_over(store: Store) -> None:
    made = site(store, context(64))
    made.passes(40 * MINUTE, "llama")
    made.passes(HOUR)
    stopped = made.watch.open["job/llama"]
    finding = Finding(cause="storage/s1", kind="storage.metadata", confidence=0.9, since=stopped.since - 60,
                      path=("storage/s1 > job/llama",))  # fmt: skip
    panel = made.watch.window.panel(())
    made.found = {"storage/s1": made.watch.evaluation.account(finding, panel, made.watch.topology, None)}
    made.passes(HOUR)
    assert [(root, why) for root, _, why in made.closed] == [
        ("job/llama", "the cause turned out to be storage.metadata on storage/s1")
    ]
    assert list(made.watch.open) == ["storage/s1"]
    made.passes(20 * MINUTE, "llama")
    both = [made.closed[0][1], made.watch.open["storage/s1"]]
    assert costs(*both)["direct compute"] == pytest.approx(64 * 2 * 2.35), "every hour once"
    assert replace(both[1], losses=()).kind == "storage.metadata"
