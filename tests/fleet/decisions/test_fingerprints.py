"""Bits that differ from the fleet's: found against the majority of nodes, though the node's own test passed."""

from dataclasses import replace

import pytest

pytest.importorskip("sqlalchemy")

from holdfast.fleet.decisions.fingerprints import Fingerprints
from holdfast.model.health import FailureClass
from holdfast.model.lifecycle import EventKind, Stage
from holdfast.model.wire.probe import Fingerprint
from holdfast.model.wire.report import OrderOutcome
from holdfast.node import checks
from tests.fleet.decisions.simulated_fleet import POLICY, SimulatedFleet

KIND = "NVIDIA H100 80GB HBM3 torch 2.13 cuda 12.9"


class Site(SimulatedFleet):
    def tells(self, node: str, *bits: str, kind: str = KIND, health: str = "pass") -> Stage:
        """Tested anew, as after every workload; a device for each of the bits."""
        self.steps += self.fleet.operator(node, EventKind.RETEST, "after work", "ann", self.now)
        self.now += 1
        prints = tuple(Fingerprint(f"node/{node}/gpu/{gpu}", kind, one) for gpu, one in enumerate(bits))
        outcome = OrderOutcome(
            order=1, verb="retest", ok=True, health=health, began=self.now, suite=POLICY.suite, fingerprints=prints
        )
        self.says(node, "", "", outcome=outcome)
        return self.fleet.nodes[node].stage


def test_a_device_whose_bits_are_not_those_of_most_nodes_fails_as_corruption() -> None:
    site = Site()
    assert [site.tells(f"n{i}", "aa", "aa") for i in range(3)] == [Stage.READY] * 3
    assert site.tells("n3", "aa", "bb") is not Stage.READY
    node = site.fleet.nodes["n3"]
    assert node.cause == "probe.fingerprint"
    assert checks.BY_NAME[node.cause].failure_class is FailureClass.CORRUPTION
    assert "node/n3/gpu/1: its bits differ" in node.reason
    assert site.tells("n4", "aa") is Stage.READY


def test_until_enough_nodes_were_asked_and_for_another_kind_no_one_is_blamed() -> None:
    site = Site()
    assert site.tells("n0", "bb") is Stage.READY, "nobody to compare with yet"
    assert site.tells("n1", "aa") is Stage.READY
    assert site.tells("n2", "aa", kind="another kind") is Stage.READY
    assert [site.tells(name, "aa") for name in ("n3", "n4")] == [Stage.READY] * 2
    assert site.tells("n0", "bb") is not Stage.READY, "now there is, and it says the same again"


def test_a_node_with_other_libraries_is_reported_to_compare_them_and_one_voice_is_not_eight() -> None:
    site = Site()
    for name in ("n0", "n1"):
        site.tells(name, *["bb"] * 8)
    for name in ("n2", "n3", "n4"):
        assert site.tells(name, "aa") is Stage.READY, "a tie, or a majority, of nodes"
    site.tells("n0", *["bb"] * 8)
    assert "compare its libraries first" in site.fleet.nodes["n0"].reason


def test_what_failed_already_keeps_its_own_cause() -> None:
    site = Site()
    for name in ("n0", "n1", "n2"):
        site.tells(name, "aa")
    site.tells("n3", "bb", health="fail")
    assert site.fleet.nodes["n3"].cause != "probe.fingerprint"


def compared(
    made: Fingerprints, node: str, *bits: str, kinds: tuple[str, ...] = (), health: str = "pass"
) -> OrderOutcome:
    prints = tuple(
        Fingerprint(f"node/{node}/gpu/{gpu}", (kinds or (KIND,) * len(bits))[gpu], one) for gpu, one in enumerate(bits)
    )
    return made.compare(
        node, OrderOutcome(order=1, verb="retest", ok=True, health=health, fingerprints=prints), lambda name: True
    )


def fleet_of(count: int, *bits: str) -> Fingerprints:
    made = Fingerprints()
    for number in range(count):
        compared(made, f"m{number}", *(bits or ("aa",)))
    return made


def test_four_nodes_are_needed_of_which_three_agree() -> None:
    assert compared(fleet_of(2), "n", "bb").health == "pass"
    assert compared(fleet_of(3), "n", "bb").health == "fail"


def test_one_device_alone_is_named_with_its_bits() -> None:
    found = compared(fleet_of(3, "aa", "aa"), "n", "aa", "bb")
    assert (found.cause, found.reason) == (
        "probe.fingerprint",
        f"node/n/gpu/1: its bits differ from those of most nodes of its kind (bb, others aa; {KIND})",
    )


def test_several_are_counted_and_all_alike_point_at_the_libraries() -> None:
    assert compared(fleet_of(3), "n", "bb", "cc").reason.endswith("; and 1 more of its devices")
    assert compared(fleet_of(3), "n", "bb", "bb").reason.endswith(
        "; all its devices differ alike, so compare its libraries first"
    )
    assert "libraries" not in compared(fleet_of(3), "n", "bb").reason
    other = compared(fleet_of(3), "n", "bb", "zz", kinds=(KIND, "another kind"))
    assert other.reason.endswith("compare its libraries first")


def test_a_test_without_fingerprints_or_that_failed_stays_as_it_is() -> None:
    made = fleet_of(3)
    assert compared(made, "n").health == "pass"
    assert compared(made, "n", "bb", health="fail").cause == ""
    assert compared(made, "n", "aa").health == "pass"


def test_a_node_has_one_voice_that_of_most_of_its_devices() -> None:
    made = fleet_of(2, "bb", "aa", "aa")
    compared(made, "m2", "aa", "aa", "bb")
    assert compared(made, "n", "bb").health == "fail"


@pytest.mark.parametrize("forgotten", [False, True])
def test_nodes_that_are_gone_have_no_vote(forgotten: bool) -> None:
    """The attack: nodes that lied are found and removed, and their votes fail honest ones until a restart."""
    site = Site()
    for name in ("n0", "n1", "n2"):
        assert site.tells(name, "bb") is Stage.READY
    assert site.tells("n3", "aa") is not Stage.READY, "three to one"
    for name in ("n0", "n1", "n2"):
        site.steps += site.fleet.operator(name, EventKind.REMOVE, "stolen", "ann", site.now)
        site.now += 1
        site.steps += site.fleet.tick(site.now)
        assert site.fleet.nodes[name].stage is Stage.REMOVED
        if forgotten:
            site.fleet.forget(name, site.now)
            assert name not in site.fleet._fingerprints._of
    assert site.tells("n4", "aa") is Stage.READY


def test_a_test_without_fingerprints_leaves_those_of_the_test_before() -> None:
    made, bits = Fingerprints(), (Fingerprint("node/n0/gpu/0", KIND, "aa"),)
    outcome = OrderOutcome(order=1, verb="retest", ok=True, health="pass", fingerprints=bits)
    for one in (outcome, replace(outcome, fingerprints=())):
        assert made.compare("n0", one, lambda node: True) is one
        assert made._of == {"n0": bits}


def test_devices_of_another_kind_in_the_same_node_have_no_voice() -> None:
    made = Fingerprints()
    for number in range(5):
        found = compared(made, f"n{number}", "aa", "bb", "bb", kinds=(KIND, "another", "another"))
        assert found.health == "pass"
