"""Cached steps of the lifecycle: a simulated year takes a few hundred different steps a hundred thousand times.

A step depends on times only in two ways: is the last test newer than the last workload, and which offences are recent.
A timeless state has those two answers and no other times, so a step computed once serves every node in that state.
"""

from dataclasses import dataclass, field, fields
from operator import attrgetter

from holdfast.fleet.decisions.lifecycle import machine
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.model.lifecycle import EventKind, NodeEvent, NodeState, Offence, Stage, Verb, changed

EventKey = tuple[EventKind, str, str, bool]
"""Kind, cause, job, spare of an event."""
# events whose effect depends on earlier ones
COUNTED = frozenset({EventKind.FAILED, EventKind.TEST_FAILED, EventKind.DEGRADED})
Kept = tuple[int | None, ...]
"""Which of the offences before are kept, by index; None is a new one."""
POOL = "default"
NOW, FRESH, USED, STALE = map(float, range(0, -4, -1))  # stand-ins for real times: only their order matters
_key = attrgetter(*(one.name for one in fields(NodeState) if one.name != "place"))


@dataclass(slots=True, eq=False)
class TimelessState:
    """The state of a node without its name, place and times."""

    life: NodeState
    stage: Stage
    may_repair: bool
    steps: "dict[EventKey, CachedStep]" = field(default_factory=dict)
    with_fewer_offences: "dict[tuple[int, int], TimelessState]" = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class CachedStep:
    """The state afterwards, and the actions."""

    after: TimelessState
    verbs: tuple[Verb, ...]
    recount: bool  # the counts of the pool change
    offences: "Kept | None"  # None: unchanged
    degradations: "Kept | None"


@dataclass(slots=True, eq=False)
class OffenceHistory:
    """One node: its timeless state, and the times of the offences in it."""

    state: TimelessState
    offences: list[float] = field(default_factory=list)
    degradations: list[float] = field(default_factory=list)


class Recall:
    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._offence_seconds = policy.of(POOL).offence_seconds
        self._states: dict[object, TimelessState] = {}
        tested = NodeState(name="", pool=POOL, tested_at=FRESH, tested_suite=policy.suite)
        self._first = {stage: self._state_of(changed(tested, stage=stage)) for stage in Stage}

    def begin(self, stage: Stage) -> OffenceHistory:
        """The state of a freshly tested node that never failed."""
        return OffenceHistory(self._first[stage])

    def step(self, history: OffenceHistory, event: EventKey, now: float) -> CachedStep:
        """The result of machine.step. The history continues from there; `now` never decreases."""
        if event[0] in COUNTED:
            self._forget(history, now)
        state = history.state
        found = state.steps.get(event)
        if found is None:
            found = state.steps[event] = self._compute(state, event)
        history.state = found.after
        if found.offences is not None:
            history.offences = [now if one is None else history.offences[one] for one in found.offences]
        if found.degradations is not None:
            history.degradations = [now if one is None else history.degradations[one] for one in found.degradations]
        return found

    def _compute(self, state: TimelessState, key: EventKey) -> CachedStep:
        kind, cause, job, spare = key
        event = NodeEvent(kind=kind, cause=cause, job=job, spare=spare)
        before = state.life
        after, actions, _ = machine.step(before, event, NOW, self._policy)
        return CachedStep(
            self._state_of(after),
            tuple(action.verb for action in actions),
            recount=_as_counted(before) != _as_counted(after),
            offences=_kept(before.offences, after.offences),
            degradations=_kept(before.degradations, after.degradations),
        )

    def _forget(self, history: OffenceHistory, now: float) -> None:
        """Drops offences that are too old to count."""
        since = now - self._offence_seconds
        history.offences = [at for at in history.offences if at >= since]
        history.degradations = [at for at in history.degradations if at >= since]
        history.state = self._with_last(history.state, len(history.offences), len(history.degradations))

    def _with_last(self, state: TimelessState, offences: int, degradations: int) -> TimelessState:
        """The history with one more offence, of limited length."""
        found = state.with_fewer_offences.get((offences, degradations))
        if found is None:
            life = state.life
            kept = changed(
                life,
                offences=life.offences[len(life.offences) - offences :],
                degradations=life.degradations[len(life.degradations) - degradations :],
            )
            found = state.with_fewer_offences[offences, degradations] = self._state_of(kept)
        return found

    def _state_of(self, life: NodeState) -> TimelessState:
        bare = _without_times(life)
        key = _key(bare)
        found = self._states.get(key)
        if found is None:
            able = machine.may_repair(bare, self._policy)
            found = self._states[key] = TimelessState(bare, bare.stage, able)
        return found


def _as_counted(life: NodeState) -> tuple[bool, Stage | None]:
    """The fields by which the pool counts nodes."""
    return life.out, life.stage if life.stage in (Stage.REMOVED, Stage.SPARE) else None


def _without_times(life: NodeState) -> NodeState:
    tested = None if life.tested_at is None else FRESH if life.freshly_tested else STALE
    return changed(
        life,
        name="",
        since=NOW,
        tested_at=tested,
        used_until=None if life.used_until is None else USED,
        held_since=NOW,
        asked_at=None,
        offences=_all_now(life.offences),
        degradations=_all_now(life.degradations),
        place={},
    )


def _kept(before: tuple[Offence, ...], after: tuple[Offence, ...]) -> Kept | None:
    """The earlier position of each offence. The machine passes on the same objects."""
    index = {id(one): number for number, one in enumerate(before)}
    found = tuple(index.get(id(one)) for one in after)
    return None if found == tuple(range(len(before))) else found


def _all_now(offences: tuple[Offence, ...]) -> tuple[Offence, ...]:
    return tuple(Offence(at=NOW, cause=one.cause) for one in offences)
