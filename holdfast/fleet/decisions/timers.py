"""Decisions that depend only on time: silence, the next repair step, the end of a hold, a lost test, a spare."""

from holdfast.fleet.decisions.breaker import breaker_of, spares_wanted
from holdfast.fleet.decisions.guards import SILENT, planned
from holdfast.fleet.decisions.lifecycle.machine import may_repair, needs_operator
from holdfast.fleet.decisions.unsaved_state import Unsaved
from holdfast.fleet.decisions.verdict_state import EVALUATED_STAGES, VerdictState, event_of
from holdfast.model.lifecycle import EventKind, NodeEvent, NodeState, Stage, Verb
from holdfast.model.records import LifecycleStep

_H, _S = EventKind, Stage
# after its workload a node is tested at the next poll of its scheduler, or after this time
SCHEDULER_WAIT_SECONDS = 30.0
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 60.0  # pause before a decision that raised is tried again
HELD_RETEST_SECONDS = 600.0  # a node that is held under test is tested again this often
IDLE = (_S.READY, _S.SPARE)
SETTLED = (*IDLE, _S.ALLOCATED, _S.REMOVED)


class Timers:
    def __init__(self, state: VerdictState, unsaved: Unsaved) -> None:
        self._state, self._unsaved = state, unsaved
        self._began: float | None = None  # start of this controller; silence before it does not count
        self._alarmed: set[str] = set()  # nodes whose blindness was reported
        self._failures: dict[str, tuple[float, float]] = {}  # node whose decision raised -> (next pause, next try)
        self._raised: dict[str, Exception] = {}

    def begin(self, now: float) -> float:
        """Sets the start time of this controller."""
        self._began = now if self._began is None else self._began
        return self._began

    def tick(self, now: float) -> list[LifecycleStep]:
        self.begin(now)
        state = self._state
        self._note_silence(now)
        state.guards.end_what_is_over(now, state.policy, lambda name: self._fails(name, now))
        steps = [step for node in self._stirring(now) for step in self._contained(node, now)]
        self._note_limits(now)
        steps += self._promote(now)
        self._close_breakers(now)
        return steps

    def _contained(self, node: NodeState, now: float) -> list[LifecycleStep]:
        """Decides for one node.

        If that raises, the node stays unchanged and is tried again later; the others continue.
        """
        pause, until = self._failures.get(node.name, (FIRST_PAUSE_SECONDS, now))
        if now < until:
            return []
        try:
            steps = self._next_for(node, now)
        except Exception as error:  # noqa: BLE001  reported by who calls
            self._state.put(node)
            self._failures[node.name] = min(2 * pause, LONGEST_PAUSE_SECONDS), now + pause
            self._raised[node.name] = error
            return []
        self._failures.pop(node.name, None)
        return steps

    def take_raised(self) -> dict[str, Exception]:
        """Exceptions by node since the last call."""
        raised, self._raised = self._raised, {}
        return raised

    @property
    def failing(self) -> bool:
        """Whether a decision about some node raised and has not succeeded since."""
        self._failures = {name: one for name, one in self._failures.items() if name in self._state.nodes}
        return bool(self._failures)

    def _fails(self, name: str, now: float) -> bool:
        """Whether a held node under test counts as failing: until a test passes, or the check that failed."""
        node = self._state.nodes.get(name)
        on_trial = node is not None and node.stage is _S.TESTING and bool(node.held)
        on_trial = on_trial and self._state.guards.failing_by(name) is not None
        return on_trial or self._state.failing(name) is not None or self._silent(name, now)

    def _silent(self, name: str, now: float) -> bool:
        heard = max(self._state.last_report_at.get(name, now), self.begin(now))
        return now - heard > self._state.policy.silent_seconds

    def _stirring(self, now: float) -> list[NodeState]:
        """Nodes for which time may change something; healthy nodes, most of a fleet, are skipped."""
        state, policy = self._state, self._state.policy
        troubled = state.current.troubled()
        suites = {pool: policy.of(pool).suite for pool in state.guards.tallies}
        self._alarmed &= troubled
        if any(window.active(now) for window in policy.maintenance):
            return list(state.nodes.values())
        return [
            node
            for node in state.nodes.values()
            if node.held or node.stage not in SETTLED or node.name in troubled or node.tested_suite != suites[node.pool]
        ]

    def _note_silence(self, now: float) -> None:
        state = self._state
        for name in state.nodes.keys() - state.last_report_at.keys():
            state.last_report_at[name] = now
        since = now - state.policy.silent_seconds
        nodes = state.nodes.items() if self.begin(now) < since else ()
        silent = [name for name, node in nodes if state.last_report_at[name] < since and self._missed(node, now)]
        state.guards.failed_together(silent, SILENT, now, state.policy)
        for name in silent:
            self._report_silence(name, now)
        self._close_silence_of_removed(now)

    def _missed(self, node: NodeState, now: float) -> bool:
        """Whether reports of the node are expected and missing. A removed node may be switched off permanently."""
        return node.stage is not _S.REMOVED and planned(node, now, self._state.policy) is None

    def _close_silence_of_removed(self, now: float) -> None:
        state = self._state
        opened = state.incidents.open.items()
        silent = [subject for subject, one in opened if one.cause == SILENT and subject.startswith("node/")]
        for subject in silent:
            node = state.nodes.get(subject.partition("/")[2])
            if node is not None and node.stage is _S.REMOVED:
                state.incidents.close(subject, now, "the node was removed")

    def _report_silence(self, name: str, now: float) -> None:
        state, subject = self._state, f"node/{name}"
        if parent := state.incidents.explaining(name) or state.incidents.root_of(name, (SILENT,)):
            state.incidents.close(subject, now, f"absorbed by {parent}", absorbed=True)
        elif subject not in state.incidents.open:
            reason = f"the agent of {name} has not reported for {now - state.last_report_at[name]:.0f} s"
            state.incidents.raise_(subject, SILENT, reason, now)

    def _next_for(self, node: NodeState, now: float) -> list[LifecycleStep]:
        state = self._state
        hold = state.guards.hold(node, now, state.policy, out=False, checks=self._complaints(node))
        if hold is None and (node.stage is _S.QUARANTINED or node.held.endswith("?")):
            hold = state.guards.pattern(node, now, state.policy)
        if node.held and (freed := self._reconsider(node, hold is not None, now)):
            return freed
        waits = hold is not None and (node.stage is _S.QUARANTINED or hold.holder.startswith("maintenance/"))
        waits = waits and not (node.stage is _S.QUARANTINED and needs_operator(node, state.policy))
        if hold is not None and waits and node.held != hold.holder:
            return state.held(node.name, hold, node.cause, now)
        return self._next_of_stage(node, now) + self._note_blindness(node, now)

    def _complaints(self, node: NodeState) -> list[str]:
        """The checks for which the node may be held: in service all failing ones, otherwise the one that took it
        out."""
        if node.stage not in (*EVALUATED_STAGES, _S.TESTING):
            return [node.cause]
        checks = [one.check for one in self._state.current.complaints(node.name)]
        return [*checks, self._state.guards.failing_by(node.name) or ""]

    def _next_of_stage(self, node: NodeState, now: float) -> list[LifecycleStep]:
        state, name = self._state, node.name
        if node.stage is _S.CLEANING and state.scheduled and now - node.since < SCHEDULER_WAIT_SECONDS:
            return []
        if node.stage is _S.CLEANING:
            return self.cleaned(node, now)
        if node.stage is _S.DRAINING and not state.scheduled and state.confirmed_empty(node, now):
            return self.released(node, _H.EMPTIED, now)
        if node.stage is _S.QUARANTINED and may_repair(node, state.policy):
            return state.step(name, NodeEvent(kind=_H.NEXT_REPAIR, cause=node.cause), now)  # unless it is held
        if node.stage is _S.TESTING:
            return self._on_trial(node, now)
        if node.stage is _S.RESETTING:
            return self._resetting(node, now)
        if node.stage in EVALUATED_STAGES and (failing := state.failing(name)) is not None:
            return state.failed(name, failing, now)
        if node.stage in IDLE and node.tested_suite != (suite := state.policy.of(node.pool).suite):
            reason = f"tested by suite {node.tested_suite}, but suite {suite} is required"
            return state.step(name, NodeEvent(kind=_H.RETEST, reason=reason), now)
        return []

    def cleaned(self, node: NodeState, now: float) -> list[LifecycleStep]:
        return self.released(node, _H.CLEANED, now)

    def released(self, node: NodeState, how: EventKind, now: float) -> list[LifecycleStep]:
        """Releases the node once its unsaved training state is in storage, or `flush_seconds` have passed."""
        if self._unsaved.holds(node, now, self._state.policy):
            return []
        return self._state.step(node.name, NodeEvent(kind=how, reason=self._unsaved.left(node.name)), now)

    def _resetting(self, node: NodeState, now: float) -> list[LifecycleStep]:
        own = self._state.policy.of(node.pool)
        inspected = own.repair_steps[node.repair_step - 1 : node.repair_step] == (Verb.INSPECT,)
        if inspected or now - node.since <= own.reset_seconds:
            return []
        reason = f"not back within {own.reset_seconds:g} s"
        return self._state.step(node.name, NodeEvent(kind=_H.RESET_FAILED, reason=reason), now)

    def _lost(self, node: NodeState, now: float) -> bool:
        """Whether the node is silent since a reset, without a shared cause."""
        waited = node.asked_at is not None and now - node.asked_at > self._state.policy.of(node.pool).reset_seconds
        return waited and node.failed and node.repair_step > 0 and not self._state.incidents.explaining(node.name)

    def _on_trial(self, node: NodeState, now: float) -> list[LifecycleStep]:
        """A test without an answer is unknown, unless the agent is silent and never received the order."""
        budget = self._state.policy.of(node.pool).suite_seconds
        if node.held and now - node.held_since >= HELD_RETEST_SECONDS and node.asked_at is None:
            return self._state.step(node.name, NodeEvent(kind=_H.RETEST, reason="held for long; tested again"), now)
        if node.asked_at is None or now - node.asked_at <= budget:
            return []
        if self._silent(node.name, now) and not self._lost(node, now):
            return []
        event = NodeEvent(kind=_H.TEST_UNKNOWN, cause="suite", reason=f"no answer within its {budget:g} s")
        return self._state.step(node.name, event, now)

    def _reconsider(self, node: NodeState, still: bool, now: float) -> list[LifecycleStep]:
        """Ends a hold that is over. A node that the hold kept from a test, or that it took out, is tested in full."""
        state, maintained = self._state, node.held.startswith("maintenance/")
        on_trial = node.stage is _S.TESTING
        judged = node.stage in EVALUATED_STAGES and state.failing(node.name) is not None
        if still or (judged and not maintained):
            return []  # handling the remaining failure ends the hold
        if on_trial and state.guards.hold(node, now, state.policy, out=True) is not None:
            return []
        why = f"{node.held.rstrip('?')} no longer holds it"
        steps = state.step(node.name, NodeEvent(kind=_H.FREED, reason=why), now)
        for change in state.current.complaints(node.name) if node.stage in EVALUATED_STAGES else ():
            if node.degraded_by != change.check:  # the present degradation counts
                steps += state.step(node.name, event_of(_H.DEGRADED, change), now)
        waiting = on_trial or (node.stage is _S.QUARANTINED and not needs_operator(node, state.policy))
        if waiting or node.stage in IDLE:
            steps += state.step(node.name, NodeEvent(kind=_H.RETEST, reason=why), now)
        return steps

    def _note_blindness(self, node: NodeState, now: float) -> list[LifecycleStep]:
        """Reports once that a check in service is unknown for too long, until the check has a value again."""
        since = self._state.current.blind_since(node.name)
        if since is None:
            return []
        if now - since > self._state.policy.of(node.pool).unknown_seconds and node.name not in self._alarmed:
            self._alarmed.add(node.name)
            event = NodeEvent(kind=_H.BLIND, reason="a check has been unknown too long")
            return self._state.step(node.name, event, now)
        return []

    def _note_limits(self, now: float) -> None:
        """A test without an answer and a drain without an end are incidents; both end with the stage."""
        state = self._state
        for subject in [one for one in state.incidents.open if one.startswith("node/") and one.count("/") == 2]:
            _, name, what = subject.split("/")
            node = state.nodes.get(name)
            if what in ("test", "drain") and (node is None or not self._overdue(node, what, now)):
                state.incidents.close(subject, now, "it went on")
        for node in state.nodes.values():
            if node.stage in (_S.TESTING, _S.DRAINING):
                what = "test" if node.stage is _S.TESTING else "drain"
                if reason := self._overdue(node, what, now):
                    state.incidents.raise_(f"node/{node.name}/{what}", f"{what}.overdue", reason, node.since)

    def _overdue(self, node: NodeState, what: str, now: float) -> str:
        own = self._state.policy.of(node.pool)
        if what == "drain" and node.stage is _S.DRAINING and now - node.since > own.drain_seconds:
            jobs = f": {', '.join(sorted(node.jobs)[:5])} still runs" if node.jobs else ""
            return f"{node.name} drains for more than {own.drain_seconds / 3600:g} h{jobs}"
        if what == "test" and node.stage is _S.TESTING and not node.held:
            asked = node.since if node.tests or node.asked_at is None else node.asked_at
            if now - asked > own.suite_seconds:
                return f"the full test of {node.name} has given no answer for more than {own.suite_seconds / 3600:g} h"
        return ""

    def _promote(self, now: float) -> list[LifecycleStep]:
        """Promotes spares for nodes that are out: tested ones, and never more than needed."""
        state = self._state
        steps: list[LifecycleStep] = []
        for pool, counted in state.guards.tallies.items():
            too_many = len(counted.spares) - spares_wanted(counted, pool, state.policy)
            for name in sorted(counted.spares)[: max(0, too_many)]:
                reason = f"{counted.out} of {counted.here} nodes of pool {pool} are out of service"
                steps += state.step(name, NodeEvent(kind=_H.PROMOTED, reason=reason), now)
        return steps

    def _close_breakers(self, now: float) -> None:
        """Ends a breaker's incident when nodes may leave again, or when it no longer keeps a node in service."""
        state = self._state
        for subject in [one for one in state.incidents.open if one.startswith("pool/")]:
            pool = subject.partition("/")[2]
            members = state.incidents.members(subject)
            kept = [name for name in members if state.nodes[name].held == subject]
            if not breaker_of(state.guards.tallies[pool], pool, state.policy).open:
                state.incidents.close(subject, now, "there is room again")
            elif not kept:
                parents = sorted({state.incidents.explaining(name) for name in members} - {""})
                why = f"absorbed by {', '.join(parents)}" if parents else "it no longer keeps a node in service"
                state.incidents.close(subject, now, why, absorbed=bool(parents))
