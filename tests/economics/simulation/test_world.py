"""Whole scenarios: conserved to the last GPU-second, the same by seed, and as the closed forms say where those hold."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.economics.costs.checkpointing import ettr, expected_ledger
from holdfast.economics.simulation.estimate import estimate
from holdfast.economics.simulation.scenario import (
    Checkpoints,
    Cluster,
    Effect,
    Hazard,
    PlannedMaintenance,
    Repair,
    RestartStages,
    Scenario,
    SimulatedDomain,
    SimulatedJob,
    SparePart,
)
from holdfast.economics.simulation.spread import Spread, SpreadKind, fixed

DAY = 86_400.0
RESTART = RestartStages(
    detect=fixed(100.0), diagnose=fixed(50.0), reschedule=fixed(50.0), load=fixed(50.0), warm_up=fixed(50.0)
)
PLAIN = Scenario(
    title="plain",
    cluster=Cluster(nodes=110, days=20),
    jobs=(SimulatedJob(name="one", nodes=100, checkpoints=Checkpoints(interval=600, write=30), restart=RESTART),),
    hazards=(Hazard(name="gpu", rate=5.0),),
    repair=Repair(time=fixed(600.0)),  # a node that fails often is a person's case: quickly done, so that nobody waits
)
spreads = st.one_of(
    st.floats(0, 5 * DAY).map(fixed),
    st.floats(1, DAY).map(lambda mean: Spread(SpreadKind.EXPONENTIAL, mean)),
    st.floats(1, DAY).map(lambda median: Spread(SpreadKind.LOGNORMAL, median, 1.0)),
)
hazards = st.builds(
    Hazard,
    name=st.just(""),
    rate=st.floats(0, 10),
    on=st.sampled_from(SimulatedDomain),
    effect=st.sampled_from(Effect),
    shape=st.sampled_from([0.5, 1.0, 1.0, 2.0]),
    repeat_offender_share=st.sampled_from([0.0, 0.3]),
    repeat_offender_times=st.sampled_from([1.0, 8.0]),
    batch_share=st.sampled_from([0.0, 0.5]),
    batch_times=st.sampled_from([1.0, 3.0]),
    swap=st.floats(0, 1),
    takes_node=st.booleans(),
    part=st.sampled_from(["", "gpu"]),
    speed=st.floats(0.1, 1),
    lasts=st.none() | spreads,
    noticed=spreads,
)
checkpoints = st.one_of(
    st.builds(Checkpoints, interval=st.floats(60, 7200), write=st.floats(0, 300)),
    st.builds(
        Checkpoints,
        interval=st.floats(600, 7200),
        write=st.floats(0, 300),
        memory_interval=st.floats(30, 600),
        memory_write=st.floats(0, 30),
    ),
)


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    nodes = draw(st.integers(4, 24))
    jobs = tuple(
        SimulatedJob(
            name=f"job{number}",
            nodes=draw(st.integers(1, nodes)),
            checkpoints=draw(checkpoints),
            restart=draw(st.builds(RestartStages, detect=spreads, load=spreads, load_memory=spreads)),
            priority=draw(st.integers(0, 2)),
            work=draw(st.none() | st.floats(0, 10 * DAY)),
            submitted=draw(st.floats(0, 5 * DAY)),
        )
        for number in range(draw(st.integers(1, 3)))
    )
    found = draw(st.lists(hazards, max_size=4))
    return Scenario(
        title="drawn",
        cluster=Cluster(nodes=nodes, gpus_per_node=2, days=8, nodes_per_rack=2, racks_per_loop=2, nodes_per_leaf=4),
        jobs=jobs,
        hazards=tuple(replace(hazard, name=f"hazard{number}") for number, hazard in enumerate(found)),
        repair=Repair(
            crews=draw(st.integers(1, 3)),
            time=draw(spreads),
            test_misses=draw(st.floats(0, 0.9)),
            relapse=draw(spreads),
            parts=(SparePart(name="gpu", stock=draw(st.integers(0, 2)), lead=draw(spreads)),),
        ),
        maintenance=tuple(
            draw(
                st.lists(
                    st.builds(
                        PlannedMaintenance, every=st.floats(3600, 5 * DAY), nodes=st.integers(1, 3), lasts=spreads
                    ),
                    max_size=2,
                )
            )
        ),
    )


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(
    scenario=scenarios(),
    spares=st.integers(0, 3),
    breaker=st.integers(1, 30),
    degraded=st.sampled_from(["choose_last", "nothing", "fail"]),
    rungs=st.integers(1, 3),
)
def test_the_ledger_is_conserved_whatever_happens(
    simulated: Any, scenario: Scenario, spares: int, breaker: int, degraded: str, rungs: int
) -> None:
    outcome = simulated(
        scenario, spares=spares, breaker_nodes=breaker, service_degraded=degraded, automatic_repair_steps=rungs
    )
    paid = scenario.cluster.gpus * scenario.cluster.seconds
    assert abs(outcome.ledger.total - paid) <= 1e-9 * paid
    assert all(value >= -1e-9 * paid for value in outcome.ledger.parts().values())
    assert 0 <= outcome.figures["ettr"] <= 1 + 1e-9


def test_a_seed_gives_the_same_outcome_and_another_another(simulated: Any) -> None:
    assert simulated(PLAIN, 7) == simulated(PLAIN, 7)
    assert simulated(PLAIN, 7) != simulated(PLAIN, 8)


def test_it_agrees_with_the_exact_expected_time(simulated: Any) -> None:
    """One job, enough spares, failures at any time: the closed form is exact, so it lies in a wide interval."""
    many = [simulated(PLAIN, seed) for seed in range(20)]
    between = 365 * DAY / (5 * 800)
    expected = ettr(600, 30, between, 300)
    found = estimate([one.figures["ettr"] for one in many], level=0.999)
    assert found.low < expected < found.high
    assert abs(found.mean / expected - 1) < 0.006
    parts = expected_ledger(600, 30, between, 300)
    for name in ("checkpoint", "rework", "restart"):
        held = [one.ledger.parts()[name] / (one.ledger.total - one.ledger.idle) for one in many]
        wide = estimate(held, level=0.999)
        assert wide.low < parts.share(name) < wide.high, name


def test_the_number_of_interruptions_is_what_the_rate_says(simulated: Any) -> None:
    many = [simulated(PLAIN, seed).figures["interruptions"] for seed in range(12)]
    found = estimate(many, level=0.999)
    assert found.low < 5 * 800 * 20 / 365 < found.high


def test_nodes_out_of_service_are_failures_times_repair_time(simulated: Any) -> None:
    """Little's law: each failed part is away for the ladder's two rungs, two tests and three days of repair."""
    scenario = replace(
        PLAIN, hazards=(Hazard(name="gpu", rate=1.0, swap=1.0),), cluster=Cluster(nodes=110, days=100), repair=Repair()
    )
    many = [simulated(scenario, seed) for seed in range(8)]
    away = 3 * DAY + 300 + 900
    rate = 1.0 * 880 / (365 * DAY)
    found = estimate([one.figures["nodes_out_mean"] for one in many], level=0.999)
    assert found.mean == pytest.approx(rate * away, rel=0.1)


def test_copies_in_memory_lose_less_than_storage_alone(simulated: Any) -> None:
    kept = Checkpoints(interval=600, write=30, memory_interval=60, memory_write=1)
    job = replace(PLAIN.jobs[0], checkpoints=kept)
    with_memory, without = simulated(replace(PLAIN, jobs=(job,))), simulated(PLAIN)
    assert with_memory.ledger.rework < without.ledger.rework / 4


def test_repeat_offenders_fail_more_until_their_part_is_renewed(simulated: Any) -> None:
    repeat_offenders = Hazard(name="gpu", rate=1.0, repeat_offender_share=0.05, repeat_offender_times=50, swap=0.0)
    renewed = replace(repeat_offenders, swap=1.0)
    often = simulated(replace(PLAIN, hazards=(repeat_offenders,))).figures["failures"]
    seldom = simulated(replace(PLAIN, hazards=(renewed,))).figures["failures"]
    plain = simulated(replace(PLAIN, hazards=(Hazard(name="gpu", rate=1.0),))).figures["failures"]
    assert often > 2.5 * plain
    assert seldom < 0.8 * often


def test_infant_mortality_shows_in_young_fleets_only(simulated: Any) -> None:
    young = Hazard(name="gpu", rate=1.0, shape=0.5)
    old = replace(young, age_years=5.0)
    expected = 880 * 1.0 * (20 / 365) ** 0.5
    assert simulated(replace(PLAIN, hazards=(young,))).figures["failures"] == pytest.approx(expected, rel=0.2)
    assert simulated(replace(PLAIN, hazards=(old,))).figures["failures"] < expected / 3


def test_a_rack_takes_its_nodes_with_it(simulated: Any) -> None:
    rack = Hazard(name="pdu", rate=20.0, on=SimulatedDomain.RACK, lasts=fixed(DAY))
    outcome = simulated(replace(PLAIN, hazards=(rack,)))
    assert outcome.figures["interruptions"] > 5
    assert outcome.figures["quarantines"] == 0, "nobody is blamed for what is shared"


def test_slow_nodes_cost_degraded_time_unless_the_policy_takes_them_out(simulated: Any) -> None:
    slow = Hazard(name="throttle", rate=1.0, effect=Effect.SLOWDOWN, speed=0.7, noticed=fixed(600))
    scenario = replace(PLAIN, hazards=(slow,))
    borne, taken_out = simulated(scenario), simulated(scenario, service_degraded="fail")
    assert borne.ledger.degraded > 10 * taken_out.ledger.degraded > 0
    assert taken_out.figures["planned_stops"] > 0
    assert taken_out.ledger.rework < 1, "a planned stop loses nothing"


def test_corruption_goes_back_to_before_it_began_or_is_unknown(simulated: Any) -> None:
    silent = Hazard(name="sdc", rate=0.2, effect=Effect.CORRUPTION, noticed=fixed(5 * DAY))
    soon = replace(silent, noticed=fixed(60.0))
    never = replace(silent, noticed=fixed(1000 * DAY))
    late, early, unknown = (simulated(replace(PLAIN, hazards=(one,))).ledger for one in (silent, soon, never))
    assert late.rework > 50 * early.rework > 0
    assert unknown.unknown > 0 and unknown.rework == 0


def test_too_few_crews_make_jobs_wait(simulated: Any) -> None:
    broken = replace(PLAIN, hazards=(Hazard(name="gpu", rate=0.5, swap=1.0),), cluster=Cluster(nodes=106, days=40))
    few = simulated(replace(broken, repair=Repair(crews=3)), spares=6)
    many = simulated(replace(broken, repair=Repair()), spares=6)
    assert few.ledger.waiting > many.ledger.waiting


def test_parts_that_are_not_there_are_waited_for(simulated: Any) -> None:
    hazard = Hazard(name="gpu", rate=1.0, swap=1.0, part="baseboard")
    late = Repair(parts=(SparePart(name="baseboard", stock=1, lead=fixed(20 * DAY)),))
    scenario = replace(PLAIN, hazards=(hazard,), repair=late)
    assert simulated(scenario).figures["repairs"] <= 4
    assert simulated(replace(scenario, repair=replace(late, parts=()))).figures["repairs"] > 20


def test_a_job_with_work_ends_and_its_nodes_are_tested_for_the_next(simulated: Any) -> None:
    first = replace(PLAIN.jobs[0], name="first", work=5 * DAY)
    second = replace(first, name="second")
    figures = simulated(replace(PLAIN, hazards=(), jobs=(first, second))).figures
    per_cycle = (600 + 30) / 600
    assert figures["finish_day/first"] == pytest.approx(5 * per_cycle, rel=1e-3)
    assert figures["finish_day/second"] == pytest.approx(10 * per_cycle + 1200 / DAY, rel=1e-3)


def test_a_higher_priority_takes_the_nodes(simulated: Any) -> None:
    low = replace(PLAIN.jobs[0], name="low")
    high = replace(low, name="high", priority=5, submitted=DAY, work=2 * DAY)
    figures = simulated(replace(PLAIN, hazards=(), jobs=(low, high))).figures
    assert figures["preemptions"] == 1
    assert figures["finished/high"] == 1
    assert figures["progress_days/low"] < 20 - 2


def test_an_open_breaker_holds_failures_and_says_so(simulated: Any) -> None:
    broken = replace(PLAIN, hazards=(Hazard(name="gpu", rate=5.0, swap=1.0),))
    assert simulated(broken, breaker_nodes=1).figures["held_by_breaker"] > 10
    assert simulated(broken).figures["held_by_breaker"] == 0
