"""A degraded node in service that no one repairs is an item; a blip, a symptom and planned work are none."""

from collections.abc import Sequence

import pytest

from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.inbox.item import GROUP_AT, Item, ItemKind, Sources
from holdfast.fleet.inbox.items import items
from holdfast.fleet.inbox.node_items import DEGRADED_SECONDS, may_be_degraded
from holdfast.fleet.incidents.views import PlannedWorkView
from holdfast.model.incident import Incident
from holdfast.model.lifecycle import NodeState, Offence, Stage
from holdfast.model.wire.report import VerdictChange

NOW = 100_000.0
LONG = NOW - DEGRADED_SECONDS


def node(name: str = "n1", check: str = "gpu.rows", since: float = LONG, **more: object) -> NodeState:
    facts: dict[str, object] = {"stage": Stage.ALLOCATED, "degraded_by": check}
    facts["degradations"] = (Offence(at=since, cause=check),)
    return NodeState(name=name, **(facts | more))  # type: ignore[arg-type]


def verdict(check: str = "gpu.rows", after: str = "degraded", at: float = NOW - 5) -> VerdictChange:
    subjects = ("node/n1/gpu/3",)
    return VerdictChange(at=at, check=check, before="pass", after=after, reason="a row waits", subjects=subjects)


def found(nodes: Sequence[NodeState], *verdicts: VerdictChange, **more: object) -> list[Item]:
    read = {one.name: list(verdicts) for one in nodes} if verdicts else {}
    names = [one.name for one in nodes]
    return items(Sources(nodes=nodes, degraded=names, verdicts=read, now=NOW, **more))  # type: ignore[arg-type]


def test_it_is_an_item_with_remedy_owner_runbook_commands_and_age() -> None:
    (item,) = found([node()], verdict())
    assert (item.kind, item.subject, item.since) == (ItemKind.NODE, "node/n1", LONG)
    assert item.lasted_seconds == DEGRADED_SECONDS
    assert (item.owner, item.runbook) == ("hardware", "gpu.rows")
    assert item.title == "n1 is degraded: GPU memory rows wait for repair, or spares ran out"
    assert item.remedy and any("-i 3" in one for one in item.commands)
    assert item.gpus_lost is None and item.cost_per_hour is None, "what it loses is not known"


@pytest.mark.parametrize(
    ("since", "factor", "is_item"), [(LONG, 1.0, True), (LONG + 1, 1.0, False), (LONG + 1, 2.0, True)]
)
def test_what_passes_soon_is_no_item(since: float, factor: float, is_item: bool) -> None:
    assert bool(found([node(since=since)], verdict(), time_factor=factor)) is is_item


def test_a_verdict_that_the_node_does_not_remember_counts_from_its_own_time() -> None:
    assert found([node(check="pcie.link")], verdict(at=LONG + 1)) == []
    assert len(found([node(check="pcie.link")], verdict(at=LONG))) == 1


def test_without_its_verdicts_the_node_says_what_it_is_degraded_by() -> None:
    (item,) = found([node()])
    assert item.runbook == "gpu.rows"
    assert found([node(degraded_by="")]) == []


@pytest.mark.parametrize("after", ["pass", "unknown", "fail"])
def test_only_a_degraded_verdict_is_one(after: str) -> None:
    assert found([node()], verdict(after=after)) == []


def test_a_check_in_shadow_mode_asks_for_nothing() -> None:
    assert found([node()], verdict(), policy=Policy(shadow_checks=frozenset({"gpu.rows"}))) == []


@pytest.mark.parametrize(
    ("subject", "cause", "evidence", "check", "explained"),
    [
        ("cdu/c1", "cooling.flow_low", ("n1",), "gpu.throttle", True),
        ("cdu/c1", "cooling.flow_low", ("n2",), "gpu.throttle", False),
        ("cdu/c1", "cooling.flow_low", ("n1",), "gpu.rows", False),
        ("leaf/l1", "fabric.port_down", ("n1",), "fabric.port_down", True),
        ("node/n1/gpu/3", "gpu.rows", (), "gpu.rows", True),
        ("node/n11/gpu/3", "gpu.rows", (), "gpu.rows", False),
    ],
)
def test_what_an_open_incident_explains_is_left_to_it(
    subject: str, cause: str, evidence: tuple[str, ...], check: str, explained: bool
) -> None:
    incident = Incident(id=f"{subject}@1", opened=1.0, subject=subject, cause=cause, evidence=evidence)
    made = found([node(check=check)], verdict(check), incidents=[incident])
    assert [one.kind for one in made].count(ItemKind.NODE) == (0 if explained else 1)


def test_planned_work_on_it_is_no_item() -> None:
    work = PlannedWorkView(name="swap", subjects=("node/n1",), start=1.0, end=NOW + 1)
    assert found([node(since=LONG)], verdict(), planned=[work]) == []


@pytest.mark.parametrize("many", [GROUP_AT - 1, GROUP_AT])
def test_many_nodes_with_one_check_are_one_item(many: int) -> None:
    made = found([node(f"n{number}", since=LONG - number) for number in range(many)], verdict())
    assert len(made) == (many if many < GROUP_AT else 1)
    if many == GROUP_AT:
        (item,) = made
        assert item.key == "degraded/gpu.rows" and item.title.startswith("4 nodes are degraded: ")
        assert item.members == ("node/n0", "node/n1", "node/n2", "node/n3")
        assert item.since == LONG - 3 and item.remedy and item.owner and item.runbook


def test_checks_are_grouped_apart() -> None:
    rows = [node(f"n{number}") for number in range(3)]
    made = found([*rows, node("m1", check="pcie.link")])
    assert len(made) == 4


@pytest.mark.parametrize(
    ("stage", "held", "health", "expected"),
    [
        (Stage.READY, "", "degraded", True),
        (Stage.ALLOCATED, "", "degraded", True),
        (Stage.SPARE, "", "degraded", True),
        (Stage.ALLOCATED, "leaf/l1", "degraded", False),
        (Stage.ALLOCATED, "", "pass", False),
        (Stage.ALLOCATED, "", "fail", False),
        (Stage.QUARANTINED, "", "degraded", False),
        (Stage.TESTING, "", "degraded", False),
    ],
)
def test_which_nodes_are_asked_about(stage: Stage, held: str, health: str, expected: bool) -> None:
    assert may_be_degraded(node(stage=stage, held=held), health) is expected
