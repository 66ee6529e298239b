"""Kubernetes back end: our taint and cordon, eviction within disruption budgets, node conditions and events.

The API server refuses a change made for an older version of the node (409), so we read it again and never overwrite a
concurrent change.
"""

import hashlib
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from holdfast.fleet.actions.backend import ActionOutcome, done, failed, nothing_to_do, refused, would
from holdfast.fleet.actions.kubernetes import marks
from holdfast.fleet.actions.kubernetes.access import KubernetesSettings
from holdfast.fleet.actions.kubernetes.api import CONFLICT, NOT_FOUND, STRATEGIC, ApiRefused, KubernetesApi
from holdfast.fleet.actions.kubernetes.eviction import Eviction
from holdfast.fleet.actions.kubernetes.gangs import Gangs
from holdfast.fleet.actions.kubernetes.lease import KubernetesLease
from holdfast.fleet.actions.kubernetes.mirror import Mirror, WatchedObjects
from holdfast.formats.kubernetes import claims
from holdfast.formats.kubernetes import objects as k8s
from holdfast.formats.kubernetes.nodes import KubernetesNode
from holdfast.formats.kubernetes.nodes import node as read_node
from holdfast.formats.kubernetes.pods import KubernetesPod
from holdfast.formats.kubernetes.pods import pod as read_pod
from holdfast.formats.kubernetes.snapshot import Snapshot, statuses
from holdfast.model.lifecycle import Action, Verb
from holdfast.model.node_status import NodeStatus
from holdfast.runtime import clock
from holdfast.runtime.errors import NoAnswer

_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_NODES, _PODS = "/api/v1/nodes", "/api/v1/pods"
_BOUND = {"fieldSelector": "spec.nodeName!="}
_ATTEMPTS = 5  # attempts for a change that conflicts with changes of others
Plan = Callable[[KubernetesNode], marks.Change | None]


@dataclass(frozen=True, slots=True)
class Notice:
    """How an action appears on the node: the condition and the event type."""

    status: str
    reason: str
    event: str = "Normal"


UNTESTED = Notice("Unknown", "Untested")
OUT_OF_SERVICE = Notice("False", "OutOfService", "Warning")
PASSED = Notice("True", "FullSuitePassed")


@dataclass(frozen=True, slots=True)
class NoticeResult:
    changed: bool
    complaint: str = ""


class Kubernetes:
    name = "kubernetes"

    def __init__(self, settings: KubernetesSettings) -> None:
        self._settings = settings
        self._api = KubernetesApi(settings)
        self._eviction = Eviction(self._api)
        self._gangs = Gangs(self._api, settings.requeue)
        self._handlers: dict[Verb, Callable[[Action, KubernetesNode, bool], ActionOutcome]] = {
            Verb.CORDON: self._close,
            Verb.DRAIN: self._close,
            Verb.UNCORDON: self._open,
            Verb.CHOOSE_LAST: self._prefer,
            Verb.CHOOSE_NORMALLY: self._prefer,
        }
        self.verbs = frozenset(self._handlers)

    idempotent = True

    def did_run(self, action: Action) -> bool | None:
        return False

    def perform(self, action: Action, dry_run: bool) -> ActionOutcome:
        handler = self._handlers.get(action.verb)
        if handler is None:
            return refused(f"Kubernetes does not know how to {action.verb.value}")
        if not _NAME.fullmatch(action.node):
            return refused(f"{action.node!r} is not the name of a node in Kubernetes")
        try:
            return handler(action, self._node(action.node), dry_run)
        except ApiRefused as error:
            if error.status == NOT_FOUND:
                return refused(f"Kubernetes knows no node {action.node}")
            return failed(str(error), retryable=error.retryable)
        except NoAnswer as error:
            return failed(str(error), retryable=error.retryable)

    # ------------------------------------------------------------ reading

    def snapshot(self) -> Snapshot:
        nodes = [self._read_node(item) for item in self._api.everything(_NODES)]
        pods = [self._read_pod(item) for item in self._api.everything(_PODS, **_BOUND)]
        return Snapshot(tuple(one for one in nodes if one), tuple(one for one in pods if one))

    def keep_looking(self, changed: Callable[[], None]) -> WatchedObjects:
        """A copy of nodes and pods that stays current. Another thread calls `changed` after each change."""
        drivers = self._settings.gpu_drivers
        dra = {"group": claims.GROUP}
        return WatchedObjects(
            Mirror(self._api, _NODES, self._read_node, changed),
            Mirror(self._api, _PODS, self._read_pod, changed, **_BOUND),
            Mirror(self._api, "resourceclaims", partial(claims.claim, drivers=drivers), changed, **dra),
            Mirror(self._api, "resourceslices", partial(claims.resource_slice, drivers=drivers), changed, **dra),
        )

    def lease(self, holder: str) -> KubernetesLease | None:
        """The configured Lease, not requested yet."""
        return KubernetesLease(self._api, self._settings.lease, holder) if self._settings.lease else None

    def start_again(self, snapshot: Snapshot) -> list[str]:
        """Restarts jobs that we suspended and whose pods have all ended; they start elsewhere."""
        return self._gangs.start_again(snapshot.pods)

    def observe(self) -> list[NodeStatus]:
        return statuses(self.snapshot())

    def close_for_repair(self, action: Action) -> str:
        """Set our taint and cordon again if somebody removed them. `kubectl uncordon` leaves the taint, which lets
        in only pods that tolerate it. Then read the node: the read shows what the scheduler placed before."""
        try:
            node = self._node(action.node)
            self._change(node, partial(marks.hold, cause=action.cause, note=_note(action), cordon=True))
            seen = Snapshot((self._node(node.name),), tuple(self._pods(node.name)))
        except ApiRefused as error:
            if error.status != NOT_FOUND:
                raise
            return f"Kubernetes knows no node {action.node}"
        [status] = statuses(seen)
        closed = status.drained_and_empty and seen.nodes[0].untested
        return "" if closed else f"{action.node} is {status.state} in Kubernetes, not drained and empty"

    def _node(self, name: str) -> KubernetesNode:
        found = self._read_node(self._api.get(f"{_NODES}/{name}"))
        if found is None:
            raise NoAnswer(f"Kubernetes did not answer with the node {name}", retryable=True)
        return found

    def _pods(self, node: str) -> list[KubernetesPod]:
        items = self._api.everything(_PODS, fieldSelector=f"spec.nodeName={node}")
        return [pod for item in items if (pod := self._read_pod(item)) is not None]

    def _read_node(self, item: object) -> KubernetesNode | None:
        return read_node(item, self._settings.gpu_resources)

    def _read_pod(self, item: object) -> KubernetesPod | None:
        return read_pod(item, self._settings.gpu_resources)

    # ------------------------------------------------------------ handlers

    def _close(self, action: Action, node: KubernetesNode, dry_run: bool) -> ActionOutcome:
        """Taints a node that only waits for its test. A failed node is also cordoned, and drained if requested."""
        cordon = action.verb is Verb.DRAIN or bool(action.cause)
        note = _note(action)
        plan = partial(marks.hold, cause=action.cause, note=note, cordon=cordon)
        leaving = [pod for pod in self._pods(node.name) if pod.holds_node] if action.verb is Verb.DRAIN else []
        if dry_run:
            return _would(action, node, plan(node), leaving)
        changed = self._change(node, plan)
        reported = self._notify(action, OUT_OF_SERVICE if cordon else UNTESTED, note)
        how = f"{node.name} takes no new work ({'cordon and ' if cordon else ''}taint {k8s.UNTESTED}: {note})"
        if cordon and node.unschedulable and not node.closed_by_us:
            how += "; the cordon made by another stays theirs"
        if leaving and clock.now() < action.evict_at:
            how += self._let_finish(action, leaving)
            leaving = []
        suspended = self._gangs.suspend(leaving)
        how += f"; suspended {', '.join(suspended.names)}, to start elsewhere" if suspended.names else ""
        leaving = [pod for pod in leaving if pod.uid not in suspended.pods]
        sent = self._eviction.send_away(leaving)
        how += f"; {sent.message}" if leaving else ""
        if sent.held:
            return failed(how, retryable=True)
        if not (changed or reported.changed or sent.evicted or suspended.names):
            return nothing_to_do(f"already so: {how}{reported.complaint}")
        return done(how + reported.complaint)

    def _let_finish(self, action: Action, pods: list[KubernetesPod]) -> str:
        """Lets running work continue until the policy's deadline; with `checkpoint`, the pods learn the deadline."""
        until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(action.evict_at))
        if action.announce:
            for pod in pods:
                self._announce(pod, until)
        return f"; {len(pods)} pods may finish until {until}" + (", and were notified" if action.announce else "")

    def _announce(self, pod: KubernetesPod, until: str) -> None:
        """Announces the deadline in an annotation, which a pod reads through the downward API."""
        change = {"metadata": {"annotations": {k8s.EVICT_AT: until}}}
        try:
            self._api.patch(f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}", change)
        except ApiRefused as error:
            if error.status != NOT_FOUND:
                raise

    def _open(self, action: Action, node: KubernetesNode, dry_run: bool) -> ActionOutcome:
        if node.created is not None and node.created > (action.at if action.tested_at is None else action.tested_at):
            return nothing_to_do(f"{node.name} registered again after its test began")
        by_hand = node.unschedulable and not node.closed_by_us
        stays = f"; the cordon of {node.name} was made by another and stays" if by_hand else ""
        if dry_run:
            return _would(action, node, marks.release(node), [])
        changed = self._change(node, marks.release)
        reported = self._notify(action, PASSED, k8s.note("", action.reason))
        if not (changed or reported.changed):
            return nothing_to_do(f"no mark of ours closes {node.name}{stays}{reported.complaint}")
        return done(f"lifted our marks from {node.name}{stays or ': it takes work'}{reported.complaint}")

    def _prefer(self, action: Action, node: KubernetesNode, dry_run: bool) -> ActionOutcome:
        last = action.verb is Verb.CHOOSE_LAST
        plan, how = (marks.choose_last, "last") if last else (marks.choose_normally, "normally")
        if dry_run:
            return _would(action, node, plan(node), [])
        if not self._change(node, plan):
            return nothing_to_do(f"{node.name} is chosen {how} already")
        kind = "Warning" if last else "Normal"
        self._event(node, action, kind, "Degraded" if last else "Recovered", k8s.note(action.cause, action.reason))
        return done(f"{node.name} is chosen {how}: taint and label {k8s.DEGRADED} {'set' if last else 'removed'}")

    def _change(self, node: KubernetesNode, plan: Plan) -> bool:
        """Applies a change; returns whether the node changed. After a conflict the node is read again; others'
        changes are never overwritten."""
        for _ in range(_ATTEMPTS):
            change = plan(node)
            if change is None:
                return False
            try:
                self._api.patch(f"{_NODES}/{node.name}", change)
                return True
            except ApiRefused as error:
                if error.status != CONFLICT:
                    raise
                node = self._node(node.name)
        raise NoAnswer(f"{node.name} was changed by others {_ATTEMPTS} times while we tried", retryable=True)

    def _notify(self, action: Action, notice: Notice, message: str) -> NoticeResult:
        """Write the condition and an event. If the server forbids this, the action still counts as done."""
        node = self._node(action.node)
        change = marks.condition(node, notice.status, notice.reason, message, action.at)
        if change is None:
            return NoticeResult(False)
        try:
            self._api.patch(f"{_NODES}/{node.name}/status", change, STRATEGIC)
            self._event(node, action, notice.event, notice.reason, message)
        except ApiRefused as error:
            if error.retryable:
                raise
            return NoticeResult(False, f"; but condition or event could not be written: {error}")
        return NoticeResult(True)

    def _event(self, node: KubernetesNode, action: Action, kind: str, reason: str, message: str) -> None:
        """Named after the action, so that a retry does not create a second event."""
        name = f"{node.name[:200]}.{hashlib.sha256(action.key.encode()).hexdigest()[:16]}"
        body = marks.event(node, name, kind, reason, message, action.at)
        try:
            self._api.post("/api/v1/namespaces/default/events", body)
        except ApiRefused as error:
            if error.status != CONFLICT:
                raise


def _note(action: Action) -> str:
    return k8s.note(action.cause, action.reason)


def _would(
    action: Action, node: KubernetesNode, change: marks.Change | None, leaving: list[KubernetesPod]
) -> ActionOutcome:
    steps = [f"PATCH {_NODES}/{node.name} {json.dumps(change)}"] if change else []
    steps += [f"evict {pod.shown_as}" for pod in leaving]
    if not steps:
        return nothing_to_do(f"{action.verb.value} of {node.name} would change nothing: it is {node.state}")
    return would(f"{action.verb.value} {node.name}: {'; '.join(steps)}")
