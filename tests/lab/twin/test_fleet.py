"""The simulated fleet without a network: the same seed tells the same story, and time never goes back."""

from collections import defaultdict
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.catalog.xid import all_codes
from holdfast.lab.twin.error import TwinError
from holdfast.lab.twin.fleet.keyed_random import KeyedRandom
from holdfast.lab.twin.fleet.kinds import kinds, scenario, scenarios
from holdfast.lab.twin.fleet.orders import Order
from holdfast.lab.twin.fleet.simulation import HEARTBEAT_SECONDS, NodeUpdate, Simulation
from holdfast.model.health import Health
from holdfast.model.job import JobState
from holdfast.model.lifecycle import Verb
from holdfast.node import checks
from tests.counts import draws

HOUR = 3600.0


def obeying(simulation: Simulation, seconds: float, step: float = 10.0) -> list[NodeUpdate]:
    """A controller in three lines: whoever fails is reset, then rebooted, and tested after each."""
    result: list[NodeUpdate] = []
    number = 0
    for node in simulation.nodes:
        number += 1
        simulation.orders.give(node, Order(id=number, verb="retest", suite="1"))
    moment = 0.0
    while moment < seconds:
        moment += step
        for message in simulation.advance(moment):
            result.append(message)
            node = simulation.nodes[message.node]
            failed = any(change.after == "fail" for change in message.changes)
            tested_bad = any(outcome.health == "fail" for outcome in message.outcomes)
            acted = any(outcome.verb != "retest" for outcome in message.outcomes)
            if failed or tested_bad or acted:
                number += 1
                verb = "retest" if acted else "reboot" if tested_bad else "reset_gpu"
                simulation.orders.give(node, Order(id=number, verb=verb, suite="1"))
    return result


def opened(simulation: Simulation) -> Simulation:
    """Every gate is open: work may start."""
    for node in simulation.nodes:
        simulation.orders.give(node, Order(id=1_000_000 + node.index, verb="uncordon"))
    return simulation


SEEDS = st.integers(0, 10_000)
NAMES = st.sampled_from(sorted(scenarios()))


@given(SEEDS, NAMES, st.integers(1, 24), st.sampled_from((0.6, 1.0)))
@settings(max_examples=draws(4, 15))
def test_the_same_seed_gives_the_same_history(seed: int, name: str, nodes: int, shape: float) -> None:
    first = obeying(Simulation(scenario(name), nodes, seed, shape), HOUR)
    again = obeying(Simulation(scenario(name), nodes, seed, shape), HOUR)
    assert first == again


@given(SEEDS, NAMES, st.integers(1, 24))
@settings(max_examples=draws(4, 15))
def test_time_never_goes_back_and_every_change_follows_from_the_one_before(seed: int, name: str, nodes: int) -> None:
    result = obeying(Simulation(scenario(name), nodes, seed), HOUR)
    assert all(early.at <= late.at for early, late in pairwise(result))
    verdicts: dict[tuple[int, str], str] = defaultdict(str)
    for message in result:
        for change in message.changes:
            assert change.at == message.at
            assert verdicts[message.node, change.check] == change.before
            verdicts[message.node, change.check] = change.after
            assert bool(change.subjects) == (change.after != "pass")


def test_how_the_time_is_sliced_changes_nothing() -> None:
    whole = Simulation(scenario("background"), 16, 3).advance(HOUR)
    sliced_fleet = Simulation(scenario("background"), 16, 3)
    sliced = [message for minute in range(1, 61) for message in sliced_fleet.advance(60.0 * minute)]
    assert whole == sliced


def test_another_seed_reports_another_history() -> None:
    runs = [Simulation(scenario("background"), 16, seed).advance(HOUR) for seed in (1, 2)]
    assert runs[0] != runs[1]


def test_an_order_to_one_node_does_not_change_what_breaks_on_another() -> None:
    alone, result = Simulation(scenario("background"), 16, 5), Simulation(scenario("background"), 16, 5)
    result.orders.give(result.nodes[2], Order(id=1, verb="reboot"))

    def xids(fleet: Simulation) -> list[tuple[float, str]]:
        message = fleet.advance(4 * HOUR)
        return [(s.at, e.text) for s in message for e in s.events if e.kind in ("xid", "mce") and s.node != 2]

    assert xids(alone) == xids(result)


def test_every_node_is_received_every_thirty_seconds() -> None:
    result = Simulation(scenario("quiet"), 5, 1).advance(10 * HEARTBEAT_SECONDS)
    for node in range(5):
        beats = [message.at for message in result if message.node == node and message.heartbeat]
        assert len(beats) == 10
        assert {round(late - early, 6) for early, late in pairwise(beats)} == {HEARTBEAT_SECONDS}


def test_fifty_nodes_behind_one_loop_fail_within_a_minute_and_no_other() -> None:
    fleet = Simulation(scenario("loop"), 64, 1)
    fails = [
        (message.at, message.node)
        for message in fleet.advance(2 * HOUR)
        for change in message.changes
        if (change.check, change.after) == ("gpu.throttle", "fail")
    ]
    assert len({node for _, node in fails}) == 50
    assert max(at for at, _ in fails) - min(at for at, _ in fails) <= 60
    assert {fleet.nodes[node].place["loop"] for _, node in fails} == {"loop1"}
    assert not any(node.faults for node in fleet.nodes), "the loop was repaired after an hour"


def test_one_leaf_takes_the_ports_of_its_nodes_down() -> None:
    fleet = Simulation(scenario("leaf"), 64, 1)
    down = {
        message.node
        for message in fleet.advance(600)
        for change in message.changes
        if change.check == "fabric.port_down" and change.before
    }
    assert {fleet.nodes[node].place["leaf"] for node in down} == {"leaf1"}
    assert len(down) == 16


def test_the_promised_first_fault_is_reset_away_and_the_node_passes_again() -> None:
    result = [message for message in obeying(Simulation(scenario("demo"), 16, 1), 1200.0) if message.node == 0]
    lines = [
        *(f"{change.check} {change.after}" for message in result for change in message.changes),
        *(f"{outcome.verb} {outcome.health or outcome.ok}" for message in result for outcome in message.outcomes),
    ]
    assert "gpu.xid fail" in lines
    assert "gpu.xid pass" in lines
    assert lines[-3:] == ["retest pass", "reset_gpu True", "retest pass"]


def test_an_order_given_twice_is_carried_out_once() -> None:
    fleet = Simulation(scenario("quiet"), 1, 1)
    order = Order(id=9, verb="retest", suite="1")
    fleet.orders.give(fleet.nodes[0], order)
    fleet.orders.give(fleet.nodes[0], order)
    first = [o for message in fleet.advance(300) for o in message.outcomes]
    fleet.orders.give(fleet.nodes[0], order)
    again = [o for message in fleet.advance(301) for o in message.outcomes]
    assert len(first) == 1
    assert again == first
    assert (first[0].health, first[0].suite, first[0].began) == ("pass", "1", 0.0)


def test_a_gpu_off_the_bus_cannot_be_reset_but_a_reboot_starts_a_new_session() -> None:
    fleet = Simulation(scenario("quiet"), 1, 1)
    node = fleet.nodes[0]
    fleet.strike(node, kinds()["gpu_off_bus"], (3,), cured_by="reboot")
    fleet.advance(20)
    fleet.orders.give(node, Order(id=1, verb="reset_gpu"))
    [refused] = [o for message in fleet.advance(100) for o in message.outcomes]
    assert not refused.ok
    assert "GPU 3 does not answer" in refused.reason
    fleet.orders.give(node, Order(id=2, verb="reboot"))
    result = fleet.advance(500)
    silence = [message for message in result if 100 < message.at < 250]
    assert silence == [], "a node that reboots says nothing"
    assert {message.session for message in result} == {2}
    assert {change.after for message in result for change in message.changes} == {"pass"}


@pytest.mark.parametrize("verb", ["format the disk", ""])
def test_what_an_agent_cannot_do_it_refuses(verb: str) -> None:
    fleet = Simulation(scenario("quiet"), 1, 1)
    fleet.orders.give(fleet.nodes[0], Order(id=1, verb=verb))
    [outcome] = [o for message in fleet.advance(1) for o in message.outcomes]
    assert not outcome.ok


def test_nothing_runs_on_a_node_before_it_is_uncordoned() -> None:
    fleet = Simulation(scenario("quiet"), 8, 1)
    for node in fleet.nodes[:4]:
        fleet.orders.give(node, Order(id=1, verb="uncordon"))
    used = {message.node for message in fleet.advance(HOUR) if message.jobs}
    assert used
    assert used <= {0, 1, 2, 3}


def test_jobs_take_nodes_run_and_end_and_a_failing_node_ends_its_job() -> None:
    fleet = opened(Simulation(scenario("quiet"), 32, 1))
    fleet.advance(600)
    busy = [node for node in fleet.nodes if node.job]
    assert 0 < len(busy) <= 0.7 * 32
    victim = busy[0]
    job = fleet.jobs.running[victim.job]
    used = job.nodes
    fleet.strike(victim, kinds()["gsp_timeout"], (0,))
    result = fleet.advance(610)
    assert job.deaths == 1
    assert not any(node.job or node.open for node in used), "used nodes are closed until they are tested"
    states = {seen.state for message in result for seen in message.jobs if seen.id == f"twin-{job.number}"}
    assert JobState.NODE_FAILED in states


def test_a_job_that_died_goes_on_from_its_last_checkpoint_and_ends() -> None:
    fleet = opened(Simulation(scenario("quiet"), 8, 3))
    fleet.advance(100)
    job = next(iter(fleet.jobs.running.values()))
    while job.saved == 0:
        fleet.advance(fleet.now + 60)
    saved = job.saved
    fleet.jobs.node_failed(job.nodes[0])
    assert job.saved == saved
    opened(fleet)
    for number in range(200):
        for node in fleet.nodes:
            if not node.open and not node.job:
                fleet.orders.give(node, Order(id=2_000_000 + 100 * number + node.index, verb="uncordon"))
        fleet.advance(fleet.now + 600)
    assert job.saved == job.steps
    assert job.name not in fleet.jobs.running


def test_a_fleet_too_small_for_large_jobs_still_has_jobs() -> None:
    fleet = opened(Simulation(scenario("quiet"), 2, 1))
    fleet.advance(HOUR)
    assert fleet.jobs.running or any(not node.open for node in fleet.nodes)


def test_every_word_of_an_agent_says_which_jobs_are_there() -> None:
    fleet = opened(Simulation(scenario("quiet"), 8, 1))
    beats = [message for message in fleet.advance(600) if message.heartbeat and message.at > 300]
    running = {node.index for node in fleet.nodes if node.job}
    assert {message.node for message in beats if message.jobs} >= running


def test_a_reset_is_refused_while_a_job_is_on_the_node() -> None:
    fleet = opened(Simulation(scenario("quiet"), 32, 1))
    fleet.advance(600)
    busy = next(node for node in fleet.nodes if node.job)
    fleet.orders.give(busy, Order(id=1, verb="reset_gpu"))
    [outcome] = [o for message in fleet.advance(601) for o in message.outcomes]
    assert not outcome.ok
    assert "in use" in outcome.reason


def test_an_order_answered_at_once_does_not_end_the_one_under_way() -> None:
    fleet = Simulation(scenario("quiet"), 1, 1)
    node = fleet.nodes[0]
    fleet.orders.give(node, Order(id=1, verb="retest"))
    fleet.orders.give(node, Order(id=2, verb="cordon"))
    assert node.working_on == 1


def test_faults_arrive_as_often_as_the_catalogue_says() -> None:
    fleet = Simulation(scenario("background"), 50, 7)
    days = 1
    fleet.advance(days * 86400.0)
    struck = sum(node.struck for node in fleet.nodes)
    per_year = sum(kind.per_gpu_year for kind in kinds().values())
    expected = per_year * 8 * 50 * days / 365.25 * scenario("background").acceleration
    assert struck == pytest.approx(expected, rel=0.25)  # some strike where the same is broken already


def test_infant_mortality_puts_more_faults_into_the_first_half() -> None:
    fleet = Simulation(scenario("background"), 60, 7, infant_shape=0.5)
    fleet.advance(6 * HOUR)
    early = sum(node.struck for node in fleet.nodes)
    fleet.advance(12 * HOUR)
    assert early > sum(node.struck for node in fleet.nodes) - early


def test_every_fault_speaks_in_the_words_of_checks_that_exist() -> None:
    actions = {known.code: known.action for known in all_codes()}
    for kind in kinds().values():
        assert kind.on in ("gpu", "port", "node", "trunk")
        assert set(kind.cures) <= {Verb.RESET_GPU.value, Verb.REBOOT.value}
        assert [updates.after for updates in kind.verdicts] == sorted(updates.after for updates in kind.verdicts)
        for updates in kind.verdicts:
            assert updates.check in checks.STAGES["passive"], kind.name
            assert updates.health in (Health.FAIL, Health.DEGRADED)
        if kind.event and kind.event.kind == "xid":
            assert kind.event.action == actions[int(kind.event.code)]
    assert 0.1 < sum(kind.per_gpu_year for kind in kinds().values()) < 0.25


def test_a_scenario_no_one_wrote_is_refused_by_name() -> None:
    with pytest.raises(TwinError, match="expected one of"):
        scenario("flood")


@given(st.integers(), st.text(), st.integers())
def test_chance_is_between_nought_and_one_and_repeats_itself(seed: int, word: str, number: int) -> None:
    first = KeyedRandom(seed).uniform(word, number)
    assert 0 < first < 1
    assert KeyedRandom(seed).uniform(word, number) == first


@pytest.mark.parametrize("tested_after", [100.0, 700.0, 2500.0])
def test_a_slow_controller_sees_the_same_history(tested_after: float) -> None:
    """The demo's faults meet the runs they are meant for, however long the first tests take."""
    pytest.importorskip("numpy", reason="needs the extra [seams]")
    fleet = Simulation(replace(scenario("demo"), acceleration=0), 64, 1)
    fleet.advance(tested_after)
    for node in fleet.nodes[::-1]:  # in an order that suits no run
        fleet.orders.give(node, Order(id=1_000_000 + node.index, verb="uncordon"))
        fleet.advance(fleet.now + 3.0)
    fleet.advance(fleet.now + 30.0)
    assert fleet.nodes[0].job == "mixtral" and fleet.nodes[56].job == "gemma"
    fleet.advance(fleet.now + 150.0)
    assert [fault.kind.name for fault in fleet.nodes[0].faults] == ["gsp_timeout"]
    fleet.advance(fleet.now + 500.0)
    assert [fault.kind.name for fault in fleet.nodes[56].faults] == ["gpu_slow"] and fleet.nodes[56].job == "gemma"
