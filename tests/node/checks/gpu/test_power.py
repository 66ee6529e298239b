"""gpu.power: a cap below the default, or a GPU that starves among equally busy peers."""

from dataclasses import replace

from holdfast.model import subject
from holdfast.model.health import Health
from holdfast.model.signal import Reading, Signal
from holdfast.node.checks.gpu.power import CHECK, UNCAP
from tests.node.checks.gpu.gpu_tray import Tray

LIMITS = {"gpu_power_limit_watts": 700.0, "gpu_power_default_limit_watts": 700.0}


def test_a_gpu_at_its_default_limit_passes_from_one_sample() -> None:
    assert Tray().read(0.0, **LIMITS).ask(CHECK).health is Health.PASS


def test_a_cap_below_the_default_degrades() -> None:
    tray = Tray().read(0.0, **{**LIMITS, "gpu_power_limit_watts": {0: 700.0, 1: 500.0, 2: 700.0, 3: 700.0}})
    assert tray.healths(CHECK) == [Health.PASS, Health.DEGRADED, Health.PASS, Health.PASS]
    assert "capped at 500 W" in tray.row(CHECK, 1).reason
    assert tray.ask(CHECK).remedy == UNCAP


def test_a_cap_that_the_manifest_intends_passes() -> None:
    tray = Tray().read(0.0, **{**LIMITS, "gpu_power_limit_watts": 500.0})
    expect = {gpu: {"gpu_power_limit_watts": 500.0} for gpu in tray.gpus}
    tray.history.inventory = replace(tray.history.inventory, expect=expect)
    assert tray.ask(CHECK).health is Health.PASS


ALL = {"7": "0,1,2,3,4"}


def busy(
    power: dict[int, float],
    load: dict[int, float] | float = 1.0,
    until: float = 600.0,
    jobs: dict[str, str] | None = None,
    jobs_since: float = 0.0,
) -> Tray:
    """GPUs at work, and which job holds which (`jobs`: id -> GPU numbers); one job holds all by default."""
    tray = Tray(len(power))
    while tray.now < until:
        tray.read(tray.now + 10.0, gpu_power_watts=power, gpu_utilization_ratio=load, **LIMITS)
        if tray.now >= jobs_since:
            holding = (ALL if jobs is None else jobs).items()
            tray.history.add(Reading(source="jobs", at=tray.now, signals=[s for one in holding for s in job(*one)]))
    return tray


def job(job_id: str, gpus: str) -> list[Signal]:
    where = subject.job(job_id)
    return [Signal(where, "job_processes", 1.0), Signal(where, "job_gpus", gpus)]


STARVED = {0: 650.0, 1: 660.0, 2: 300.0, 3: 655.0, 4: 640.0}


def test_a_starving_gpu_among_busy_peers_of_its_job_degrades() -> None:
    tray = busy(STARVED)
    assert tray.row(CHECK, 2).health is Health.DEGRADED
    assert "draws 300 W" in tray.row(CHECK, 2).reason
    assert tray.row(CHECK, 0).health is Health.PASS


def test_gpus_of_different_jobs_are_not_compared() -> None:
    power = {0: 650.0, 1: 660.0, 2: 655.0, 3: 640.0, 4: 650.0, 5: 300.0, 6: 305.0, 7: 298.0}
    tray = busy(power, jobs={"prefill": "0,1,2,3,4", "decode": "5,6,7"})
    assert set(tray.healths(CHECK)) == {Health.PASS}
    assert busy(power, jobs={"one": "0,1,2,3,4,5,6,7"}).row(CHECK, 5).health is Health.DEGRADED


def test_a_gpu_that_jobs_share_is_not_compared() -> None:
    assert busy(STARVED, jobs={**ALL, "8": "2"}).row(CHECK, 2).health is Health.PASS


def test_while_nobody_can_tell_the_jobs_nothing_is_compared() -> None:
    assert busy(STARVED, jobs={}).row(CHECK, 2).health is Health.PASS


def test_a_job_that_has_just_come_is_not_blamed_for_what_was_drawn_before() -> None:
    assert busy(STARVED, jobs_since=500.0).row(CHECK, 2).health is Health.PASS


def test_an_idle_gpu_among_busy_peers_passes() -> None:
    tray = busy({0: 650, 1: 660, 2: 70, 3: 655, 4: 640}, load={0: 1.0, 1: 1.0, 2: 0.0, 3: 1.0, 4: 1.0})
    assert tray.row(CHECK, 2).health is Health.PASS


def test_a_moment_is_too_short_to_compare() -> None:
    assert busy({0: 650, 1: 660, 2: 300, 3: 655, 4: 640}, until=60.0).row(CHECK, 2).health is Health.PASS
