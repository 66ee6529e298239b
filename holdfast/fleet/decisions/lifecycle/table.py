"""The transition table: (stage, event) -> (stage, actions). docs/lifecycle.md shows it."""

from dataclasses import dataclass

from holdfast.model.lifecycle import EventKind, Stage, Verb

_S, _H, _V = Stage, EventKind, Verb
IDLE = (_S.READY, _S.SPARE)
IN_SERVICE = (*IDLE, _S.ALLOCATED)


@dataclass(frozen=True, slots=True)
class Move:
    """A cell of the table: the next stage (None keeps it) and the actions. `text` explains it in the docs."""

    to: Stage | None
    verbs: tuple[Verb, ...] = ()
    text: str = ""


TABLE: dict[tuple[Stage, EventKind], Move] = {
    (_S.PROVISIONING, _H.ENROLLED): Move(_S.TESTING, (_V.CORDON, _V.RETEST), "a new node runs nothing until tested"),
    (_S.TESTING, _H.TEST_PASSED): Move(_S.READY, (_V.UNCORDON,), "passed the full suite"),
    (_S.TESTING, _H.TEST_FAILED): Move(_S.QUARANTINED, (_V.CORDON,), "failed the full suite"),
    (_S.TESTING, _H.TEST_UNKNOWN): Move(_S.TESTING, (_V.RETEST,), "the suite was inconclusive"),
    (_S.TESTING, _H.QUARANTINE): Move(_S.QUARANTINED, (_V.CORDON,), "an operator requested it"),
    (_S.TESTING, _H.RETEST): Move(_S.TESTING, (_V.RETEST,), "a retest was requested"),
    (_S.READY, _H.JOB_STARTED): Move(_S.ALLOCATED, (), "a workload started"),
    (_S.SPARE, _H.JOB_STARTED): Move(_S.ALLOCATED, (_V.TICKET,), "a workload started on a spare: check the gate"),
    (_S.SPARE, _H.PROMOTED): Move(_S.READY, (_V.UNCORDON,), "a spare takes the place of another node"),
    **{
        (s, _H.JOB_ENDED): Move(_S.CLEANING, (_V.CORDON,), "a workload ended whose start was not seen")
        for s in (*IDLE, _S.TESTING)
    },
    **{(s, _H.RETEST): Move(_S.TESTING, (_V.CORDON, _V.RETEST), "a retest was requested") for s in IDLE},
    (_S.ALLOCATED, _H.JOB_STARTED): Move(_S.ALLOCATED, (), "another workload started"),
    (_S.ALLOCATED, _H.JOB_ENDED): Move(_S.CLEANING, (_V.CORDON,), "the last workload ended"),
    (_S.CLEANING, _H.CLEANED): Move(_S.TESTING, (_V.RETEST,), "clean; tested before the next workload"),
    (_S.CLEANING, _H.FAILED): Move(_S.QUARANTINED, (), "failed while being cleaned"),
    (_S.DRAINING, _H.JOB_ENDED): Move(_S.DRAINING, (), "a workload ended while draining"),
    (_S.DRAINING, _H.EMPTIED): Move(_S.QUARANTINED, (), "the node is empty"),
    (_S.QUARANTINED, _H.NEXT_REPAIR): Move(_S.RESETTING, (), "the next repair step"),
    (_S.QUARANTINED, _H.RELEASE): Move(_S.TESTING, (_V.RETEST,), "released by an operator; tested first"),
    (_S.QUARANTINED, _H.RETEST): Move(_S.TESTING, (_V.RETEST,), "a retest was requested"),
    (_S.DRAINING, _H.RELEASE): Move(_S.TESTING, (_V.RETEST,), "released by an operator; tested first"),
    (_S.DRAINING, _H.QUARANTINE): Move(None, (), "an operator takes it over; running work finishes first"),
    (_S.QUARANTINED, _H.QUARANTINE): Move(None, (), "an operator takes it over"),
    (_S.RESETTING, _H.QUARANTINE): Move(_S.QUARANTINED, (_V.CORDON,), "an operator takes it over"),
    (_S.RESETTING, _H.RESET_DONE): Move(_S.TESTING, (_V.RETEST,), "reset; tested in full before it returns"),
    (_S.RESETTING, _H.RESET_FAILED): Move(_S.QUARANTINED, (), "the reset did not succeed"),
    (_S.REMOVED, _H.RELEASE): Move(_S.TESTING, (_V.CORDON, _V.RETEST), "brought back by an operator; tested first"),
    (_S.REMOVED, _H.ENROLLED): Move(None, (), "stays removed until an operator releases it"),
    **{
        (s, _H.JOB_STARTED): Move(_S.ALLOCATED, (_V.TICKET,), "a workload started on an untested node: check the gate")
        for s in (_S.PROVISIONING, _S.TESTING, _S.CLEANING)
    },
    **{
        (s, _H.JOB_STARTED): Move(
            None, (_V.DRAIN, _V.TICKET), "a workload started on a node out of service: check the gate"
        )
        for s in (_S.DRAINING, _S.QUARANTINED, _S.RESETTING, _S.REMOVED)
    },
    **{(s, _H.FAILED): Move(_S.DRAINING, (_V.DRAIN,), "failed in service") for s in IN_SERVICE},
    **{(s, _H.DEGRADED): Move(None, (_V.CHOOSE_LAST,), "degraded: chosen last, tested when empty") for s in IN_SERVICE},
    **{(s, _H.RECOVERED): Move(None, (_V.CHOOSE_NORMALLY,), "no longer degraded") for s in IN_SERVICE},
    **{(s, _H.BLIND): Move(None, (_V.TICKET,), "unknown for too long: an alarm, never a drain") for s in IN_SERVICE},
    **{(s, _H.QUARANTINE): Move(_S.DRAINING, (_V.DRAIN,), "an operator requested it") for s in IN_SERVICE},
    **{
        (s, _H.QUARANTINE): Move(_S.QUARANTINED, (_V.CORDON,), "an operator requested it")
        for s in (_S.PROVISIONING, _S.CLEANING)
    },
    **{
        (s, _H.REMOVE): Move(_S.REMOVED, (_V.DRAIN,), "removed by an operator")
        for s in _S
        if s not in (_S.REMOVED, _S.ALLOCATED, _S.DRAINING)
    },
    **{
        (s, _H.REMOVE): Move(_S.DRAINING, (_V.DRAIN,), "to be removed; running work finishes first")
        for s in (_S.ALLOCATED, _S.DRAINING)
    },
    **{
        (s, _H.PART_REPLACED): Move(_S.TESTING, (_V.CORDON, _V.RETEST), "a part was replaced; tested in full")
        for s in (*IDLE, _S.QUARANTINED)
    },
    **{(s, _H.PART_REPLACED): Move(None, (), "a part was replaced") for s in _S if s not in (*IDLE, _S.QUARANTINED)},
    **{(s, _H.HELD): Move(None, (), "a safeguard blocks the quarantine") for s in _S if s is not _S.REMOVED},
    **{(s, _H.FREED): Move(None, (), "no safeguard blocks the quarantine any longer") for s in _S},
}
