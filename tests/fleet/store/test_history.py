"""A node's story: everything of that node, newest first, page by page, nothing twice and nothing left out."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.fleet.store import Store, StoreError
from holdfast.model.lifecycle import Verb
from holdfast.model.records import HistoryLine, Outcome
from holdfast.model.signal import Event
from holdfast.model.wire.report import Report, VerdictChange
from tests.counts import draws

from .lives import step


def pages(store: Store, node: str, limit: int) -> list[HistoryLine]:
    result, before = list[HistoryLine](), ""
    while True:
        page = store.node_history(node, limit, before)
        assert len(page.lines) <= limit
        result += page.lines
        if not (before := page.older):
            return result


def failing_node(store: Store) -> None:
    epoch = store.lead("test", 1000, now=100.0)
    assert epoch is not None
    event = Event(kind="xid", at=99.0, text="NVRM: Xid 79", code=79)
    change = VerdictChange(at=99.5, check="gpu.xid", before="pass", after="fail", reason="GPU 3: Xid 79")
    store.record([Report(node="n1", session="s", seq=1, at=99.0, events=(event,), changes=(change,))], 99.9)
    store.record([Report(node="n2", session="s", seq=1, at=99.0, events=(event,), changes=(change,))], 99.9)
    store.transit_all([step("n1", at=100.0, verbs=(Verb.DRAIN,))], epoch)
    (claimed,) = store.claim(epoch, 1, now=100.5)
    store.finish(claimed.id, Outcome.DONE, "slurm: drained", epoch, 101.0)


def test_the_history_reports_from_the_event_to_the_command_with_reasons(store: Store) -> None:
    failing_node(store)
    assert [(line.at, line.kind, line.what, line.reason) for line in store.node_history("n1").lines] == [
        (101.0, "action", "drain done", "slurm: drained"),
        (100.5, "action", "drain claimed", "failed in service"),
        (100.0, "action", "drain proposed", "failed in service"),
        (100.0, "transition", "allocated -> draining", "failed in service"),
        (99.5, "verdict", "gpu.xid: pass -> fail", "GPU 3: Xid 79"),
        (99.0, "event", "xid", "NVRM: Xid 79"),
    ]


def test_each_line_carries_its_evidence(store: Store) -> None:
    failing_node(store)
    by_kind = {line.kind: line.detail for line in store.node_history("n1").lines}
    assert by_kind["transition"]["evidence"] == ["GPU 3 fell off the bus"]
    assert by_kind["event"]["code"] == 79
    assert by_kind["action"]["cause"] == "gpu.xid"


def test_a_node_no_one_knows_has_no_history(store: Store) -> None:
    assert store.node_history("nobody").lines == ()
    assert store.node_history("nobody").older == ""


@settings(max_examples=draws(5, 15), suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(
    events=st.lists(st.integers(1, 4), max_size=12),
    changes=st.lists(st.integers(1, 4), max_size=6),
    steps=st.lists(st.integers(1, 4), max_size=6),
    limit=st.integers(1, 7),
)
def test_pages_of_any_size_report_everything_once_in_order(
    store: Store, events: list[int], changes: list[int], steps: list[int], limit: int
) -> None:
    name = f"n{next(_serial)}"
    epoch = store.lead("test", 1000, now=1.0) or 0
    made = Report(
        node=name,
        session="s",
        seq=1,
        at=5.0,
        events=tuple(Event(kind="k", at=float(at), text=f"{i}") for i, at in enumerate(events)),
        changes=tuple(
            VerdictChange(at=float(at), check=f"c{i}", before="", after="fail") for i, at in enumerate(changes)
        ),
    )
    store.record([made], 10.0)
    store.transit_all([replace(step(name, at=float(at)), actions=()) for at in steps], epoch)
    result = pages(store, name, limit)
    assert len(result) == len(events) + len(changes) + len(steps)
    assert result == list(store.node_history(name, 1000).lines)
    assert [line.at for line in result] == sorted((line.at for line in result), reverse=True)
    assert {line.reason for line in result if line.kind == "event"} == {str(i) for i in range(len(events))}


_serial = iter(range(10**9))


@pytest.mark.parametrize("cursor", ["x", "1:2", "a:b:c", "1.0:1:1:1", "1.0:1:", "nan:1:1", "1.0:9:1", f"1.0:1:{2**63}"])
def test_a_place_that_no_page_gave_is_refused_in_one_sentence(store: Store, cursor: str) -> None:
    with pytest.raises(StoreError, match="not a cursor of a history"):
        store.node_history("n1", before=cursor)
