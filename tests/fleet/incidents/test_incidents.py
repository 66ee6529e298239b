"""Incidents: opened once, told when they change, closed with a reason; and whose symptom a verdict is."""

from holdfast.fleet.incidents.register import Incidents, is_parent
from holdfast.model.account import Account
from holdfast.model.incident import Incident, IncidentState

COOLING = Account(kind="cooling.flow_low", confidence=0.9, since=0.0, lasted_seconds=60.0, sentence="flow is low")


def test_what_nodes_share_is_a_parent_and_a_node_or_a_pool_is_not() -> None:
    assert [is_parent(one) for one in ("loop/c2", "node/n1", "pool/a", "maintenance/w")] == [True, False, False, False]


def test_an_incident_is_stored_when_it_is_opened_and_when_it_changes_and_not_otherwise() -> None:
    made = Incidents()
    made.raise_("loop/c2", "gpu.throttle", "hot", 10.0, {"n2", "n1"})
    (opened,) = made.take_changed()
    assert (opened.id, opened.opened, opened.parent, opened.evidence) == (
        "loop/c2@10.000",
        10.0,
        "loop/c2",
        ("n1", "n2"),
    )
    made.raise_("loop/c2", "gpu.throttle", "hot", 20.0, {"n2", "n1"})
    assert made.take_changed() == []
    made.raise_("loop/c2", "gpu.throttle", "hotter", 30.0, {"n2", "n1"})
    (result,) = made.take_changed()
    assert (result.id, result.opened, result.reason) == (opened.id, 10.0, "hotter")


def test_a_node_belongs_to_the_parent_that_explains_it_now() -> None:
    made = Incidents()
    made.raise_("leaf/l1", "x", "r", 1.0, {"n1", "n2"})
    made.raise_("leaf/l1", "x", "r", 2.0, {"n2"})
    assert (made.explaining("n1"), made.explaining("n2")) == ("", "leaf/l1")
    made.raise_("loop/c1", "x", "r", 3.0, {"n2"})
    assert made.explaining("n2") == "loop/c1"
    made.close("leaf/l1", 4.0)
    assert made.explaining("n2") == "loop/c1"
    made.join("loop/c1", "n3")
    assert (made.explaining("n3"), made.members("loop/c1")) == ("loop/c1", {"n2", "n3"})
    made.raise_("pool/a", "breaker", "r", 5.0, {"n4"})
    made.join("pool/a", "n5")
    assert (made.explaining("n4"), made.explaining("n5")) == ("", "")
    assert made.members("nothing") == frozenset()


def test_an_incident_is_closed_with_its_reason() -> None:
    made = Incidents()
    made.raise_("leaf/l1", "x", "broke", 1.0, {"n1"})
    made.raise_("leaf/l2", "x", "broke", 1.0)
    made.close("leaf/l1", 5.0, "mended")
    made.close("leaf/l2", 6.0, absorbed=True)
    made.close("leaf/l9", 7.0)
    first, second = made.take_changed()
    assert (first.state, first.closed, first.reason) == (IncidentState.CLOSED, 5.0, "broke; mended")
    assert second.reason == "broke"
    assert made.absorbed == {second.id}
    assert not made.open


def test_what_was_open_is_known_after_a_restart_and_what_was_closed_is_not() -> None:
    one = Incident(id="a", opened=1.0, subject="leaf/l1", evidence=("n1",))
    two = Incident(id="b", opened=1.0, subject="leaf/l2", evidence=("n2",), state=IncidentState.CLOSED)
    seam = Incident(id="c", opened=1.0, subject="cdu/c2", evidence=("n3",), cause=COOLING.kind, account=COOLING)
    made = Incidents([one, two, seam])
    assert list(made.open) == ["leaf/l1", "cdu/c2"]
    assert (made.explaining("n1"), made.explaining("n2"), made.explaining("n3")) == ("leaf/l1", "", "")
    assert made.root_of("n3", ("gpu.throttle",)) == "cdu/c2"
    assert made.parents == ["leaf/l1"]
    assert list(made.found_by_seams) == ["cdu/c2"]


def test_a_seams_incident_accounts_for_the_symptoms_of_its_kind_alone() -> None:
    made = Incidents()
    made.found("cdu/c2", COOLING, "flow is low", 1.0, {"n1", "n2"})
    assert made.root_of("n1", ("gpu.throttle",)) == "cdu/c2"
    assert made.root_of("n1", ("gpu.ecc", "gpu.clocks")) == "cdu/c2"
    assert made.root_of("n1", ("gpu.ecc",)) == ""
    assert made.root_of("n9", ("gpu.throttle",)) == ""
    made.found("cdu/c2", COOLING, "flow is low", 2.0, {"n2"})
    assert (made.root_of("n1", ("gpu.throttle",)), made.root_of("n2", ("gpu.throttle",))) == ("", "cdu/c2")


def test_of_two_roots_the_one_of_whose_kind_it_is_counts_then_the_first_by_name() -> None:
    made = Incidents()
    power = Account(kind="power.feed_lost", confidence=0.9, since=0.0, lasted_seconds=1.0)
    made.found("pdu/p1", power, "x", 1.0, {"n1"})
    made.found("cdu/c2", COOLING, "x", 1.0, {"n1"})
    assert made.root_of("n1", ("gpu.temperature",)) == "cdu/c2"
    assert made.root_of("n1", ("gpu.throttle",)) == "cdu/c2"
    assert made.root_of("n1", ("gpu.power",)) == "pdu/p1"
    made.over("cdu/c2", 5.0, "flow is back")
    assert made.root_of("n1", ("gpu.throttle",)) == "pdu/p1"


def test_a_seam_absorbs_what_was_opened_on_its_victims_only() -> None:
    made = Incidents()
    made.raise_("rack/r1", "x", "r", 1.0, {"n1", "n2"})
    made.raise_("rack/r2", "x", "r", 1.0, {"n3", "n4"})
    made.raise_("rack/r3", "x", "r", 1.0)
    made.found("cdu/c2", COOLING, "x", 2.0, {"n1", "n2", "n3"})
    assert set(made.open) == {"rack/r2", "rack/r3", "cdu/c2"}
    (absorbed,) = made.absorbed
    assert absorbed == "rack/r1@1.000"


def test_only_the_seams_own_look_ends_what_a_seam_found() -> None:
    made = Incidents()
    made.found("cdu/c2", COOLING, "flow is low", 1.0, {"n1"})
    made.raise_("leaf/l1", "x", "r", 1.0, {"n2"})
    made.take_changed()
    made.close("cdu/c2", 2.0, "no")
    made.over("leaf/l1", 2.0, "no")
    made.over("leaf/l9", 2.0, "no")
    assert set(made.open) == {"cdu/c2", "leaf/l1"}
    made.over("cdu/c2", 3.0, "flow is back")
    (closed,) = made.take_changed()
    assert (closed.state, closed.closed) == (IncidentState.CLOSED, 3.0)
    assert closed.reason.endswith("; flow is back")
    assert set(made.open) == {"leaf/l1"}
    assert made.absorbed == set()


def test_a_seam_that_finds_another_kind_on_the_same_root_says_so() -> None:
    made = Incidents()
    made.found("cdu/c2", COOLING, "one", 1.0, {"n1"})
    warm = Account(kind="cooling.supply_warm", confidence=0.9, since=0.0, lasted_seconds=60.0)
    made.found("cdu/c2", warm, "two", 2.0, {"n1"})
    assert (made.open["cdu/c2"].cause, made.open["cdu/c2"].opened) == ("cooling.supply_warm", 1.0)
