"""What is asked of Kubernetes again, when and when not; and what becomes of pods in history."""

from dataclasses import replace

import pytest

from holdfast.fleet.controller.observe_kubernetes import KubernetesMemory
from holdfast.fleet.decisions.kubernetes_reconciler import AGAIN_SECONDS, DEFAULT
from holdfast.fleet.decisions.kubernetes_reconciler import KubernetesReconciler as Reconciler
from holdfast.fleet.decisions.lifecycle.policy import OnDrain, Policy
from holdfast.formats.kubernetes.nodes import KubernetesNode
from holdfast.formats.kubernetes.objects import UNTESTED
from holdfast.formats.kubernetes.pods import KubernetesPod
from holdfast.formats.kubernetes.snapshot import Snapshot, statuses
from holdfast.model.job import JobState
from holdfast.model.lifecycle import NodeState, Stage, Verb

TAINT = {"key": UNTESTED, "effect": "NoSchedule"}
OPEN = KubernetesNode(name="n", uid="u", ready=True, gpus=8, created=1.0)
TAINTED = replace(OPEN, taints=(TAINT,))
LIFE = NodeState(name="n", stage=Stage.READY, tested_at=50.0, reason="passed")
POD = KubernetesPod(namespace="ml", name="p", uid="p1", node="n", state=JobState.RUNNING, gpus=8, owner="p1")


def asked(
    keeper: Reconciler,
    node: KubernetesNode,
    life: NodeState,
    *pods: KubernetesPod,
    now: float = 100.0,
    policy: Policy = DEFAULT,
) -> list[Verb]:
    return [action.verb for action in keeper.due(Snapshot((node,), pods), {"n": life}, now, policy)]


@pytest.mark.parametrize("stage", [stage for stage in Stage if stage not in (Stage.READY, Stage.ALLOCATED)])
def test_outside_service_a_missing_taint_is_asked_for_at_once(stage: Stage) -> None:
    assert asked(Reconciler(), OPEN, replace(LIFE, stage=stage)) == [Verb.CORDON]
    assert asked(Reconciler(), TAINTED, replace(LIFE, stage=stage)) == []


def test_it_is_not_asked_for_again_at_every_look() -> None:
    keeper, life = Reconciler(), replace(LIFE, stage=Stage.TESTING)
    assert asked(keeper, OPEN, life) == [Verb.CORDON]
    assert asked(keeper, OPEN, life, now=101.0) == []
    assert asked(keeper, OPEN, life, now=100.0 + AGAIN_SECONDS) == [Verb.CORDON]
    assert asked(keeper, TAINTED, life, now=121.0) == []
    assert asked(keeper, OPEN, life, now=122.0) == [Verb.CORDON]


def test_the_actor_is_given_a_moment() -> None:
    assert asked(Reconciler(), OPEN, replace(LIFE, stage=Stage.TESTING, since=99.0)) == []


def test_in_another_stage_it_is_another_request() -> None:
    """Between two looks a node can be tainted, tested, opened and taken."""
    keeper = Reconciler()
    assert asked(keeper, OPEN, replace(LIFE, stage=Stage.TESTING, since=90.0)) == [Verb.CORDON]
    assert asked(keeper, OPEN, replace(LIFE, since=100.5), POD, now=101.0) == [Verb.CORDON]


def test_a_drain_that_a_budget_holds_is_asked_for_until_the_node_is_empty() -> None:
    life, evict = replace(LIFE, stage=Stage.DRAINING), Policy(drain=OnDrain.EVICT)
    keeper = Reconciler()
    assert asked(keeper, TAINTED, life, POD, policy=evict) == []  # the actor is at it
    assert asked(keeper, TAINTED, life, POD, now=100.0 + AGAIN_SECONDS, policy=evict) == [Verb.DRAIN]
    assert asked(keeper, TAINTED, life, now=200.0, policy=evict) == []


def test_work_that_may_finish_is_evicted_at_its_deadline_and_not_sooner() -> None:
    life = replace(LIFE, stage=Stage.DRAINING)
    finish = Policy(drain_seconds=1000.0)
    keeper = Reconciler()
    times = [life.since + seconds for seconds in (100.0, 500.0, 999.0, 1000.0, 1000.0 + AGAIN_SECONDS)]
    assert [asked(keeper, TAINTED, life, POD, now=at, policy=finish) for at in times] == [[], [], [], [], [Verb.DRAIN]]


def test_a_ready_node_whose_taint_stayed_is_opened() -> None:
    keeper = Reconciler()
    assert asked(keeper, TAINTED, LIFE) == []
    assert asked(keeper, TAINTED, LIFE, now=100.0 + AGAIN_SECONDS) == [Verb.UNCORDON]


def test_a_node_not_tested_since_its_last_workload_is_never_opened() -> None:
    keeper, life = Reconciler(), replace(LIFE, used_until=60.0)
    assert asked(keeper, TAINTED, life) == []
    assert asked(keeper, TAINTED, life, now=1_000.0) == []


def test_a_note_left_by_a_cordon_that_was_lifted_by_hand_is_tidied_up() -> None:
    assert asked(Reconciler(), replace(TAINTED, note="ours"), replace(LIFE, stage=Stage.QUARANTINED)) == [Verb.CORDON]


def test_nodes_that_we_do_not_know_are_left_alone() -> None:
    assert Reconciler().due(Snapshot((OPEN,), (POD,)), {}, 1.0) == []


@pytest.mark.parametrize("stage", [Stage.READY, Stage.ALLOCATED])
def test_a_node_taken_whole_is_tainted_while_the_workload_runs(stage: Stage) -> None:
    life = replace(LIFE, stage=stage)
    half = replace(POD, gpus=4)
    assert asked(Reconciler(), OPEN, life, POD) == [Verb.CORDON]
    assert asked(Reconciler(), TAINTED, life, POD) == []
    assert asked(Reconciler(), OPEN, life, half) == []
    assert asked(Reconciler(), OPEN, life, half, replace(half, uid="p2", owner="p2")) == []
    assert asked(Reconciler(), OPEN, life, half, replace(half, uid="p2")) == [Verb.CORDON]  # two pods of one job
    assert asked(Reconciler(), OPEN, life, replace(POD, state=JobState.COMPLETED)) == []
    assert asked(Reconciler(), OPEN, life, replace(POD, belongs_to_node=True)) == []


@pytest.mark.parametrize(
    ("created", "stage", "anew"), [(60.0, Stage.READY, True), (40.0, Stage.READY, False), (60.0, Stage.TESTING, False)]
)
def test_a_node_object_younger_than_the_test_is_another(created: float, stage: Stage, anew: bool) -> None:
    look = Snapshot((replace(OPEN, created=created),), ())
    keeper, lives = Reconciler(), {"n": replace(LIFE, stage=stage)}
    assert keeper.registered_anew(look, lives) == (["n"] if anew else [])
    assert keeper.registered_anew(look, {"n": replace(LIFE, stage=stage, tested_at=70.0)}) == []


def test_one_that_registered_while_the_other_was_tested_is_not_let_in_by_that_test() -> None:
    keeper, testing = Reconciler(), {"n": replace(LIFE, stage=Stage.TESTING)}
    another = Snapshot((replace(OPEN, uid="v", created=60.0),), ())
    assert keeper.registered_anew(Snapshot((OPEN,), ()), testing) == []
    assert keeper.registered_anew(another, testing) == []
    assert keeper.registered_anew(another, {"n": replace(LIFE, tested_at=55.0)}) == ["n"]


def test_another_node_object_of_the_same_name_is_another_whatever_the_clocks_say() -> None:
    keeper, lives = Reconciler(), {"n": LIFE}
    assert keeper.registered_anew(Snapshot((OPEN,), ()), lives) == []
    assert keeper.registered_anew(Snapshot((replace(OPEN, uid="v"),), ()), lives) == ["n"]


def test_jobs_are_stored_when_they_change_and_ended_when_they_are_gone() -> None:
    seen = KubernetesMemory()
    plain = replace(POD, uid="web", gpus=0)
    [started] = seen._changed_jobs(Snapshot((), (POD, plain)), 1.0)
    assert (started.id, started.state) == ("p1", JobState.RUNNING)
    assert seen._changed_jobs(Snapshot((), (POD, plain)), 2.0) == []
    [ended] = seen._changed_jobs(Snapshot((), ()), 3.0)
    assert (ended.id, ended.state, ended.end) == ("p1", JobState.CANCELLED, 3.0)
    assert seen._changed_jobs(Snapshot((), ()), 4.0) == []


def test_a_status_counts_gpu_pods_as_jobs_and_every_pod_as_busy() -> None:
    web = replace(POD, uid="web", gpus=0)
    [status] = statuses(Snapshot((TAINTED,), (POD, web)))
    assert status.jobs == {"p1"}
    assert status.busy
    assert status.cordoned
    assert status.ours
    [idle] = statuses(Snapshot((OPEN,), (replace(POD, state=JobState.COMPLETED), replace(web, belongs_to_node=True))))
    assert not idle.busy
    assert idle.accepts_work
    [other] = statuses(Snapshot((replace(OPEN, unschedulable=True),), ()))
    assert other.cordoned
    assert not other.ours


def test_draining_nodes_of_one_gang_are_emptied_together() -> None:
    """Each eviction restarts the whole gang: one restart is enough."""
    policy = Policy(drain=OnDrain.EVICT, pools={"patient": Policy(drain=OnDrain.FINISH)})
    late = NodeState(name="n", stage=Stage.DRAINING, since=10.0)
    patient = NodeState(name="m", stage=Stage.DRAINING, since=10.0, pool="patient")
    nodes = (TAINTED, replace(TAINTED, name="m"))
    one, two = replace(POD, gang="JobSet ml/train"), replace(POD, uid="p2", node="m", gang="JobSet ml/train")
    other = replace(POD, uid="p3", node="m", gang="JobSet ml/other")

    def drained(*pods: KubernetesPod) -> set[str]:
        keeper, lives = Reconciler(), {"n": late, "m": patient}
        keeper.due(Snapshot(nodes, pods), lives, 100.0, policy)
        due = keeper.due(Snapshot(nodes, pods), lives, 100.0 + AGAIN_SECONDS, policy)
        assert all(action.verb is Verb.DRAIN and action.evict_at <= 100.0 + AGAIN_SECONDS for action in due)
        return {action.node for action in due}

    assert drained(one, two) == {"n", "m"}
    assert drained(one, other) == {"n"}
    assert drained(one, two, other) == {"n"}, "another's pod may finish"
    assert drained(replace(one, gang=""), replace(two, gang="")) == {"n"}


def test_a_claim_that_pods_share_is_counted_once() -> None:
    half = replace(POD, gpus=0, claims=(("c", 4),))
    assert asked(Reconciler(), OPEN, LIFE, half, replace(half, uid="p2")) == []
    assert asked(Reconciler(), OPEN, LIFE, half, replace(half, uid="p2", claims=(("d", 4),))) == [Verb.CORDON]
