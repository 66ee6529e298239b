"""gpu.power: a cap below the default, or a GPU that starves among equally busy peers."""

from dataclasses import replace

import pytest

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


def test_while_no_one_can_report_the_jobs_nothing_is_compared() -> None:
    assert busy(STARVED, jobs={}).row(CHECK, 2).health is Health.PASS


def test_a_job_that_has_just_come_is_not_blamed_for_what_was_drawn_before() -> None:
    assert busy(STARVED, jobs_since=500.0).row(CHECK, 2).health is Health.PASS


def test_an_idle_gpu_among_busy_peers_passes() -> None:
    tray = busy({0: 650, 1: 660, 2: 70, 3: 655, 4: 640}, load={0: 1.0, 1: 1.0, 2: 0.0, 3: 1.0, 4: 1.0})
    assert tray.row(CHECK, 2).health is Health.PASS


def test_a_moment_is_too_short_to_compare() -> None:
    assert busy({0: 650, 1: 660, 2: 300, 3: 655, 4: 640}, until=60.0).row(CHECK, 2).health is Health.PASS


def test_a_cap_within_two_percent_of_the_default_passes() -> None:
    def capped(watts: float) -> Health:
        return Tray().read(0.0, **{**LIMITS, "gpu_power_limit_watts": watts}).row(CHECK).health

    assert [capped(watts) for watts in (686.0, 685.9)] == [Health.PASS, Health.DEGRADED]


def test_without_a_default_or_a_manifest_no_cap_is_too_low() -> None:
    row = Tray().read(0.0, gpu_power_limit_watts=100.0).row(CHECK)
    assert (row.health, row.value, row.limit) == (Health.PASS, 100.0, None)


def test_a_gpu_that_does_not_report_its_limit_is_unknown() -> None:
    tray = Tray().read(0.0, gpu_power_limit_watts={1: 700.0, 2: 700.0, 3: 700.0})
    assert tray.healths(CHECK) == [Health.UNKNOWN, Health.PASS, Health.PASS, Health.PASS]


def starved(watts: float, count: int = 4, **more: object) -> Health:
    """GPU 0 draws so much where each of the others draws 600 W."""
    power = {0: watts, **dict.fromkeys(range(1, count), 600.0)}
    jobs = {"7": ",".join(str(number) for number in range(count))}
    return busy(power, jobs=jobs, **more).row(CHECK, 0).health  # type: ignore[arg-type]


def test_six_tenths_of_what_peers_draw_is_enough() -> None:
    assert [starved(watts) for watts in (360.0, 359.0)] == [Health.PASS, Health.DEGRADED]


def test_three_peers_are_needed() -> None:
    assert [starved(300.0, count) for count in (3, 4)] == [Health.PASS, Health.DEGRADED]


def test_five_minutes_are_needed() -> None:
    assert [starved(300.0, until=until) for until in (300.0, 310.0)] == [Health.PASS, Health.DEGRADED]
    held = [starved(300.0, jobs_since=since) for since in (310.0, 300.0)]
    assert held == [Health.PASS, Health.DEGRADED]


def test_nine_tenths_of_the_time_is_busy() -> None:
    assert [starved(300.0, load=load) for load in (0.89, 0.90)] == [Health.PASS, Health.DEGRADED]


def test_what_is_no_gpu_number_holds_no_gpu() -> None:
    assert busy(STARVED, jobs={"7": "0,1,2,3,4,x,"}).row(CHECK, 2).health is Health.DEGRADED


def test_a_gpu_whose_load_or_power_is_new_is_not_compared() -> None:
    for late in ("gpu_power_watts", "gpu_utilization_ratio"):
        tray = Tray(4)
        while tray.now < 600.0:
            result = {"gpu_power_watts": {0: 300.0, 1: 600.0, 2: 600.0, 3: 600.0}, "gpu_utilization_ratio": 1.0}
            if tray.now < 500.0:
                del result[late]
            tray.read(tray.now + 10.0, **result, **LIMITS)
            tray.history.add(Reading(source="jobs", at=tray.now, signals=job("7", "0,1,2,3")))
        assert tray.row(CHECK, 0).health is Health.PASS


def test_a_job_that_changed_its_gpus_lately_is_not_compared() -> None:
    tray = Tray(5)
    while tray.now < 600.0:
        tray.read(tray.now + 10.0, gpu_power_watts=STARVED, gpu_utilization_ratio=1.0, **LIMITS)
        held = "0,1,2,3" if tray.now < 500.0 else "0,1,2,3,4"
        tray.history.add(Reading(source="jobs", at=tray.now, signals=job("7", held)))
    assert tray.row(CHECK, 2).health is Health.PASS


def test_a_starving_gpu_reports_the_least_it_should_draw() -> None:
    row = busy(STARVED).row(CHECK, 2)
    assert (row.value, row.limit) == (pytest.approx(300.0), pytest.approx(0.6 * 652.5))
