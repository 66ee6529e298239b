"""Why an attempt died: what happened to its own nodes while it ran."""

from holdfast.fleet.api.routes.jobs import _notes
from holdfast.fleet.jobs.views import RestartView
from holdfast.model.lifecycle import EventKind, NodeEvent, Stage
from holdfast.model.records import Transition


def left(node: str, at: float) -> Transition:
    why = NodeEvent(kind=EventKind.RECOVERED, cause="gpu.xid")
    result = "Xid 119, 2 s ago"
    return Transition(node=node, at=at, before=Stage.ALLOCATED, after=Stage.QUARANTINED, event=why, reason=result)


DEATH = RestartView(at=1_000.0, down_seconds=60.0, from_step=-1, lost_steps=4, rework_seconds=0.0, gpu_hours=1.0)


def test_what_happened_before_the_attempt_began_is_not_why_it_died() -> None:
    steps = [left("n1", 850.0), left("n1", 930.0), left("n9", 930.0), left("n1", 1_100.0)]
    assert _notes(DEATH, 900.0, ["n1"], steps) == ("n1: Xid 119, 2 s before",)
    assert len(_notes(DEATH, 0.0, ["n1"], steps)) == 2


def fails(node: str, at: float) -> Transition:
    """It waits for its neighbours: nothing but its admission has changed."""
    why = NodeEvent(kind=EventKind.HELD, cause="gpu.xid", failed=True, holder="leaf/l1?")
    return Transition(node=node, at=at, before=Stage.READY, after=Stage.READY, event=why, reason="held")


def test_a_node_that_fails_and_leaves_later_is_why_it_died() -> None:
    assert _notes(DEATH, 900.0, ["n1"], [fails("n1", 930.0), left("n1", 1_050.0)]) == ("n1: Xid 119, 2 s before",)
    assert _notes(DEATH, 900.0, ["n1"], [fails("n1", 930.0)]) == ("n1: gpu.xid fails",)
    assert _notes(DEATH, 900.0, ["n1"], [fails("n1", 930.0), left("n1", 1_500.0)]) == ("n1: gpu.xid fails",)
    assert _notes(DEATH, 900.0, ["n1"], [fails("n1", 1_010.0), left("n1", 1_050.0)]) == ()
    assert _notes(DEATH, 900.0, ["n1"], [fails("n9", 930.0)]) == ()
