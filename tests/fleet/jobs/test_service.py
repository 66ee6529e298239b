"""Training jobs in the controller, in virtual time: attempts, exposure, slow ranks with their hardware, quiet jobs."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.fleet.controller.orders import PendingOrders
from holdfast.fleet.controller.transaction import Transaction
from holdfast.fleet.decisions.fleet import Fleet
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.jobs import service
from holdfast.fleet.jobs.service import JobService, SeveralJobs, UnknownJob
from holdfast.fleet.jobs.views import TrainingDetail
from holdfast.fleet.store import Store
from holdfast.model.lifecycle import NodeState, Stage
from holdfast.model.records import Training
from holdfast.model.wire.digest import pack
from holdfast.model.wire.progress import RankWindow
from holdfast.model.wire.report import Report, VerdictChange
from tests.stores import new_store

WORLD, PER_NODE = 32, 8
WINDOW = 10.0


class Site:
    """Four nodes with a rank on every GPU, and the book that hears of them."""

    def __init__(self, store: Store) -> None:
        lives = [NodeState(name=f"n{node}", stage=Stage.ALLOCATED) for node in range(4)]
        self.fleet = Fleet(Policy(), lives)
        self.book, self.store, self.epoch = JobService(), store, 1
        self.now, self.step, self.life, self.seq = 10_000.0, 0, "a", 0

    def transaction(self) -> Transaction:
        return Transaction(self.store, self.fleet, PendingOrders(), self.epoch, self.now)

    def window(self, rank: int, own: float = 1.0, **more: object) -> RankWindow:
        seconds = 10.0
        result = RankWindow(
            job="llama", owner="uid-1000", rank=rank, world=WORLD, session=f"{self.life}{rank}",
            began=self.now - WINDOW, at=self.now, step=self.step, steps=8, seconds=seconds, compute_seconds=own * 8,
            own_seconds=own, wait_seconds=max(0.0, seconds - own * 8), split=True, tokens=8 * 1024.0,
            gpu=rank % PER_NODE, loss=2.0, saved_step=self.step - self.step % 100,
        )  # fmt: skip
        return replace(result, **more)  # type: ignore[arg-type]

    def report(self, node: str, **more: object) -> None:
        self.seq += 1
        self.book.take(Report(node=node, session="s", seq=self.seq, at=self.now, **more), self.transaction())  # type: ignore[arg-type]

    def run(self, windows: int, slow: int = -1, ratio: float = 0.0, **more: object) -> None:
        for _ in range(windows):
            self.now, self.step = self.now + WINDOW, self.step + 8
            for node in range(4):
                ranks = range(node * PER_NODE, (node + 1) * PER_NODE)
                result = [self.window(r, (1.0 + 0.001 * (r % 5)) * (1 + ratio * (r == slow)), **more) for r in ranks]
                self.report(f"n{node}", progress=tuple(result))

    def show(self, name: str = "llama") -> TrainingDetail:
        return self.book.show(name, self.transaction())


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    store = Store.open(new_store(tmp_path / "store.db"))
    yield Site(store)
    store.close()


def test_a_job_is_put_together_from_its_nodes(site: Site):
    site.run(12)
    shown = site.show()
    assert (shown.world, shown.ranks_reporting, shown.nodes) == (32, 32, ("n0", "n1", "n2", "n3"))
    assert (shown.state, shown.health, shown.step, shown.loss) == ("running", "pass", 96, 2.0)
    assert shown.tokens_per_second == pytest.approx(32 * 1024 * 8 / 10)
    assert sum(shown.gpu_hours.values()) == pytest.approx(shown.elapsed_seconds * 32 / 3600)
    assert shown.goodput == pytest.approx(1.0) and shown.restarts == ()


def test_a_window_that_holds_a_checkpoint_is_not_slow(site: Site):
    site.run(12)
    usual = site.show()
    site.run(1, seconds=15.0, checkpoint_seconds=5.0)
    saving = site.show()
    assert saving.step_seconds == pytest.approx(10 / 8) == saving.usual_step_seconds
    assert saving.tokens_per_second == pytest.approx(usual.tokens_per_second)


def test_what_a_failure_now_would_cost_is_in_gpu_hours_and_tokens(site: Site):
    site.run(30)  # step 240, step 200 is safe
    exposure = site.show().exposure
    assert exposure is not None and (exposure.saved_step, exposure.steps) == (200, 40)
    assert exposure.gpu_hours == pytest.approx(40 * 1.25 * 32 / 3600)
    assert exposure.tokens == 40 * 32 * 1024
    site.now += 60  # a step that hangs is at risk too
    assert site.show().exposure.gpu_hours == pytest.approx((50 + 60) * 32 / 3600)


def test_a_restart_is_seen_once_with_its_cost(site: Site):
    site.run(30)
    site.now, site.step, site.life = site.now + 120, 200, "b"
    site.run(10)
    shown = site.show()
    [restart] = shown.restarts
    assert (restart.from_step, restart.lost_steps, restart.down_seconds) == (200, 40, pytest.approx(120))
    assert restart.rework_seconds == pytest.approx(50) and restart.gpu_hours == pytest.approx(170 * 32 / 3600)
    assert shown.attempt == 2 and shown.gpu_hours["rework"] == pytest.approx(50 * 32 / 3600)
    assert shown.step == 280


def test_a_controller_that_starts_anew_shows_the_same_and_goes_on_counting(site: Site):
    site.run(30)
    site.now, site.step, site.life = site.now + 120, 200, "b"
    site.run(12, slow=13, ratio=0.3)
    site.run(1, slow=13, ratio=0.3, ended="closed")
    before = site.show()
    assert before.state == "closed" and before.slow and before.restarts
    site.book, site.epoch = JobService(), 2
    assert site.show() == before
    site.now, site.life = site.now + 60, "c"
    site.run(2)
    after = site.show()
    assert (after.attempt, len(after.restarts)) == (3, 2) and after.began == before.began
    assert sum(after.gpu_hours.values()) == pytest.approx(after.elapsed_seconds * 32 / 3600)


def test_who_is_slow_stays_slow_until_enough_was_seen_after_a_start(site: Site):
    site.run(12)
    site.run(10, slow=13, ratio=0.3)
    since = site.show().slow[0].since
    site.book, site.epoch = JobService(), 2
    site.run(6, slow=13, ratio=0.3)
    [slow] = site.show().slow
    assert (slow.subject, slow.since) == ("job/llama/rank/13", since)


def test_what_another_version_stored_starts_anew(site: Site):
    site.store.save_trainings([Training(name="llama", owner="uid-1000", at=1.0, body='{"ranks": 3}')])
    site.run(1)
    assert site.show().step == 8


def test_a_slow_rank_is_named_with_what_its_hardware_says(site: Site):
    site.run(12)
    change = VerdictChange(
        at=site.now, check="gpu.throttle", before="pass", after="degraded",
        reason="gpu 5: SW thermal in 9 of 10 minutes", subjects=("node/n1/gpu/5",),
    )  # fmt: skip
    site.fleet.take(Report(node="n1", session="s", seq=500, at=site.now, changes=(change,)), site.now)
    began = site.now
    site.run(6, slow=13, ratio=0.11)
    shown = site.show()
    assert [one.subject for one in shown.slow] == ["job/llama/rank/13"]
    assert shown.slow[0].ratio == pytest.approx(0.11, abs=0.01)
    assert shown.slow[0].since == pytest.approx(began, abs=15)
    assert "rank 13 = node n1 GPU 5, gpu 5: SW thermal in 9 of 10 minutes (gpu.throttle)" in shown.reason
    assert "evicting it saves" in shown.reason
    site.run(12)
    assert site.show().slow == () and site.show().health == "pass"


def test_what_ranks_report_moves_no_node(site: Site):
    before = dict(site.fleet.nodes)
    site.run(10, slow=3, ratio=5.0)
    assert site.show().slow and site.fleet.nodes == before


def test_everyone_slow_is_not_one_slow(site: Site):
    site.run(20)
    site.run(6, seconds=15.0, data_seconds=5.0)
    shown = site.show()
    assert shown.health == "degraded" and "all ranks wait for data" in shown.reason
    assert [one.subject for one in shown.slow] == ["job/llama"]


def test_links_named_by_ranks_are_compared(site: Site):
    for _ in range(8):
        site.now, site.step = site.now + WINDOW, site.step + 8
        for node in range(4):
            links = {f"ring:{one}": (0.2 if one == 2 else 0.1) for one in (node, (node + 1) % 4)}
            result = [site.window(rank, links=links) for rank in (node * 8,)]
            site.report(f"n{node}", progress=tuple(result))
    assert [one.subject for one in site.show().slow] == ["job/llama/link/ring:2"]


def test_a_job_that_stops_talking_is_silent_and_one_that_says_so_closed(site: Site):
    site.run(3)
    site.now += 600
    assert site.show().state == "silent"
    site.run(1, ended="closed")
    assert site.show().state == "closed"


def test_two_jobs_with_one_name_on_two_nodes_are_reported_and_not_mixed(site: Site):
    site.run(8)
    other = site.window(0, own=9.0, session="another", began=site.now - 500)
    site.report("n3", progress=(other,))
    shown = site.show()
    assert "rank 0 is reported by n0 and by n3" in shown.trouble and shown.attempt == 1


def test_jobs_of_two_users_with_one_name_are_asked_for_by_owner(site: Site):
    site.run(1)
    site.report("n0", progress=(site.window(0, owner="uid-7"),))
    with pytest.raises(SeveralJobs, match="uid-7:llama"):
        site.show()
    assert site.show("uid-7:llama").owner == "uid-7"
    assert len(site.book.list(site.transaction(), ()).jobs) == 2


def test_no_such_job_is_reported(site: Site):
    with pytest.raises(UnknownJob, match="no job called 'x'"):
        site.show("x")


def test_a_job_that_imports_nothing_is_judged_by_its_clocks(site: Site):
    for name in ("n0", "n1"):
        site.fleet.nodes[name] = replace(site.fleet.nodes[name], jobs=frozenset({"4711"}))
    for _ in range(6):
        site.now += 60
        for name in ("n0", "n1"):
            site.report(name, digest=pack(name, lambda subject, signal: _gpu(subject, signal)), heartbeat=True)
    shown = site.show("4711")
    assert not shown.reports_progress and shown.nodes == ("n0", "n1") and shown.world == 16
    assert [one.subject for one in shown.slow] == ["node/n1/gpu/3"] and "thermal throttle" in shown.reason
    assert [one.job for one in site.book.list(site.transaction(), ()).jobs] == ["4711"]


def _gpu(subject: str, signal: str) -> float | None:
    slow = subject == "node/n1/gpu/3"
    known = {
        "gpu_clock_sm_hertz": 1.5e9 if slow else 1.98e9,
        "gpu_utilization_ratio": 1.0,
        "gpu_clock_event_reasons": 32.0 if slow else 0.0,
    }
    return known.get(signal)


def test_a_heartbeat_looks_at_no_incidents(site: Site, monkeypatch: pytest.MonkeyPatch):
    """A fleet that was silent has thousands of them, and every node reports."""

    def look(*_: object) -> None:
        raise AssertionError("incidents are looked at")

    monkeypatch.setattr(service, "explaining", look)
    site.report("n0", heartbeat=True)
    with pytest.raises(AssertionError):
        site.run(1)
