"""The last word of every check: later words count, and who fails or is blind is known without a search."""

import pytest

from holdfast.fleet.decisions.current_verdicts import CurrentVerdicts
from holdfast.fleet.decisions.fleet import Fleet
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.model.health import Health
from holdfast.model.wire.report import Report, VerdictChange


def change(at: float, after: str, check: str = "gpu.xid") -> VerdictChange:
    return VerdictChange(at=at, check=check, before="pass", after=after)


@pytest.mark.parametrize(
    ("at", "session", "seq", "taken"),
    [
        (9.0, "b", 1, False),  # another session: the time decides
        (10.0, "b", 1, True),
        (9.0, "a", 6, True),  # the same session: its number decides
        (9.0, "a", 5, True),  # the same report again
        (99.0, "a", 4, False),
        (9.0, "", 9, False),  # nobody says which session
    ],
)
def test_a_late_report_never_undoes_a_newer_one(at: float, session: str, seq: int, taken: bool) -> None:
    made = CurrentVerdicts({})
    assert made.take("n1", change(10.0, "fail"), "a", 5)
    assert made.take("n1", change(at, "pass"), session, seq) is taken
    assert made.health("n1") is (Health.PASS if taken else Health.FAIL)


def test_each_check_of_each_node_is_late_by_itself() -> None:
    made = CurrentVerdicts({})
    made.take("n1", change(10.0, "fail"), "a", 5)
    assert made.take("n1", change(1.0, "fail", "gpu.ecc"), "b", 1)
    assert made.take("n2", change(1.0, "fail"), "a", 1)


def test_the_worst_verdict_is_the_nodes_health_and_what_is_not_asked_is_none() -> None:
    made = CurrentVerdicts(
        {"n1": [change(1.0, "degraded"), change(1.0, "not_applicable", "a"), change(1.0, "pass", "b")]}
    )
    assert made.health("n1") is Health.DEGRADED
    assert made.health("stranger") is Health.UNKNOWN
    assert CurrentVerdicts({"n1": [change(1.0, "not_applicable")]}).health("n1") is Health.PASS


def test_who_fails_and_who_is_blind_follows_the_verdicts() -> None:
    made = CurrentVerdicts(
        {"n1": [change(5.0, "fail")], "n2": [change(6.0, "unknown", "a"), change(4.0, "unknown", "b")]}
    )
    assert (made.failing_nodes(), made.troubled(), made.blind_since("n2")) == (["n1"], {"n1", "n2"}, 4.0)
    assert made.blind_since("n1") is None
    made.take("n2", change(7.0, "pass", "b"))
    assert made.blind_since("n2") == 6.0
    made.take("n1", change(7.0, "pass"))
    made.take("n2", change(8.0, "pass", "a"))
    assert (made.failing_nodes(), made.troubled()) == ([], set())


def test_what_fails_first_counts_but_for_checks_that_are_only_watched() -> None:
    made = CurrentVerdicts({"n1": [change(5.0, "fail", "a"), change(6.0, "fail", "b"), change(6.0, "degraded", "c")]})
    first, second = made.failing("n1"), made.failing("n1", {"a"})
    assert (first and first.check, second and second.check) == ("a", "b")
    assert made.failing("n1", {"a", "b"}) is None
    assert made.failing("stranger") is None
    assert [one.check for one in made.complaints("n1")] == ["a", "b", "c"]
    assert made.complaints("stranger") == []
    assert CurrentVerdicts({"n1": [change(5.0, "pass", "a"), change(5.0, "unknown", "b")]}).complaints("n1") == []
    assert (made.knows("n1", "c"), made.knows("n1", "d"), made.knows("n9", "c")) == (True, False, False)
    assert len(made.verdicts("n1")) == 3


@pytest.mark.parametrize(
    ("known", "reported", "room"),
    [
        (1000, {"c0", "c999"}, True),  # a check that is known needs no room
        (1000, {"c0", "another"}, False),
        (1000, set(), True),  # a heartbeat
        (999, {"another"}, True),
        (999, {"another", "one more"}, False),
        (1001, {"c0"}, False),  # stored by a version that allowed more
        (1001, set(), True),  # a heartbeat of such a node
        (0, {"another"}, True),
    ],
)
def test_a_node_has_room_for_so_many_checks(known: int, reported: set[str], room: bool) -> None:
    stored = {"n1": [change(1.0, "pass", f"c{number}") for number in range(known)]}
    fleet = Fleet(Policy(), verdicts=stored)
    halves = [{one for one in reported if one == "c0"}, {one for one in reported if one != "c0"}]
    reports = [
        Report(node="n1", session="s", seq=seq, at=2.0, changes=tuple(change(2.0, "pass", one) for one in checks))
        for seq, checks in enumerate(halves)
    ]
    assert (fleet.too_many_checks(reports) == "") is room
    assert fleet.too_many_checks(reports[:1]) == "" or known > 1000, "of one report"
    if reported:
        assert CurrentVerdicts(stored).has_room("n1", reported) is room
