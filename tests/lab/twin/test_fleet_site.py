"""What happens on the site of a simulated fleet beside its nodes: planned maintenance, and storage that gets slow."""

from dataclasses import replace
from statistics import fmean

from holdfast.lab.twin.fleet.kinds import PlannedVisit, Strike, scenario
from holdfast.lab.twin.fleet.simulation import Simulation
from holdfast.lab.twin.fleet.technician import NodeRequest, Technician, WorkNotice
from holdfast.lab.twin.fleet.training import SAVE_SECONDS

VISIT = PlannedVisit(at=100.0, first=2, count=2, lasts=500.0, what="firmware", every=1000.0)
SLOW = Strike(at=300.0, kind="storage.metadata", subject="storage/scratch", magnitude=12.0, ramp=60.0, lasts=600.0)


def test_planned_maintenance_takes_its_nodes_out_and_back_each_time() -> None:
    fleet = Simulation(replace(scenario("quiet"), visits=(VISIT,)), 8, 1)
    people = Technician(fleet)
    asked, announced = [], []
    for until in (99.0, 101.0, 599.0, 601.0, 1101.0):
        fleet.advance(until)
        asked.append(people.take_requests())
        announced.append(people.take_notices())
    out = [NodeRequest("quarantine", node, "planned maintenance: firmware") for node in ("n002", "n003")]
    back = [NodeRequest("release", node, "planned maintenance is done: firmware") for node in ("n002", "n003")]
    notice = [WorkNotice("firmware", ("n002", "n003"), 750.0)]
    assert asked == [[], out, [], back, out]
    assert announced == [[], notice, [], [], notice]


def test_slow_metadata_is_read_and_makes_checkpoints_longer_until_it_is_over() -> None:
    fleet = Simulation(replace(scenario("demo"), acceleration=0, strikes=(SLOW,), visits=()), 16, 1)
    assert fleet.plant is not None
    result = {}
    for until in (290.0, 360.0, 890.0, 1000.0):
        fleet.advance(until)
        values = [one.value for one in fleet.plant.take() if one.name == "storage_metadata_seconds"]
        result[until] = (fmean(values[-3:]), fleet.jobs.save_seconds)
    usual = result[290.0][0]
    assert result[890.0][0] > 10 * usual
    assert result[1000.0][0] < 1.2 * usual
    assert [seconds for _, seconds in result.values()] == [SAVE_SECONDS, 56.25, 56.25, SAVE_SECONDS]


def test_the_demo_day_has_every_kind_of_trouble_that_an_operator_should_see() -> None:
    day = scenario("demo")
    kinds = {strike.kind for strike in day.strikes if strike.at < 86_400}
    assert {"gpu_off_bus", "row_remap_pending", "row_remap_failure", "gpu_slow", "port_down"} <= kinds
    assert {"cooling.flow_low", "cooling.rack_blocked", "storage.metadata", "slow_trunk"} <= kinds
    assert day.visits
