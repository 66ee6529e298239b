"""Kinds of evidence: one instrument alone is not said with confidence, and cooling slows work only by heat."""

from typing import Any

import pytest

from holdfast.model.finding import Symptom
from holdfast.seams import evidence
from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.effects import COOLING
from tests.seams.making import Make, change, gpus, measured, nodes, of, without

HEAT, STEP = "gpu_temperature_celsius", "job_step_seconds"


def _sign(subject: str, signal: str) -> Symptom:
    return Symptom(subject, signal, 1500.0, 1.0, 2.0)


def _candidate(kind: str, *signs: Symptom, cause: str = "rack/r1") -> CauseCandidate:
    reach = frozenset({"node/n1", "node/n1/gpu/0", "node/n1/gpu/1", "job/llama"})
    return CauseCandidate(cause=cause, kind=kind, signs=list(signs), reach=reach, explains=frozenset())


FLOW = _sign("rack/r1", "rack_flow_litres_per_minute")
WARM = [_sign(f"node/n1/gpu/{index}", HEAT) for index in range(2)]
SLOW = _sign("job/llama", STEP)


@pytest.mark.parametrize(
    ("why", "candidate", "explained", "most"),
    [
        ("one instrument", _candidate("cooling.rack_blocked", FLOW), [], 1.2),
        ("a slow job beside it", _candidate("cooling.rack_blocked", FLOW), [SLOW], 4.0),
        ("one warm GPU of two is one instrument too", _candidate("cooling.rack_blocked", FLOW), WARM[:1], 1.2),
        ("two warm GPUs", _candidate("cooling.rack_blocked", FLOW), WARM, 4.0),
        ("the GPU is the cause itself", _candidate("gpu.slow", WARM[0], cause="node/n1/gpu/0"), [SLOW], 4.0),
        ("two of one kind", _candidate("fabric.rail", *(_sign(f"x/{n}", "port_xmit_wait_ratio") for n in range(2))), [], 1.2),
        ("three of one kind", _candidate("fabric.rail", *(_sign(f"x/{n}", "port_xmit_wait_ratio") for n in range(3))), [], 4.0),
        ("a state has no noise", _candidate("power.psu", _sign("psu/r1-a", "psu_healthy")), [], 4.0),
        ("an event", _candidate("schedule.slow_recovery", _sign("job/llama", "job_down")), [], 4.0),
        ("nothing that is measured", _candidate("cooling.plant"), [], 4.0),
    ],
)  # fmt: skip
def test_how_sure_it_may_be(
    quiet: Any, why: str, candidate: CauseCandidate, explained: list[Symptom], most: float
) -> None:
    assert evidence.most(quiet.scene, candidate, explained) == most, why


@pytest.mark.parametrize(
    ("why", "make", "most"),
    [
        ("nothing moved with it", of(), 1.2),
        ("a flow behind it fell", change("rack_flow_litres_per_minute", "rack/r1", times=0.5), 4.0),
        ("a flow elsewhere", change("rack_flow_litres_per_minute", "rack/r3", times=0.5), 1.2),
        ("long before", change("rack_flow_litres_per_minute", "rack/r1", times=0.5, at=130), 1.2),
        ("what moves with the work", change("rack_power_watts", "rack/r1", times=0.5), 1.2),
        ("what it does not explain", change("psu_healthy", "psu/r1-a", times=0.0), 1.2),
    ],
)
def test_what_moves_with_a_cause_is_a_second_kind(quiet: Any, why: str, make: Make, most: float) -> None:
    measured("rack_power_watts", {"rack/r1": 9e3})(quiet)
    make(quiet)
    flow = Symptom("cdu/c1", "cdu_flow_litres_per_minute", 1500.0, 200.0, 90.0)
    reach = frozenset({"cdu/c1", "rack/r1", "rack/r2", "psu/r1-a"})
    one = CauseCandidate(cause="cdu/c1", kind="cooling.rack_blocked", signs=[flow], reach=reach, explains=COOLING)
    assert evidence.most(quiet.scene, one, []) == most, why


MANY = [_sign(f"node/n{number}/gpu/{index}", HEAT) for number in range(1, 7) for index in range(2)]
RACK_FLOW = _sign("rack/r1", "rack_flow_litres_per_minute")


@pytest.mark.parametrize(
    ("why", "kind", "explained", "most"),
    [
        ("racks behind it have less flow, and no node feels it", "cooling.flow_low", [RACK_FLOW], 1.2),
        ("a third of the GPUs behind it are warm", "cooling.flow_low", [RACK_FLOW, *MANY[:4]], 4.0),
        ("fewer are warm", "cooling.flow_low", [RACK_FLOW, *MANY[:3]], 1.2),
        ("fewer are warm, and a job is slow", "cooling.flow_low", [RACK_FLOW, *MANY[:3], SLOW], 1.2),
        ("few of a hall", "cooling.plant", [RACK_FLOW, *MANY[:3]], 1.2),
        ("its own heat is not felt by anyone", "cooling.flow_low", [RACK_FLOW, _sign("cdu/c1", HEAT)], 1.2),
        ("warm water that no node feels", "cooling.supply_warm", [RACK_FLOW], 1.2),
        ("a warm hall that no node feels", "cooling.ambient", [RACK_FLOW], 1.2),
        ("a plant that no node feels", "cooling.plant", [RACK_FLOW], 1.2),
        (
            "a blocked rack is no pump",
            "cooling.rack_blocked",
            [RACK_FLOW, _sign("rack/r1", "rack_supply_celsius")],
            4.0,
        ),
    ],
)
def test_pumps_and_valves_that_follow_the_load_are_not_reported_with_confidence(
    quiet: Any, why: str, kind: str, explained: list[Symptom], most: float
) -> None:
    flow = Symptom("cdu/c1", "cdu_flow_litres_per_minute", 1500.0, 200.0, 90.0)
    one = _candidate(kind, flow, cause="cdu/c1")
    assert evidence.most(quiet.scene, one, explained) == most, why


@pytest.mark.parametrize(
    ("why", "kind", "make", "explained", "left"),
    [
        ("no GPU is warmer", "cooling.fan", of(), [SLOW], []),
        ("one is", "cooling.fan", of(), [SLOW, WARM[0]], [SLOW, WARM[0]]),
        ("no GPU is measured", "cooling.fan", without(HEAT), [SLOW], [SLOW]),
        ("power needs no heat", "power.cap", of(), [SLOW], [SLOW]),
        ("what is no work stays", "cooling.fan", of(), [SLOW, FLOW], [FLOW]),
    ],
)
def test_cooling_slows_work_by_heat(
    quiet: Any, why: str, kind: str, make: Make, explained: list[Symptom], left: list[Symptom]
) -> None:
    make(quiet)
    assert evidence.by_heat(quiet.scene, _candidate(kind), explained) == left, why


@pytest.mark.parametrize(("late", "most"), [(900.0, 4.0), (901.0, 1.2)])
def test_what_began_a_quarter_of_an_hour_after_a_cause_is_not_its_proof(quiet: Any, late: float, most: float) -> None:
    flow = _sign("rack/r1", "rack_flow_litres_per_minute")
    effects = [Symptom(one.subject, one.signal, one.since + late, 1.0, 2.0) for one in [*WARM, SLOW]]
    assert evidence.most(quiet.scene, _candidate("cooling.rack_blocked", flow), effects) == most


def test_a_state_that_a_device_reports_has_no_latest_effect(quiet: Any) -> None:
    link = _candidate("fabric.uplink", _sign("link/a", "link_bandwidth_bytes_per_second"), cause="link/a")
    assert evidence.most(quiet.scene, link, [Symptom("job/llama", STEP, 9000.0, 1.0, 2.0)]) == 4.0


def test_few_warm_gpus_count_where_clocks_fall(quiet: Any) -> None:
    gpus("gpu_clock_sm_hertz", nodes(1, 3), times=0.8)(quiet)
    flow = Symptom("cdu/c1", "cdu_flow_litres_per_minute", 1500.0, 200.0, 90.0)
    assert evidence.most(quiet.scene, _candidate("cooling.flow_low", flow, cause="cdu/c1"), MANY[:3]) == 4.0


def test_one_signal_that_several_show_is_enough_beside_one_that_only_one_shows(
    quiet: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    flow, heat = "cdu_flow_litres_per_minute", "gpu_temperature_celsius"
    monkeypatch.setattr(evidence, "_counts", lambda scene, candidate, name, subjects: name == flow)
    one = _candidate("cooling.flow_low")
    hot = {f"node/n1/gpu/{index}" for index in range(evidence.SEVERAL)}
    assert evidence._enough(quiet.scene, one, {flow: {"cdu/c1"}, heat: hot})
    assert not evidence._enough(quiet.scene, one, {flow: {"cdu/c1"}, heat: {"node/n1/gpu/0"}})
