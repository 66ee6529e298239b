"""A seam's incident accounts for its symptoms: the victims stay in service, their own failures are judged as ever."""

from dataclasses import replace

from holdfast.model.account import Account, Bill, Layer, Loss
from holdfast.model.incident import IncidentState
from holdfast.model.lifecycle import Stage
from tests.fleet.decisions.simulated_fleet import SimulatedFleet

VICTIMS = ("node/n0/gpu/1", "node/n1", "node/n2", "node/n3", "job/llama")
ACCOUNT = Account(
    kind="cooling.flow_low", confidence=0.9, since=0.0, lasted_seconds=60.0, sentence="flow is low", victims=VICTIMS
)


def _found(fleet: SimulatedFleet) -> None:
    fleet.steps += fleet.fleet.found("cdu/c2", ACCOUNT, fleet.now)


def test_a_victim_that_fails_by_a_symptom_stays_and_says_why() -> None:
    simulated = SimulatedFleet()
    _found(simulated)
    simulated.says("n0", "gpu.temperature", "fail")
    node = simulated.fleet.nodes["n0"]
    assert node.stage is Stage.READY and node.held == "cdu/c2"
    assert "a symptom of cooling.flow_low on cdu/c2: left in service" in node.reason


def test_many_victims_are_one_incident_and_no_shared_cause_beside() -> None:
    simulated = SimulatedFleet()
    _found(simulated)
    for name in ("n0", "n1", "n2", "n3"):
        simulated.says(name, "gpu.throttle", "fail")
        simulated.passes(5)
    assert list(simulated.fleet.incidents.open) == ["cdu/c2"]
    assert all(simulated.fleet.nodes[name].stage is Stage.READY for name in ("n0", "n1", "n2", "n3"))


def test_its_own_failure_is_judged_as_ever() -> None:
    simulated = SimulatedFleet()
    _found(simulated)
    simulated.says("n0", "gpu.temperature", "fail")
    simulated.says("n0", "gpu.xid", "fail")
    assert simulated.fleet.nodes["n0"].stage in (Stage.DRAINING, Stage.QUARANTINED)


def test_one_that_is_no_victim_is_judged_as_ever() -> None:
    simulated = SimulatedFleet()
    _found(simulated)
    simulated.says("n9", "gpu.temperature", "fail")
    assert simulated.fleet.nodes["n9"].stage in (Stage.DRAINING, Stage.QUARANTINED)


def test_a_degraded_victim_is_not_even_chosen_last_and_judged_when_it_is_over() -> None:
    simulated = SimulatedFleet()
    simulated.says("n1", "gpu.clocks", "degraded")
    assert simulated.fleet.nodes["n1"].degraded_by == "gpu.clocks"
    _found(simulated)
    assert simulated.fleet.nodes["n1"].degraded_by == ""
    simulated.says("n2", "gpu.clocks", "degraded")
    assert simulated.fleet.nodes["n2"].degraded_by == ""
    simulated.passes(5)
    simulated.fleet.incidents.over("cdu/c2", simulated.now, "the finding is gone")
    simulated.passes(5)
    assert simulated.fleet.nodes["n2"].degraded_by == "gpu.clocks"


def test_degraded_by_a_symptom_again_and_again_is_no_repeat_offence() -> None:
    simulated = SimulatedFleet()
    for _ in range(4):
        simulated.says("n1", "gpu.throttle", "degraded")
        _found(simulated)
        simulated.says("n1", "gpu.throttle", "pass")
        simulated.fleet.incidents.over("cdu/c2", simulated.now, "the finding is gone")
        simulated.passes(5)
    node = simulated.fleet.nodes["n1"]
    assert node.stage is Stage.READY and not node.degradations


def test_what_still_fails_when_it_is_over_is_judged() -> None:
    simulated = SimulatedFleet()
    _found(simulated)
    simulated.says("n0", "gpu.temperature", "fail")
    simulated.fleet.incidents.over("cdu/c2", simulated.now, "the finding is gone")
    simulated.passes(5)
    assert simulated.fleet.nodes["n0"].stage in (Stage.DRAINING, Stage.QUARANTINED)


def test_it_absorbs_an_incident_that_was_opened_on_its_symptoms() -> None:
    simulated = SimulatedFleet()
    for name in ("n0", "n1", "n2", "n3", "n4"):
        simulated.says(name, "gpu.throttle", "fail")
    assert list(simulated.fleet.incidents.open) == ["leaf/l0"]
    everybody = tuple(f"node/n{index}" for index in range(8))
    simulated.fleet.found("cdu/c2", Account(**{**_fields(ACCOUNT), "victims": everybody}), simulated.now)
    assert list(simulated.fleet.incidents.open) == ["cdu/c2"]
    changed = {one.subject: one for one in simulated.fleet.incidents.take_changed()}
    assert changed["leaf/l0"].state is IncidentState.CLOSED and "absorbed by cdu/c2" in changed["leaf/l0"].reason
    simulated.passes(5)
    assert list(simulated.fleet.incidents.open) == ["cdu/c2"]


def test_a_report_of_the_node_does_not_end_a_seams_incident_on_it() -> None:
    simulated = SimulatedFleet()
    simulated.fleet.found(
        "node/n0", Account(**{**_fields(ACCOUNT), "kind": "cooling.fan", "victims": ()}), simulated.now
    )
    simulated.says("n0", "host.clock", "pass")
    assert list(simulated.fleet.incidents.open) == ["node/n0"]


def _fields(account: Account) -> dict[str, object]:
    return {name: getattr(account, name) for name in Account.__slots__}


def test_a_restart_forgets_neither_the_incident_nor_its_victims() -> None:
    simulated = SimulatedFleet()
    _found(simulated)
    simulated.restarts()
    simulated.says("n0", "gpu.temperature", "fail")
    assert simulated.fleet.nodes["n0"].stage is Stage.READY and simulated.fleet.nodes["n0"].held == "cdu/c2"


def test_one_that_is_over_says_what_it_cost_and_projects_nothing() -> None:
    simulated = SimulatedFleet()
    loss = Loss(subject="job/llama", gpus=32.0, share_so_far=0.1, share_now=0.2)
    layers = (Layer(name="direct compute", so_far=305.0, if_it_goes_on=900.0, formula="", inputs=""),)
    sentence = "cdu/c2: flow is low; it costs job llama 6.4 GPU-hours an hour; release moves by 3 h if it continues"
    account = replace(ACCOUNT, losses=(loss,), bill=Bill(layers=layers, gpu_hours=41.0), sentence=sentence)
    simulated.fleet.found("cdu/c2", account, simulated.now)
    simulated.fleet.incidents.over("cdu/c2", simulated.now, "the finding is gone")
    [over] = [one for one in simulated.fleet.incidents.take_changed() if one.state is IncidentState.CLOSED]
    assert "in 1 min it cost job llama 41 GPU-hours, 305 USD in all" in over.reason
    assert over.reason.endswith("; the finding is gone") and "goes on" not in over.reason
    assert over.account is not None and over.reason.startswith(over.account.sentence)
