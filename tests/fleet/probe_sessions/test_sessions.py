"""ProbeSessions under way: who leads, what is answered, what is given up, and what they cost a node."""

from collections.abc import Callable
from itertools import count

import pytest

from holdfast.fleet.probe_sessions.sessions import ProbeSession, ProbeSessions, proof
from holdfast.model.wire.probe import ProbePolicy
from holdfast.model.wire.report import OrderOutcome

POLICY = ProbePolicy(enabled=True, timeout_seconds=90.0, port=1234, bytes=99)
ADDRESSES = {"n1": "10.0.0.1,10.1.0.1", "n2": "10.0.0.2"}


def keys() -> Callable[[], str]:
    numbers = count(1)
    return lambda: f"key-{next(numbers)}"


def begun(now: float = 100.0) -> ProbeSessions:
    made = ProbeSessions(keys())
    made.begin(("n1", "n2"), "never met", ADDRESSES, now)
    return made


def answer(
    made: ProbeSessions, node: str, now: float = 120.0, ok: bool = True, order: int | None = None
) -> ProbeSession | None:
    number = made.running()[0].orders[node].id if order is None else order
    return made.answered(node, OrderOutcome(order=number, verb="probe", ok=ok, bytes_per_second=5.0), now)


def test_whoever_comes_first_for_its_order_leads() -> None:
    made = begun()
    (second,) = made.orders_for("n2", POLICY, 101.0)
    (first,) = made.orders_for("n1", POLICY, 102.0)
    assert second.probe is not None and first.probe is not None
    assert (second.probe.rank, first.probe.rank) == (0, 1)
    assert (second.probe.peer, first.probe.peer) == ("n1", "n2")
    assert second.probe.master == first.probe.master == "10.0.0.2"
    assert (second.probe.address, first.probe.address) == ("10.0.0.2", "10.0.0.1,10.1.0.1")
    assert {one.name: one.address for one in second.probe.participants} == ADDRESSES
    assert first.probe.participants == ()
    assert second.probe.key == first.probe.key == "key-1"
    made.begin(("n3", "n4"), "never met", {}, 103.0)
    (another,) = made.orders_for("n3", POLICY, 104.0)
    assert another.probe is not None
    assert another.probe.key == "key-2"
    assert (first.id, first.reason, first.verb) == (second.id + 1, "never met", "probe")
    assert (first.probe.port, first.probe.bytes, first.probe.seconds) == (1234, 99, 90.0)


def test_the_controllers_keys_have_thirty_two_hexadecimal_digits() -> None:
    writer = pytest.importorskip("holdfast.fleet.controller.writer")
    assert len(writer.token_hex(writer.PROBE_KEY_BYTES)) == 32


def test_the_first_of_several_addresses_is_met_and_without_one_the_name() -> None:
    made = begun()
    (order,) = made.orders_for("n1", POLICY, 101.0)
    assert order.probe is not None
    assert order.probe.master == "10.0.0.1"
    nameless = ProbeSessions(keys())
    nameless.begin(("n1", "n2"), "x", {}, 0.0)
    (plain,) = nameless.orders_for("n1", POLICY, 1.0)
    assert plain.probe is not None
    assert (plain.probe.master, plain.probe.address) == ("n1", "")


def test_an_order_is_handed_over_once_and_to_those_who_meet() -> None:
    made = begun()
    assert len(made.orders_for("n1", POLICY, 101.0)) == 1
    assert made.orders_for("n1", POLICY, 102.0) == ()
    assert made.orders_for("n9", POLICY, 102.0) == ()


def test_orders_are_numbered_above_all_that_came_before_and_two_by_two() -> None:
    made = ProbeSessions(keys())
    assert [made.number(7.0), made.number(9.0)] == [7_000_000, 7_000_002]


def test_a_probe_session_ends_with_its_second_answer() -> None:
    made = begun()
    made.orders_for("n1", POLICY, 101.0)
    made.orders_for("n2", POLICY, 105.0)
    assert answer(made, "n1") is None
    assert ("n1" in made, len(made.running())) == (True, 1)
    ended = answer(made, "n2")
    assert ended is not None
    assert set(ended.answers) == {"n1", "n2"}
    assert ("n1" in made, made.running()) == (False, [])
    assert made.spent(121.0) == {"n1": 19.0, "n2": 15.0}
    assert (made.cancelled("n1"), made.cancelled("n2")) == ((), ())


def test_one_that_could_not_ends_it_and_the_other_is_reported_to_stop() -> None:
    made = begun()
    orders = {node: made.orders_for(node, POLICY, 101.0)[0].id for node in ("n1", "n2")}
    assert answer(made, "n1", ok=False) is not None
    assert made.cancelled("n2") == (orders["n2"],)
    assert made.cancelled("n2") == ()
    assert made.cancelled("n1") == ()


def test_the_answer_to_another_order_is_none() -> None:
    made = begun()
    made.orders_for("n1", POLICY, 101.0)
    assert answer(made, "n1", order=5) is None
    assert answer(made, "n2", order=5) is None  # it was not asked yet
    assert answer(made, "n9", order=5) is None
    assert made.running()[0].answers == {}


@pytest.mark.parametrize(("after", "late"), [(120.0, 0), (120.1, 1)])
def test_a_probe_session_is_given_up_after_timeout_and_grace(after: float, late: int) -> None:
    made = begun()
    made.orders_for("n1", POLICY, 101.0)
    assert len(made.overdue(POLICY, 100.0 + after)) == late
    assert ("n1" in made) is not bool(late)
    assert len(made.cancelled("n1")) == late
    assert made.cancelled("n2") == (), "it was never asked"


def test_whoever_is_wanted_leaves_and_takes_the_other_with_it() -> None:
    made = begun()
    made.orders_for("n2", POLICY, 101.0)
    made.leave(["n9", "n1"], 111.0)
    assert made.running() == []
    assert len(made.cancelled("n2")) == 1
    assert made.spent(112.0) == {"n2": 10.0}


def test_what_was_spent_counts_for_a_day() -> None:
    made = begun()
    made.orders_for("n1", POLICY, 101.0)
    made.leave(["n1"], 111.0)
    made.begin(("n1", "n2"), "again", ADDRESSES, 200.0)
    made.orders_for("n1", POLICY, 200.0)
    made.leave(["n1"], 205.0)
    assert made.spent(206.0)["n1"] == 15.0
    assert made.spent(111.0 + 86_399.0)["n1"] == 15.0
    assert made.spent(111.0 + 86_400.0)["n1"] == 5.0


def met(*answers: tuple[str, float | None, bool]) -> ProbeSession:
    made = ProbeSession(1, ("n2", "n1"), "x", 0.0, "k", {})
    for node, rate, ok in answers:
        made.answers[node] = OrderOutcome(order=1, verb="probe", ok=ok, bytes_per_second=rate, reason=f"by {node}")
    return made


def test_the_slowest_of_what_was_reported_is_the_proof() -> None:
    found = proof(met(("n1", 9.0, True), ("n2", 4.0, True)), 50.0)
    assert found is not None
    assert (found.one, found.other, found.at, found.bytes_per_second, found.note) == ("n1", "n2", 50.0, 4.0, "by n2")
    silent = proof(met(("n1", None, True), ("n2", 4.0, True)), 50.0)
    assert silent is not None
    assert (silent.bytes_per_second, silent.note) == (4.0, "by n2")


@pytest.mark.parametrize(
    "answers",
    [
        [("n1", 9.0, True)],
        [("n1", 9.0, True), ("n2", 4.0, False)],
        [("n1", None, True), ("n2", None, True)],
        [],
    ],
)
def test_what_could_not_be_measured_proves_nothing(answers: list[tuple[str, float | None, bool]]) -> None:
    assert proof(met(*answers), 50.0) is None


def test_a_note_is_no_longer_than_it_may_be() -> None:
    made = met(("n1", 9.0, True), ("n2", 9.5, True))
    made.answers["n1"] = OrderOutcome(order=1, verb="probe", ok=True, bytes_per_second=9.0, reason="x" * 500)
    found = proof(made, 1.0)
    assert found is not None
    assert len(found.note) == 400
