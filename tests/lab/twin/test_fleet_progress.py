"""Simulated ranks tell every step once, without gaps, and how their job ended."""

from collections import defaultdict
from itertools import pairwise

from holdfast.fleet.jobs.record import JobRecord
from holdfast.lab.twin.fleet.kinds import scenario
from holdfast.lab.twin.fleet.progress import ProgressReporter
from holdfast.lab.twin.fleet.simulation import Simulation
from holdfast.model.wire.progress import RankWindow

SPEED = 20.0
HEARTBEAT = 30.0


def wall(virtual: float) -> float:
    return 1e9 + virtual / SPEED


def rank_windows(hours: float, nodes: int = 24) -> list[tuple[str, float, RankWindow]]:
    simulation = Simulation(scenario("demo"), nodes, seed=3)
    for node in simulation.nodes:
        node.open = True
    tellers = {node.name: ProgressReporter() for node in simulation.nodes}
    found = []
    for beat in range(int(hours * 3600 / HEARTBEAT)):
        now = beat * HEARTBEAT
        simulation.advance(now)
        for node in simulation.nodes:
            node.open = node.open or not node.job  # nobody tests them here
            job = simulation.jobs.running.get(node.job)
            found += [(node.name, wall(now), one) for one in tellers[node.name].windows(node, job, now, wall)]
    return found


def test_each_rank_reports_every_step_once_and_its_times_meet() -> None:
    ranks: dict[tuple[str, str, int], list[RankWindow]] = defaultdict(list)
    for _, _, window in rank_windows(1.0):
        ranks[window.job, window.session, window.rank].append(window)
    assert len(ranks) > 50
    for windows in ranks.values():
        steps = [one for one in windows if one.steps]
        for before, after in pairwise(steps):
            assert after.step - after.steps == before.step
            assert abs((after.at - after.seconds) - before.at) < 1e-3
        for one in steps:
            spent = one.data_seconds + one.compute_seconds + one.wait_seconds + one.checkpoint_seconds
            assert spent <= one.seconds * 1.05
        assert [one.ended for one in windows[:-1]] == [""] * (len(windows) - 1)


def test_a_controllers_ledger_of_such_a_job_is_mostly_productive() -> None:
    records: dict[str, JobRecord] = {}
    for node, at, window in rank_windows(1.0):
        records.setdefault(window.job, JobRecord(window.job, window.owner)).take(node, window, at)
    ended = [record for record in records.values() if record.ended == "closed"]
    assert ended
    for record in ended:
        ledger = record.accounts.ledger
        assert ledger.productive + ledger.degraded + ledger.checkpoint > 0.8 * ledger.total
        assert record.saved_step > 0
