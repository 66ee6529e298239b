"""What one look at Slurm does to lives and history, on a real store in memory."""

from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.fleet.actions.slurm.backend import SlurmSnapshot
from holdfast.fleet.controller.observer import ObserverMemory
from holdfast.fleet.controller.orders import PendingOrders
from holdfast.fleet.controller.transaction import Transaction
from holdfast.fleet.decisions.fleet import Fleet
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.store import Store
from holdfast.model.job import Job, JobState
from holdfast.model.lifecycle import NodeState, Stage, Verb
from holdfast.model.node_status import NodeStatus
from holdfast.model.records import Outcome
from tests.fleet.store.lives import step
from tests.stores import new_store

READY = NodeState(name="n1", stage=Stage.READY, since=100.0, tested_at=90.0, tested_suite="1", used_until=80.0)
IDLE = NodeStatus(node="n1", accepts_work=True, cordoned=False, down=False, busy=False)
SHORT = Job(id="7", source="slurm", nodes=("n1", "n2"), start=200.0, end=201.0, state=JobState.COMPLETED)


class World:
    def __init__(self, store: Store, life: NodeState = READY) -> None:
        self.store = store
        self.fleet = Fleet(Policy(dry_run=False), [life, replace(life, name="n2")], scheduled=True)
        self.seen = ObserverMemory()

    def look(self, *jobs: Job, status: NodeStatus = IDLE, began: float = 300.0) -> list[Verb]:
        """What is to be done after it."""
        transaction = Transaction(self.store, self.fleet, PendingOrders(), 1, began + 1)
        other = replace(IDLE, node="n2")
        self.seen = self.seen.take(SlurmSnapshot(began, [status, other], jobs), (), transaction, ())
        return [action.verb for step in transaction.steps for action in step.actions if step.node.name == "n1"]

    @property
    def life(self) -> NodeState:
        return self.fleet.nodes["n1"]


@pytest.fixture
def store(tmp_path: Path):  # type: ignore[no-untyped-def]
    one = Store.open(new_store(tmp_path / "holdfast.db"))
    yield one
    one.close()


def test_a_job_shorter_than_the_interval_did_use_its_nodes(store: Store) -> None:
    world = World(store)
    assert Verb.CORDON in world.look(SHORT)
    assert [world.fleet.nodes[name].stage for name in ("n1", "n2")] == [Stage.CLEANING] * 2
    assert not world.life.freshly_tested
    assert [job.id for job in store.jobs()] == ["7"]


def test_a_job_that_was_seen_to_end_is_not_seen_again_also_after_a_restart(store: Store) -> None:
    World(store).look(SHORT)
    again = World(store)
    assert again.look(SHORT) == []
    assert again.life.stage is Stage.READY


def test_a_job_that_ended_before_a_node_on_trial_came_to_its_stage_says_nothing_new(store: Store) -> None:
    world = World(store, replace(READY, stage=Stage.TESTING, since=250.0))
    assert world.look(SHORT, status=replace(IDLE, accepts_work=False, cordoned=True)) == []
    assert world.life.stage is Stage.TESTING


def test_a_job_that_sneaked_onto_a_node_on_trial_is_reported_and_the_node_tested_anew(store: Store) -> None:
    world = World(store, replace(READY, stage=Stage.TESTING, since=150.0))
    assert Verb.TICKET in world.look(SHORT)
    assert world.life.stage is Stage.CLEANING


def test_a_node_whose_stage_changed_after_the_look_began_waits_for_the_next(store: Store) -> None:
    world = World(store, replace(READY, stage=Stage.DRAINING, since=300.5))
    world.look(began=300.0)
    assert world.life.stage is Stage.DRAINING


def test_a_node_that_is_to_drain_but_takes_work_still_is_not_called_empty(store: Store) -> None:
    world = World(store, replace(READY, stage=Stage.DRAINING, since=200.0, cause="gpu.xid"))
    world.look()
    assert world.life.stage is Stage.DRAINING
    drained = replace(IDLE, accepts_work=False, cordoned=True, ours=True, note="holdfast: gpu.xid: x")
    world.look(status=drained, began=301.0)
    assert world.life.stage is Stage.QUARANTINED


def test_a_mark_of_a_script_on_the_node_has_it_tested(store: Store) -> None:
    world = World(store)
    note = "holdfast: untested: slurmd starts"
    marked = replace(IDLE, accepts_work=False, cordoned=True, ours=True, note=note, marked_at=200.0)
    assert world.look(status=marked) == [Verb.CORDON, Verb.RETEST]
    assert world.life.stage is Stage.TESTING


def test_a_job_that_ended_while_its_node_changed_stage_is_reported_of_at_the_next_look(store: Store) -> None:
    """The node was returned after the look had begun, and the job came and went before Slurm told of its jobs."""
    world = World(store, replace(READY, since=300.2))
    assert world.look(SHORT, began=300.0) == []
    assert store.jobs() == [], "a controller that dies now is told again by Slurm"
    assert Verb.CORDON in world.look(began=301.0)
    assert world.life.stage is Stage.CLEANING and [job.id for job in store.jobs()] == ["7"]


def test_a_batch_that_is_tried_again_finds_what_it_found_the_first_time(store: Store) -> None:
    """A fleet that was read from the store again, and the same look."""
    world = World(store)
    world.look(status=replace(IDLE, up_since=10.0))
    before, began_anew = world.seen, replace(IDLE, up_since=20.0)
    first = world.look(SHORT, status=began_anew, began=310.0)
    again = World(store)
    again.seen = before
    with store.together():
        assert again.look(SHORT, status=began_anew, began=310.0) == first != []


def test_a_job_that_is_only_reported_in_other_words_did_not_use_its_nodes_again(store: Store) -> None:
    World(store).look(SHORT)
    world = World(store)
    assert world.look(replace(SHORT, account="ml", exit_code="0:0")) == []
    assert store.jobs()[0].account == "ml"
    assert Verb.CORDON in world.look(replace(SHORT, start=290.0, end=295.0), began=302.0), "it was requeued"


def test_after_its_work_a_node_is_tested_when_slurm_was_looked_at_once_more(store: Store) -> None:
    """So the mark that the epilog left is seen before the test begins, and the test covers it."""
    world = World(store)
    world.look(SHORT)
    assert [step for step in world.fleet.tick(302.0) if step.node.name == "n1"] == []
    marked = replace(IDLE, accepts_work=False, cordoned=True, ours=True, note="holdfast: untested: job 7 ended here")
    assert world.look(SHORT, status=replace(marked, marked_at=303.0), began=303.0) == [Verb.RETEST]
    assert world.life.stage is Stage.TESTING


def test_a_scheduler_that_says_nothing_more_does_not_keep_a_node_from_its_test(store: Store) -> None:
    world = World(store)
    world.look(SHORT)
    assert {step.node.stage for step in world.fleet.tick(340.0)} == {Stage.TESTING}


@pytest.mark.parametrize("verb", [Verb.RESET_GPU, Verb.REBOOT, Verb.INSPECT])
def test_a_reservation_outlives_the_stage_while_its_repair_step_runs(store: Store, verb: Verb) -> None:
    """An operator took the node over in the middle of its repair."""
    taken_over = World(store, replace(READY, stage=Stage.QUARANTINED, cause="operator", since=200.0))
    epoch = store.lead("one", 1e9) or 0
    store.transit_all([step("n1", 150.0, (verb,))], epoch)
    [claimed] = store.claim(epoch, 9, now=160.0)

    def over(began: float) -> tuple[str, ...]:
        transaction = Transaction(store, taken_over.fleet, PendingOrders(), epoch, began + 1)
        closed = replace(IDLE, accepts_work=False, cordoned=True)
        snapshot = SlurmSnapshot(began, [closed], (), reserved={"holdfast_n1_7": "n1"})
        return ObserverMemory().take(snapshot, (), transaction, ()).over

    assert over(300.0) == ()
    assert store.finish(claimed.id, Outcome.DONE, "", epoch, 310.0)
    assert over(320.0) == ("holdfast_n1_7",)
