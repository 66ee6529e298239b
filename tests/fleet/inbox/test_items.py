"""Items of the inbox: what waits for a person and nothing else, each with its next step; many of a kind are one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.economics.costs.finding import Prices
from holdfast.fleet.decisions.lifecycle.maintenance import Maintenance
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.inbox.figures import sample
from holdfast.fleet.inbox.item import ItemKind, Severity, Sources
from holdfast.fleet.inbox.items import items
from holdfast.fleet.incidents.views import PlannedWorkView
from holdfast.model.account import Account, Bill, Layer
from holdfast.model.incident import Incident
from holdfast.model.job import Job, JobState
from holdfast.model.lifecycle import NodeState, Stage
from holdfast.model.wire.report import VerdictChange

NOW = 10_000.0


def incident(subject: str, cause: str, opened: float = 9_000.0, account: Account | None = None) -> Incident:
    return Incident(id=f"{subject}@{opened:.3f}", opened=opened, subject=subject, cause=cause, account=account)


def losing(kind: str, gpus: float, hourly: float) -> Account:
    layer = Layer(name="direct compute", so_far=100.0, if_it_goes_on=100.0 + 24 * hourly, formula="", inputs="")
    bill = Bill(layers=(layer,), gpu_hours_per_hour=gpus)
    return Account(kind=kind, confidence=0.9, since=8_500.0, lasted_seconds=1_500.0, bill=bill, owners=("facilities",))


def waiting(name: str = "n1", **more: object) -> NodeState:
    facts: dict[str, object] = {"stage": Stage.QUARANTINED, "cause": "gpu.ecc", "repair_step": 2, "since": 6_400.0}
    return NodeState(name=name, **(facts | more))  # type: ignore[arg-type]


def test_a_waiting_node_is_an_item_with_remedy_owner_runbook_price_and_age() -> None:
    change = VerdictChange(at=1.0, check="gpu.ecc", before="", after="fail", subjects=("node/n1/gpu/5",))
    sources = Sources(
        nodes=[waiting()], verdicts={"n1": [change]}, prices=Prices(gpu_hour=2.0), gpus=lambda node: 8, now=NOW
    )
    (item,) = items(sources)
    assert (item.kind, item.owner, item.runbook, item.since) == (ItemKind.NODE, "hardware", "gpu.ecc", 6_400.0)
    assert "reset the GPU" in item.remedy and any("-i 5" in one for one in item.commands)
    assert item.cost_per_hour == 16.0 and item.cost_so_far == pytest.approx(16.0)


def test_a_node_whose_gpus_are_not_known_has_no_price_instead_of_a_wrong_one() -> None:
    (item,) = items(Sources(nodes=[waiting()], now=NOW))
    assert item.cost_per_hour is None and item.gpus_lost is None


@pytest.mark.parametrize(
    "node",
    [
        waiting(repair_step=1),
        waiting(stage=Stage.RESETTING),
        waiting(stage=Stage.READY),
        waiting(stage=Stage.REMOVED),
        waiting(held="leaf/l1"),
    ],
)
def test_a_node_that_no_person_must_touch_is_no_item(node: NodeState) -> None:
    assert items(Sources(nodes=[node], now=NOW)) == []


@pytest.mark.parametrize("subject", ["node/n1", "rack/r1"])
@pytest.mark.parametrize(
    ("now", "cause", "since", "is_item"),
    [
        (5_999.0, "operator", 5_000.0, True),  # not begun
        (6_000.0, "operator", 5_000.0, False),  # taken out shortly before
        (8_999.0, "operator", 6_400.0, False),
        (9_000.0, "operator", 6_400.0, True),  # it should be over
        (8_000.0, "gpu.ecc", 6_000.0, False),  # the work itself
        (8_000.0, "gpu.ecc", 5_999.0, True),  # it broke before the work began
    ],
)
def test_planned_work_is_no_item_until_it_should_be_over(
    subject: str, now: float, cause: str, since: float, is_item: bool
) -> None:
    node = waiting(cause=cause, since=since, place={"rack": "r1"})
    work = PlannedWorkView(name="firmware", subjects=(subject,), start=6_000.0, end=9_000.0)
    elsewhere = PlannedWorkView(name="other", subjects=("node/n2", "rack/r2"), start=0.0, end=99_000.0)
    assert [one.subject for one in items(Sources(nodes=[node], planned=[elsewhere, work], now=now))] == (
        ["node/n1"] if is_item else []
    )


@pytest.mark.parametrize(("now", "is_item"), [(6_999.0, False), (7_000.0, True)])
def test_a_maintenance_window_of_the_policy_is_planned_work_too(now: float, is_item: bool) -> None:
    window = Maintenance(name="pump", nodes=frozenset({"n1"}), pool="", start=6_000.0, end=7_000.0)
    found = items(Sources(nodes=[waiting(cause="operator")], policy=Policy(maintenance=(window,)), now=now))
    assert bool(found) is is_item


def test_eighty_eight_silent_sensors_are_one_item_with_all_of_them_in_it() -> None:
    silent = [incident(f"node/n{number // 8}/gpu/{number % 8}", "sensor.lost") for number in range(88)]
    (item,) = items(Sources(incidents=silent, now=NOW))
    assert item.key == "group/sensor.lost" and len(item.members) == len(item.grouped) == 88
    assert item.title.startswith("88 times: a sensor is silent") and item.runbook == "sensor.lost" and item.remedy


@pytest.mark.parametrize(("many", "expected"), [(3, 3), (4, 1)])
def test_incidents_of_one_kind_are_grouped_from_four_on(many: int, expected: int) -> None:
    silent = [incident(f"node/n{number}", "agent.silent") for number in range(many)]
    assert len(items(Sources(incidents=silent, now=NOW))) == expected


def test_two_sensors_are_one_item_already_and_one_is_itself() -> None:
    two = [incident(f"cdu/c{number}", "sensor.stuck") for number in range(2)]
    assert [one.key for one in items(Sources(incidents=two, now=NOW))] == ["group/sensor.stuck"]
    assert items(Sources(incidents=two[:1], now=NOW))[0].key == f"incident/{two[0].id}"


def test_the_key_of_a_group_does_not_change_when_more_join() -> None:
    silent = [incident(f"node/n{number}", "agent.silent", opened=float(number)) for number in range(9)]
    keys = {items(Sources(incidents=silent[:many], now=NOW))[0].key for many in range(4, 9)}
    assert keys == {"group/agent.silent"}


def test_what_loses_work_now_comes_first_then_what_costs_most_then_what_waits_longest() -> None:
    found = items(
        Sources(
            nodes=[waiting("n1", since=1.0), waiting("n2", since=2.0)],
            incidents=[
                incident("cdu/c1", "cooling.flow_low", account=losing("cooling.flow_low", 16.5, 40.0)),
                incident("leaf/l1", "fabric.port_down"),
            ],
            gpus=lambda node: {"n2": 8}.get(node),
            now=NOW,
        )
    )
    assert [one.subject for one in found] == ["cdu/c1", "node/n2", "node/n1", "leaf/l1"]
    assert found[0].severity is Severity.CRITICAL and found[0].gpus_lost == 16.5
    assert found[0].cost_per_hour == pytest.approx(40.0) and found[0].since == 8_500.0


def test_nodes_that_fail_together_name_what_they_share() -> None:
    (item,) = items(Sources(incidents=[incident("leaf/l1", "fabric.port_down")], now=NOW))
    assert item.runbook == "fleet.shared_cause"


@pytest.mark.parametrize("state", list(JobState))
def test_a_job_that_died_is_an_item_and_one_that_ended_well_is_not(state: JobState) -> None:
    job = Job(id="77", source="slurm", state=state, end=9_500.0, user="ada", nodes=("n1",))
    died = state in (JobState.FAILED, JobState.NODE_FAILED, JobState.OUT_OF_MEMORY)
    found = items(Sources(jobs=[job], now=NOW))
    assert len(found) == int(died)
    if died:
        assert found[0].owner == "ada" and found[0].runbook and "holdfast diagnose --job 77" in found[0].commands


CAUSES = st.sampled_from(
    ["gpu.ecc", "agent.silent", "sensor.lost", "cooling.flow_low", "breaker", "action.drain", "odd"]
)


@given(st.lists(st.tuples(st.sampled_from(["node/n1", "leaf/l2", "pool/p", "cdu/c1"]), CAUSES), max_size=12))
def test_every_incident_is_in_exactly_one_item_and_every_item_has_its_next_step(drawn: list[tuple[str, str]]) -> None:
    found = [incident(subject, cause, float(number)) for number, (subject, cause) in enumerate(drawn)]
    made = items(Sources(incidents=found, policy=Policy(), now=NOW))
    named = [one for item in made for one in (item.grouped or (item.key.removeprefix("incident/"),))]
    assert sorted(named) == sorted(one.id for one in found)
    for item in made:
        if not item.subject.endswith("odd") and "odd" not in item.title:
            assert item.remedy and item.owner and item.runbook and item.commands


def test_a_shared_cause_has_an_owner_and_the_price_of_the_nodes_that_fail() -> None:
    """A node that is only degraded now works on: its GPUs are not lost now. So far, all that failed together count."""
    failing = NodeState(name="n1", stage=Stage.READY, held="leaf/l3", tested_at=None)
    degraded = NodeState(name="n2", stage=Stage.ALLOCATED, held="leaf/l3", tested_at=NOW - 60)
    other = NodeState(name="n3", stage=Stage.READY, held="leaf/l4", tested_at=None)
    incident = Incident(
        id="leaf/l3@1", opened=NOW - 1800, subject="leaf/l3", cause="fabric.port_down", evidence=("n1", "n2")
    )
    sources = Sources(
        nodes=[failing, degraded, other],
        incidents=[incident],
        now=NOW,
        gpus=lambda node: 8,
        prices=Prices(gpu_hour=2.0),
    )
    (item,) = items(sources)
    assert item.title == "leaf/l3: 2 nodes behind it fail together"
    assert (item.owner, item.severity) == ("network", Severity.CRITICAL)
    assert (item.gpus_lost, item.cost_per_hour, item.cost_so_far) == (8.0, 16.0, 16.0)
    assert item.remedy == "repair leaf/l3; leave its nodes in service"


def test_a_slow_path_between_leaves_is_not_called_a_slow_node() -> None:
    (item,) = items(Sources(incidents=[incident("fabric/trunk/l1+l4", "probe.fabric")], now=NOW))
    assert item.title == "fabric/trunk/l1+l4: the path between two leaves is slow"
    assert (item.owner, item.runbook) == ("network", "fleet.slow_path")


def test_the_home_page_counts_the_same_nodes_as_lost() -> None:
    held = NodeState(name="n1", stage=Stage.ALLOCATED, held="leaf/l3", tested_at=None)
    busy = NodeState(name="n2", stage=Stage.ALLOCATED, held="leaf/l3", tested_at=NOW)
    found = sample(NOW, [held, busy], [], lambda node: 8, 2.0)
    assert (found.lost, found.productive, found.cost_per_hour) == (8.0, 8.0, 16.0)


def test_a_node_that_is_tested_after_a_failure_is_out_of_service_on_the_home_page_too() -> None:
    tested = NodeState(name="n1", stage=Stage.TESTING, failed=True)
    new = NodeState(name="n2", stage=Stage.TESTING)
    assert sample(NOW, [tested, new], [], lambda node: None, 2.0).in_service == 1


def test_a_member_whose_test_cannot_pass_is_lost_like_the_others() -> None:
    """The inbox and the home page count alike: a node in a test is lost only while what it shares is broken."""
    nodes = [
        NodeState(name="n1", stage=Stage.READY, held="leaf/l3", tested_at=None),
        NodeState(name="n2", stage=Stage.TESTING, tested_at=NOW - 60),
        NodeState(name="n3", stage=Stage.CLEANING, tested_at=NOW - 60),
        NodeState(name="n4", stage=Stage.ALLOCATED, tested_at=NOW - 60),
        NodeState(name="n5", stage=Stage.TESTING, tested_at=NOW - 60),
    ]
    shared = Incident(
        id="leaf/l3@1", opened=NOW, subject="leaf/l3", cause="fabric.port_down", evidence=("n1", "n2", "n3", "n4")
    )
    (item,) = items(Sources(nodes=nodes, incidents=[shared], now=NOW, gpus=lambda node: 8))
    assert item.gpus_lost == 24.0
    assert sample(NOW, nodes, [shared], lambda node: 8, 2.0).lost == 24.0
    assert sample(NOW, nodes, [], lambda node: 8, 2.0).lost == 8.0


@pytest.mark.parametrize(
    ("kind", "owner", "begins"),
    [
        ("gpu.slow", "hardware", "take its node out"),  # its runbook has no step of hardware: the fleet's comes first
        ("cooling.flow_low", "facilities", "switch to the standby pump"),
        ("cooling.rack_blocked", "facilities", "balance the"),  # the first step is the technicians'
        ("schedule.cadence_long", "training", "job owner of"),  # somebody else's is named
    ],
)
def test_a_next_step_is_the_owners_own_and_never_begins_with_the_fleet(kind: str, owner: str, begins: str) -> None:
    account = Account(kind=kind, confidence=0.9, since=8_500.0, lasted_seconds=9.0, owners=(owner,))
    (item,) = items(Sources(incidents=[incident("cdu/c1", kind, account=account)], now=NOW))
    assert (item.owner, item.remedy[: len(begins)]) == (owner, begins)
