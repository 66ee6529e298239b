"""Reconciles Kubernetes with the stage of each node. Missing marks and evictions are requested again until they exist.

A disruption budget can hold a pod for hours, and an operator can remove a taint. So every snapshot is compared with the
admission of the nodes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.formats.kubernetes.nodes import KubernetesNode
from holdfast.formats.kubernetes.objects import UNTESTED
from holdfast.formats.kubernetes.pods import KubernetesPod
from holdfast.formats.kubernetes.snapshot import Snapshot
from holdfast.model.lifecycle import Action, NodeState, Stage, Verb

UNUSED = frozenset({Stage.READY, Stage.SPARE})
AGAIN_SECONDS = 20.0
DEFAULT = Policy()
ACTOR_SECONDS = 3.0  # after a change of stage, the actor's own actions come first


@dataclass(slots=True)
class KubernetesReconciler:
    """Remembers its requests, so that it neither repeats running ones nor floods the history."""

    _asked: dict[tuple[str, Verb, float], float] = field(default_factory=dict)
    _registered: dict[str, str] = field(default_factory=dict)

    def copy(self) -> "KubernetesReconciler":
        return KubernetesReconciler(dict(self._asked), dict(self._registered))

    def due(
        self, snapshot: Snapshot, nodes: Mapping[str, NodeState], now: float, policy: Policy = DEFAULT
    ) -> list[Action]:
        """Actions to repeat: a missing taint at once, others only after a while, because the actor may be working on
        them."""
        before, self._asked = self._asked, {}
        due = []
        for action in [*_missing(snapshot, nodes, now, policy), *_taken_whole(snapshot, nodes, now)]:
            key = (action.node, action.verb, nodes[action.node].since)  # a new stage makes it a new request
            first = now - AGAIN_SECONDS if action.verb is Verb.CORDON else now
            asked = before.get(key, first)
            if now - asked >= AGAIN_SECONDS:
                due.append(action)
                asked = now
            self._asked[key] = asked
        return due

    def registered_anew(self, snapshot: Snapshot, nodes: Mapping[str, NodeState]) -> list[str]:
        """Nodes that passed a test as another Node object: the name may belong to another machine now."""
        found = []
        for node in snapshot.nodes:
            state = nodes.get(node.name)
            if state is None:
                continue
            known = self._registered.get(node.name, node.uid)
            self._registered[node.name] = node.uid
            if state.stage in UNUSED and (known != node.uid or _younger(node.created, state.tested_at)):
                found.append(node.name)
        return found


def _younger(created: float | None, tested: float | None) -> bool:
    """Whether the Node object is newer than the test. Times decide after a restart of the controller, or if the node
    registered during its test."""
    return created is not None and tested is not None and created > tested


def _taken_whole(snapshot: Snapshot, nodes: Mapping[str, NodeState], now: float) -> list[Action]:
    """Nodes on which one workload uses all GPUs. Nothing else can start there, so the taint is harmless now, and when
    the workload ends the scheduler cannot place a pod before us."""
    held: dict[tuple[str, str], list[KubernetesPod]] = {}
    for pod in snapshot.pods:
        if pod.is_gpu_work and pod.holds_node:
            held.setdefault((pod.node, pod.owner), []).append(pod)
    shown = {node.name: node for node in snapshot.nodes if node.gpus and not node.untested}
    found = []
    for (name, _), pods in held.items():
        node, state = shown.get(name), nodes.get(name)
        claimed = dict(claim for pod in pods for claim in pod.claims)  # pods may share a claim
        if node and state and state.takes_work and sum(pod.gpus for pod in pods) + sum(claimed.values()) >= node.gpus:
            reason = f"{pods[0].shown_as} has the whole node; it is tested again before anything else starts"
            found.append(Action(node=name, verb=Verb.CORDON, reason=reason, at=now))
    return found


def _missing(snapshot: Snapshot, nodes: Mapping[str, NodeState], now: float, policy: Policy) -> list[Action]:
    held: dict[str, list[KubernetesPod]] = {}
    for pod in snapshot.pods:
        if pod.holds_node:
            held.setdefault(pod.node, []).append(pod)
    pairs = [(node, nodes[node.name]) for node in snapshot.nodes if node.name in nodes]
    ending = _ending_gangs(pairs, held, now, policy)
    reminders = [
        _reminder(node, state, held.get(node.name, ()), now, policy.of(state.pool), ending) for node, state in pairs
    ]
    return [action for action in reminders if action is not None]


def _ending_gangs(
    pairs: Sequence[tuple[KubernetesNode, NodeState]],
    held: Mapping[str, Sequence[KubernetesPod]],
    now: float,
    policy: Policy,
) -> frozenset[str]:
    """Gangs that lose a pod to an eviction now: their other pods end or start again with it."""
    leaving = [
        node.name
        for node, state in pairs
        if state.stage is Stage.DRAINING and now >= policy.of(state.pool).evict_at(state.since)
    ]
    return frozenset(pod.gang for name in leaving for pod in held.get(name, ()) if pod.gang)


def _reminder(
    node: KubernetesNode,
    state: NodeState,
    pods: Sequence[KubernetesPod],
    now: float,
    policy: Policy,
    ending: frozenset[str],
) -> Action | None:
    if (
        state.stage is Stage.READY
        and state.takes_work
        and state.freshly_tested
        and not any(pod.is_gpu_work for pod in pods)
    ):
        closed = node.untested or node.closed_by_us or node.note
        return Action(node=node.name, verb=Verb.UNCORDON, reason=state.reason, at=now) if closed else None
    if state.takes_work or now - max(state.since, state.held_since) < ACTOR_SECONDS:
        return None
    if not node.untested:
        reason = f"{state.stage.value}, but Kubernetes shows it without {UNTESTED}"
        return Action(node=node.name, verb=Verb.CORDON, reason=reason, at=now)
    if node.note and not node.unschedulable:
        reason = "our cordon was removed by hand; the taint stays"
        return Action(node=node.name, verb=Verb.CORDON, reason=reason, at=now)
    evict_at = policy.evict_at(state.since)
    if pods and all(pod.gang in ending for pod in pods):  # one restart of the gang, not one per draining node
        evict_at = min(evict_at, now)
    if state.stage is Stage.DRAINING and pods and now >= evict_at:
        return Action(
            node=node.name, verb=Verb.DRAIN, reason=state.reason, cause=state.cause, at=now, evict_at=evict_at
        )
    return None
