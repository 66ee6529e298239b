"""Jobs that tell nothing: what the digests of their nodes say of the GPUs under them."""

import pytest

from holdfast.fleet.jobs import passive as passive
from holdfast.fleet.jobs.hardware import Digest
from holdfast.fleet.jobs.passive import PassiveJobs
from holdfast.model.health import Health

CLOCK, LOAD = "gpu_clock_sm_hertz", "gpu_utilization_ratio"


def digest(slow: int = -1, gpus: int = 4) -> Digest:
    found: dict[tuple[int, str], float] = {}
    for gpu in range(gpus):
        found |= {(gpu, CLOCK): 1.0e9 if gpu == slow else 1.98e9, (gpu, LOAD): 1.0, (gpu, "gpu_power_watts"): 500.0}
    return found


def digested(minutes: int = 4, slow: int = -1, nodes: tuple[str, ...] = ("n1", "n2")) -> PassiveJobs:
    made = PassiveJobs()
    for minute in range(minutes):
        for number, node in enumerate(nodes):
            made.take("4711", node, digest(slow if number == 0 else -1), 60.0 * minute)
    return made


def test_a_job_is_put_together_from_its_nodes() -> None:
    (view,) = digested().list(180.0)
    assert (view.job, view.nodes, view.world, view.last_report_at) == ("4711", ("n1", "n2"), 8, 180.0)
    assert (view.health, view.reason, view.state, view.reports_progress) == (Health.PASS, "", "running", False)
    assert (view.ranks_reporting, view.attempt, view.step) == (0, 1, -1)


def test_a_slow_gpu_is_reported_with_by_how_much() -> None:
    shown = digested(slow=2).show("4711", 180.0)
    assert shown is not None
    assert (shown.health, [one.subject for one in shown.slow]) == (Health.DEGRADED, ["node/n1/gpu/2"])
    assert (shown.slow[0].ratio, shown.slow[0].since, shown.slow[0].check) == (pytest.approx(0.98), None, "job.passive")
    assert "slower than the job's other busy GPUs" in shown.reason
    assert (shown.elapsed_seconds, shown.cluster_days, shown.unreceived_steps, shown.restarts) == (0.0, 0.0, 0, ())
    assert digested().show("other", 180.0) is None
    clean = digested().show("4711", 180.0)
    assert clean is not None
    assert clean.slow == ()


def test_before_anything_was_judged_its_health_is_unknown() -> None:
    made = PassiveJobs()
    made.take("4711", "n1", digest(), 0.0)
    (view,) = made.list(0.0)
    assert view.health is Health.UNKNOWN
    assert view.reason


@pytest.mark.parametrize(("ago", "state"), [(200.0, "running"), (201.0, "silent")])
def test_a_job_is_silent_when_its_digests_are_old(ago: float, state: str) -> None:
    (view,) = digested().list(180.0 + ago)
    assert view.state == state


@pytest.mark.parametrize(("ago", "known"), [(900.0, 1), (901.0, 0)])
def test_a_job_is_forgotten_a_quarter_of_an_hour_after_its_last_digest(ago: float, known: int) -> None:
    assert len(digested().list(180.0 + ago)) == known


def test_one_node_that_still_speaks_keeps_a_job() -> None:
    made = digested()
    made.take("4711", "n2", digest(), 1000.0)
    (view,) = made.list(1900.0)
    assert view.last_report_at == 1000.0


def test_a_job_is_judged_once_every_node_reported_another(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []
    check = passive.CHECK

    def counting(window, *more):  # type: ignore[no-untyped-def]
        asked.append(window.now)
        return check(window, *more)

    counting.span = check.span  # type: ignore[attr-defined]
    monkeypatch.setattr(passive, "CHECK", counting)
    made = PassiveJobs()
    for at, node in enumerate(("n1", "n2", "n3", "n1", "n2", "n3", "n1", "n2")):
        made.take("4711", node, digest(), float(at))
    assert asked == [0.0, 3.0, 6.0]


def test_no_more_jobs_are_kept_than_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passive, "MOST_JOBS", 2)
    made = PassiveJobs()
    for name in ("a", "b", "c"):
        made.take(name, "n1", digest(), 0.0)
    assert [view.job for view in made.list(1.0)] == ["a", "b"]
    made.take("c", "n1", digest(), 1000.0)  # the others are forgotten by then
    assert [view.job for view in made.list(1000.0)] == ["c"]
