"""Where checkpoints live, from the keepers' word to what is shown of a job, in virtual time."""

from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from holdfast.cli.job.checkpoints import show_places
from holdfast.fleet.controller.orders import PendingOrders
from holdfast.fleet.controller.transaction import Transaction
from holdfast.fleet.decisions.fleet import Fleet
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.jobs.service import JobService
from holdfast.fleet.jobs.views import CheckpointsView, TrainingDetail
from holdfast.fleet.store import Store
from holdfast.model.wire.keeper import HeldStep, Holdings, KeeperReport
from holdfast.model.wire.progress import RankWindow
from holdfast.model.wire.report import Report
from tests.stores import new_store

OWNER = "uid-1000"


def keeping(node: int, *steps: HeldStep, job: str = "llama", unsaved: int = -1, **more: object) -> KeeperReport:
    """Of the first or second node of two, with two ranks each."""
    holds = Holdings(
        node=f"n{node}",
        ranks=(2 * node, 2 * node + 1),
        world=4,
        replicas=2,
        used_bytes=100,
        budget_bytes=400,
        steps=steps,
    )
    return KeeperReport(job=job, owner=OWNER, unsaved_step=unsaved, holds=replace(holds, **more))  # type: ignore[arg-type]


class Site:
    def __init__(self, store: Store) -> None:
        self.book, self.store, self.now, self.seq = JobService(), store, 1_000.0, 0
        self.fleet = Fleet(Policy(), [])

    def transaction(self) -> Transaction:
        return Transaction(self.store, self.fleet, PendingOrders(), 1, self.now)

    def report(self, node: int, *kept: KeeperReport, step: int = -1, job: str = "llama") -> None:
        """What keepers there say, and the ranks, where a step is given."""
        self.seq += 1
        ranks = (2 * node, 2 * node + 1) if step >= 0 else ()
        result = [
            RankWindow(
                job=job, owner=OWNER, rank=rank, world=4, session=f"s{rank}", began=900.0, at=self.now, step=step,
                steps=1, seconds=1.0, compute_seconds=1.0, own_seconds=1.0, split=True,
            )
            for rank in ranks
        ]  # fmt: skip
        report = Report(
            node=f"n{node}",
            session="s",
            seq=self.seq,
            at=self.now,
            progress=tuple(result),
            keepers=kept,
            heartbeat=True,
        )
        self.book.take(report, self.transaction())

    def show(self, name: str = "llama") -> TrainingDetail:
        return self.book.show(name, self.transaction())

    @property
    def kept(self) -> CheckpointsView:
        return self.show().checkpoints


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    store = Store.open(new_store(tmp_path / "store.db"))
    yield Site(store)
    store.close()


def two_nodes(site: Site) -> None:
    site.report(
        0,
        keeping(
            0,
            HeldStep(step=12, own=(0, 1)),
            HeldStep(step=11, own=(0, 1), partners=(2, 3)),
            HeldStep(step=8, stored=(0, 1)),
            committed_step=11,
            unsaved=12,
        ),
        step=13,
    )
    site.report(
        1,
        keeping(
            1,
            HeldStep(step=12, own=(2,)),
            HeldStep(step=11, own=(2, 3), partners=(0, 1)),
            HeldStep(step=8, stored=(2, 3)),
            committed_step=11,
            unsaved=12,
            troubles=("partner n0: step 12 of rank 2 is not there: it is full",),
        ),
        step=13,
    )


def test_each_step_is_reported_by_the_places_that_have_it(site: Site):
    two_nodes(site)
    kept = site.kept
    assert kept.unknown == ""
    assert (kept.committed_step, kept.stored_step, kept.unsaved_step) == (11, 8, 12)
    assert [(one.step, one.own_memory, one.partner, one.storage, one.committed) for one in kept.steps] == [
        (12, 3, 0, 0, False),
        (11, 4, 4, 0, True),
        (8, 0, 0, 4, False),
    ]
    assert (kept.keepers, kept.world, kept.replicas, kept.used_bytes, kept.budget_bytes) == (2, 4, 2, 200, 800)
    assert kept.troubles == ("n1: partner n0: step 12 of rank 2 is not there: it is full",)


def test_what_lies_in_gpu_memory_too_is_reported(site: Site):
    site.report(0, keeping(0, HeldStep(step=11, own=(0, 1), gpu=(0, 1))), step=11)
    site.report(
        1, keeping(1, HeldStep(step=11, own=(2, 3), gpu=(3,)), HeldStep(step=10, own=(2, 3), gpu=(2,))), step=11
    )
    assert [(one.step, one.own_memory, one.gpu_memory) for one in site.kept.steps] == [(11, 4, 3), (10, 2, 1)]


def test_keepers_that_spoke_before_the_commit_hold_what_was_committed_since(site: Site):
    """Each speaks for itself, some moments apart, and every step is saved."""
    late = (HeldStep(step=10, own=(0, 1), partners=(2, 3)), HeldStep(step=9, own=(0, 1), partners=(2, 3)))
    site.report(0, keeping(0, *late, committed_step=9), step=10)
    site.report(1, keeping(1, HeldStep(step=11, own=(2, 3), partners=(0, 1)), committed_step=11), step=11)
    assert [(one.step, one.own_memory, one.partner) for one in site.kept.steps] == [(11, 4, 4)]


def test_a_keeper_that_began_anew_is_not_reported_to_hold_what_it_lost(site: Site):
    site.report(0, keeping(0, HeldStep(step=12, own=(0, 1)), committed_step=-1), step=12)
    site.report(1, keeping(1, HeldStep(step=11, own=(2, 3), partners=(0, 1)), committed_step=11), step=12)
    assert [(one.step, one.own_memory, one.partner) for one in site.kept.steps] == [(12, 2, 0), (11, 2, 2)]


def test_a_keeper_that_a_restart_left_out_is_reported_and_not_counted(site: Site):
    held = HeldStep(step=20, own=(0, 1), partners=(2, 3))
    site.report(0, keeping(0, held, committed_step=20, run="second"), step=21)
    site.report(2, keeping(1, HeldStep(step=20, own=(2, 3)), committed_step=20, run="second"))
    site.report(1, keeping(1, HeldStep(step=11, own=(2, 3), partners=(0, 1)), committed_step=11, run="first"))
    kept = site.kept
    assert [(one.step, one.own_memory, one.partner) for one in kept.steps] == [(20, 4, 2)]
    assert kept.troubles == ("n1: its keeper is not part of this run and holds an earlier one's",)


def test_what_is_committed_is_no_longer_at_risk_although_no_rank_reported_so(site: Site):
    site.report(0, step=13)
    before = site.show().exposure
    two_nodes(site)
    after = site.show().exposure
    assert before is not None and (before.saved_step, before.steps) == (-1, 13)
    assert after is not None and (after.saved_step, after.steps) == (11, 2)


def test_without_a_keeper_it_is_unknown_and_why(site: Site):
    site.report(0, step=13)
    assert "no checkpoint keeper reports it" in site.kept.unknown
    assert site.kept.steps == ()


def test_a_node_that_is_not_received_leaves_its_ranks_unknown_and_is_no_proof_of_storage(site: Site):
    two_nodes(site)
    site.now += 60.0
    site.report(0, keeping(0, HeldStep(step=8, stored=(0, 1)), committed_step=11), step=14)
    site.now += 60.0
    kept = site.kept
    assert (kept.keepers, kept.stored_step) == (1, -1)
    assert kept.troubles[0] == "the keepers of 2 of 4 ranks do not report: their copies are unknown"


def test_keepers_that_left_are_unknown_with_what_they_reported_last(site: Site):
    two_nodes(site)
    for node in (0, 1):
        site.report(node, step=14)
    assert "no longer report" in site.kept.unknown and "step 8" in site.kept.unknown
    site.now += 4_000.0
    for node in (0, 1):
        site.report(node, step=15)
    assert "no checkpoint keeper reports it" in site.kept.unknown


def test_a_keeper_under_another_name_is_found_by_its_ranks(site: Site):
    """`Checkpoint` calls a job by its folder where nobody names it."""
    site.report(0, keeping(0, HeldStep(step=12, own=(0, 1)), job="run-7"), step=13)
    assert (site.kept.kept_as, site.kept.steps[0].own_memory) == ("run-7", 2)
    site.report(0, keeping(0, job="run-7"), keeping(0, job="run-8"), step=14)
    assert "no checkpoint keeper reports it" in site.kept.unknown, "of two nobody knows which one"


def test_a_keeper_of_another_job_or_user_is_not_taken(site: Site):
    site.report(0, keeping(0, HeldStep(step=12, own=(0, 1)), job="gpt"), step=13)
    site.report(0, keeping(0, HeldStep(step=12, own=(0, 1)), job="gpt"), step=13, job="gpt")
    assert site.kept.unknown, "it is the other job's"
    strangers = replace(keeping(1, HeldStep(step=12, own=(2, 3)), job="run-9"), owner="uid-7")
    site.report(1, strangers, step=13)
    assert site.kept.unknown


def test_people_are_reported_the_same(site: Site):
    two_nodes(site)
    output = printed(site.kept)
    assert "step 11 is committed; step 8 is complete in storage; step 12 is in memory only" in output
    assert "3 of 4" in output and "all ranks" in output and "trouble: n1: partner n0" in output
    assert "unknown: no reason" in printed(CheckpointsView(unknown="no reason"))
    some = replace(site.kept, committed_step=-1, unsaved_step=-1, storage_unknown="Stale file handle", steps=())
    output = printed(some)
    assert "no step is committed yet" in output and "Stale file handle" in output and "storage has everything" in output


def printed(kept: CheckpointsView) -> str:
    out = StringIO()
    show_places(msgspec.to_builtins(kept), Console(file=out, width=200))
    return out.getvalue()


def test_a_job_is_never_shown_at_a_step_below_the_safe_one(site: Site):
    """Keepers tell of a commit before the ranks tell of the step."""
    site.report(0, keeping(0, HeldStep(step=12, own=(0, 1), partners=(2, 3)), committed_step=12), step=11)
    site.report(1, keeping(1, HeldStep(step=12, own=(2, 3), partners=(0, 1)), committed_step=12), step=11)
    shown = site.show()
    assert shown.exposure is not None and shown.exposure.saved_step == 12
    assert (shown.step, shown.exposure.steps) == (12, 0)
