"""Ingest: each report once, acknowledged when committed, the present told apart from history."""

import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.fleet.store import Store, reports
from holdfast.model.signal import Event
from holdfast.model.wire.report import Report, VerdictChange
from tests.counts import draws

NOW = 1_800_000_000.0


def report(node: str = "n1", session: str = "s1", seq: int = 1, **more: object) -> Report:
    event = Event(kind="xid", at=NOW - 100 + seq, text=f"{node} {session} {seq}")
    return Report(**{"node": node, "session": session, "seq": seq, "at": NOW, "events": (event,), **more})  # type: ignore[arg-type]


def stored(store: Store, *nodes: str) -> Counter[str]:
    """The texts of all events stored for these nodes, with how often each is there."""
    return Counter(
        line.reason for node in nodes for line in store.node_history(node, 1000).lines if line.kind == "event"
    )


def test_a_report_is_stored_once_however_often_it_is_sent(store: Store) -> None:
    assert store.record([report(seq=1), report(seq=2)], NOW) == [True, True]
    assert store.record([report(seq=2), report(seq=3), report(seq=3)], NOW) == [False, True, False]
    assert stored(store, "n1") == {"n1 s1 1": 1, "n1 s1 2": 1, "n1 s1 3": 1}


def test_the_same_number_of_another_session_or_node_is_another_report(store: Store) -> None:
    reports = [report(), report(session="s2"), report(node="n2")]
    assert store.record(reports, NOW) == [True, True, True]
    assert stored(store, "n1", "n2").total() == 3


def test_a_session_that_retention_forgot_starts_anew(store: Store) -> None:
    assert store.record([report(seq=1)], NOW) == [True]
    while store.retain(NOW + 1):
        pass
    assert store.record([report(seq=1)], NOW + 2) == [True]


sends = st.lists(
    st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.integers(1, 6)), max_size=8), max_size=6
)


@settings(max_examples=draws(8, 25), suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(batches=sends)
def test_any_interleaving_of_duplicates_and_late_reports_stores_the_same_set(
    open_store: Callable[[], Store], batches: list[list[tuple[str, str, int]]]
) -> None:
    """Every example uses node names of its own, so that one database serves all."""
    store = shared(open_store)
    serial = f"e{next(_examples)}"
    acknowledged = Counter[str]()
    for batch in batches:
        sent = [report(node=f"{serial}{node}", session=session, seq=seq) for node, session, seq in batch]
        for one, new in zip(sent, store.record(sent, NOW), strict=True):
            acknowledged[one.events[0].text] += new
    nodes = [f"{serial}{node}" for node in "ab"]
    meant = {f"{serial}{node} {session} {seq}" for batch in batches for node, session, seq in batch}
    assert stored(store, *nodes) == acknowledged == dict.fromkeys(meant, 1)


_examples = iter(range(10**9))
_shared: dict[object, Store] = {}


def shared(open_store: Callable[[], Store]) -> Store:
    """One store for all examples of a test: opening one for each would be most of the time."""
    if open_store not in _shared:
        _shared[open_store] = open_store()
    return _shared[open_store]


def test_two_controllers_recording_the_same_reports_store_them_once(open_store: Callable[[], Store]) -> None:
    one, other = open_store(), open_store()
    reports = [report(node=f"n{i}") for i in range(20)]
    answers = [one.record(reports[:15], NOW), other.record(reports[5:], NOW)]
    assert sum(map(sum, answers)) == 20
    assert stored(one, *(f"n{i}" for i in range(20))).total() == 20


@pytest.mark.slow
def test_two_controllers_recording_at_the_same_time_neither_deadlock_nor_store_twice(
    open_store: Callable[[], Store],
) -> None:
    one, other = open_store(), open_store()
    reports = [report(node=f"n{i % 25}", seq=i) for i in range(300)]

    def send(store: Store, seed: int) -> int:
        mine = random.Random(seed).sample(reports, len(reports))
        return sum(sum(store.record(mine[at : at + 20], NOW)) for at in range(0, len(mine), 20))

    with ThreadPoolExecutor(2) as both:
        new = list(both.map(send, (one, other), (1, 2)))
    assert sum(new) == 300
    assert set(stored(one, *(f"n{i}" for i in range(25))).values()) == {1}


def test_only_new_heartbeats_move_the_time_a_node_was_last_seen(store: Store) -> None:
    store.record([report(seq=1), report(node="n2", heartbeat=True)], NOW)
    assert store.heartbeats() == {"n2": NOW}
    store.record([report(node="n2", heartbeat=True)], NOW + 60)  # replayed
    assert store.heartbeats() == {"n2": NOW}
    store.record([report(node="n2", seq=2, heartbeat=True), report(seq=2)], NOW + 90)
    assert store.heartbeats() == {"n2": NOW + 90}


def change(at: float, after: str) -> VerdictChange:
    return VerdictChange(at=at, check="gpu.xid", before="pass", after=after, reason="r", subjects=("node/n1/gpu/3",))


def test_a_late_verdict_is_history_and_does_not_become_the_present(store: Store) -> None:
    store.record([report(seq=2, changes=(change(NOW - 5, "fail"),))], NOW)
    store.record([report(seq=1, changes=(change(NOW - 50, "degraded"),))], NOW)
    assert store.verdicts() == store.verdicts("n1") == {"n1": [change(NOW - 5, "fail")]}
    result = [line.detail["after"] for line in store.node_history("n1").lines if line.kind == "verdict"]
    assert result == ["fail", "degraded"]


def test_of_several_changes_in_one_commit_the_last_of_the_session_stands(store: Store) -> None:
    first = report(seq=1, changes=(change(NOW - 9, "degraded"), change(NOW - 8, "fail")))
    second = report(seq=2, changes=(change(NOW - 5, "pass"),))
    store.record([second, first], NOW)
    assert store.verdicts("n1") == {"n1": [change(NOW - 5, "pass")]}
    store.record([report(seq=4, changes=(change(NOW - 4, "degraded"), change(NOW - 3, "fail")))], NOW)
    assert store.verdicts("n1") == {"n1": [change(NOW - 3, "fail")]}


def test_an_agent_whose_clock_was_set_back_is_still_believed(store: Store) -> None:
    store.record([report(seq=1, changes=(change(NOW - 5, "fail"),))], NOW)
    store.record([report(seq=2, changes=(change(NOW - 3600, "pass"),))], NOW)
    assert store.verdicts("n1") == {"n1": [change(NOW - 3600, "pass")]}


def test_a_late_verdict_of_an_earlier_session_does_not_become_the_present(store: Store) -> None:
    store.record([report(session="s2", seq=1, changes=(change(NOW - 5, "fail"),))], NOW)
    store.record([report(session="s1", seq=9, changes=(change(NOW - 50, "pass"),))], NOW)
    assert store.verdicts("n1") == {"n1": [change(NOW - 5, "fail")]}


def test_an_event_without_a_time_happened_when_reported_and_none_in_the_future(store: Store) -> None:
    untimed, ahead = Event(kind="a", at=0.0, text="untimed"), Event(kind="b", at=NOW + 3600, text="clock ahead")
    store.record([report(at=NOW - 7, events=(untimed, ahead))], NOW)
    assert {line.reason: line.at for line in store.node_history("n1").lines} == {"untimed": NOW - 7, "clock ahead": NOW}


def test_what_never_came_is_known_as_gaps(store: Store) -> None:
    store.record([report(seq=seq) for seq in (1, 2, 5, 9)], NOW)
    assert store.missing("n1") == {"s1": [(3, 4), (6, 8)]}
    assert store.missing("n2") == {}


def test_twin_readings_stay_marked(store: Store) -> None:
    store.record([report(twin=True), report(node="n2")], NOW)
    assert [store.node_history(node).lines[0].detail["twin"] for node in ("n1", "n2")] == [True, False]


@pytest.mark.parametrize("text", ["a\0b", "half \udc80 pair", "ünï😀", "'; DROP TABLE events; --", ""])
def test_any_text_a_kernel_prints_can_be_stored_and_read_back(store: Store, text: str) -> None:
    event = Event(kind="k" + text, at=1.0, text=text, subject=text, detail={"v": text, "nan": float("nan")})
    verdict = VerdictChange(at=1.0, check=text or "c", before=text, after=text, reason=text, evidence=(text,))
    odd = Report(node="n" + text, session="s" + text, seq=1, at=2.0, events=(event,), changes=(verdict,))
    assert store.record([odd, odd], NOW) == [True, False]
    clean = text.replace("\0", "\ufffd").replace("\udc80", "?")
    assert [line.kind for line in store.node_history("n" + clean).lines] == ["verdict", "event"]
    assert list(store.verdicts()) == ["n" + clean]


def test_whether_all_came_before_is_known_from_the_batch_itself(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a fail-over it is asked for every node: a statement for each would take seconds."""

    def ask(*_: object) -> bool:
        raise AssertionError("the store is asked")

    with monkeypatch.context() as patched:
        patched.setattr(reports, "has_all_before", ask)
        with store.together():
            store.record([report(seq=1), report(seq=2), report(seq=5)], NOW)
            assert store.has_all_before("n1", "s1", 3)
            assert not store.has_all_before("n1", "s1", 5)
        with store.together():
            store.record([report(seq=3), report(seq=4), report(node="n2", seq=3)], NOW)
            assert store.has_all_before("n1", "s1", 5)
            assert not store.has_all_before("n2", "s1", 3)
    assert store.has_all_before("n1", "s1", 5), "and it is so in the store"
    assert not store.has_all_before("n3", "s1", 2)


def test_verdicts_of_many_nodes_are_read_together(store: Store) -> None:
    names = [f"n{one}" for one in range(3)]
    for seq, name in enumerate(names, 1):
        changes = [VerdictChange(at=NOW, check=check, before="", after="pass", reason='a "b", [c]') for check in "ba"]
        store.record([report(node=name, seq=seq, changes=tuple(changes))], NOW)
    everything = store.verdicts()
    assert sorted(everything) == names
    assert [[one.check for one in everything[name]] for name in names] == [["a", "b"]] * 3
    assert store.verdicts_of(["n2", "n9"]) == {"n2": everything["n2"]}
