"""A job's checks asked: what is usual is learned while nothing is slow, and what is slow is remembered since when."""

import pytest

from holdfast.fleet.jobs.record import JobRecord, Rank
from holdfast.fleet.jobs.verdicts import JobVerdicts, _kind, _part
from holdfast.model.health import Health
from holdfast.model.wire.progress import RankWindow

WINDOW = 10.0


class SimulatedJob:
    """Thirty-two ranks on four nodes that report a window every ten seconds."""

    def __init__(self, world: int = 32) -> None:
        self.record = JobRecord("llama", "uid-1")
        self.checks = JobVerdicts(self.record)
        self.world, self.now, self.step = world, 1000.0, 0
        self.explained = ""

    def run(
        self, looks: int, slow: int = -1, ratio: float = 0.0, seconds: float = 10.0, **links: float
    ) -> "SimulatedJob":
        for _ in range(looks):
            self.now, self.step = self.now + WINDOW, self.step + 8
            for rank in range(self.world):
                own = (1.0 + 0.001 * (rank % 5)) * (1 + ratio * (rank == slow))
                window = RankWindow(
                    job="llama", owner="uid-1", rank=rank, world=self.world, session=f"s{rank}", began=1000.0,
                    at=self.now, step=self.step, steps=8, seconds=seconds, data_seconds=0.8, wait_seconds=1.6,
                    checkpoint_seconds=0.4, own_seconds=own, split=True, gpu=rank % 8,
                    links={name: transfer + 0.01 * rank for name, transfer in links.items()},
                )  # fmt: skip
                self.record.take(f"n{rank // 8}", window, self.now)
            self.checks.evaluate(self.now, lambda node: [], {}, lambda node, gpu: self.explained)
        return self

    def signal(self, name: str, subject: str = "job/llama") -> object:
        return self.record.history.window(self.now, 300.0).value(subject, name)

    def degraded(self) -> set[str]:
        return {row.subject for one in self.checks.verdicts for row in one.rows if row.health is Health.DEGRADED}


def test_what_a_step_takes_is_the_middle_of_its_ranks_by_parts() -> None:
    sim = SimulatedJob().run(3)
    assert sim.signal("job_step_seconds") == pytest.approx(10.0 / 8)
    assert sim.signal("job_data_seconds") == pytest.approx(0.1)
    assert sim.signal("job_wait_seconds") == pytest.approx(0.2)
    assert sim.signal("job_checkpoint_seconds") == pytest.approx(0.05)
    assert sim.signal("job_own_seconds") == pytest.approx(1.002)
    assert sim.signal("job_world") == 32.0


def test_six_looks_say_what_is_usual() -> None:
    sim = SimulatedJob().run(6)
    assert sim.signal("job_usual_step_seconds") is None
    sim.run(1)
    assert sim.signal("job_usual_step_seconds") == pytest.approx(1.25)
    assert sim.signal("job_usual_step_noise_ratio") == pytest.approx(0.0, abs=1e-6)


def test_noise_is_how_far_steps_lie_from_their_middle() -> None:
    sim = SimulatedJob()
    for seconds in (10.0, 10.4, 9.6, 10.0, 10.4, 9.6, 10.0):
        sim.run(1, seconds=seconds)
    assert sim.signal("job_usual_step_noise_ratio") == pytest.approx(1.4826 * 0.04, rel=1e-3)


def test_a_slow_job_does_not_become_usual() -> None:
    sim = SimulatedJob().run(12)
    sim.run(10, seconds=15.0)
    assert "job/llama" in sim.checks.slow_since
    kept = len(sim.checks.usual["step"])
    sim.run(5, seconds=15.0)
    assert len(sim.checks.usual["step"]) == kept
    assert sim.signal("job_usual_step_seconds") == pytest.approx(1.25)


def test_a_slow_rank_is_remembered_since_it_became_slow_and_forgotten_when_it_is_well() -> None:
    sim = SimulatedJob().run(6)
    found = next(at for at in range(20) if sim.run(1, slow=12, ratio=0.2).degraded())
    assert sim.degraded() == {"job/llama/rank/12"}
    assert sim.checks.slow_since == {"job/llama/rank/12": sim.now - 40.0}
    since = sim.now - 40.0
    sim.run(3, slow=12, ratio=0.2)
    assert sim.checks.slow_since == {"job/llama/rank/12": since}
    assert sim.signal("job_slow_since_seconds", "job/llama/rank/12") == since
    sim.run(12)
    assert sim.checks.slow_since == {}
    assert sim.signal("job_slow_since_seconds", "job/llama/rank/12") is None
    assert found >= 2


def test_why_is_asked_of_slow_ranks_alone() -> None:
    sim = SimulatedJob().run(6)
    sim.explained = "cdu/c2"
    sim.run(8, slow=12, ratio=0.2)
    assert sim.signal("job_rank_incident", "job/llama/rank/12") == "cdu/c2"
    assert sim.signal("job_rank_hardware", "job/llama/rank/12") == ""
    assert sim.signal("job_rank_incident", "job/llama/rank/13") is None


def test_what_is_slow_and_cannot_be_judged_now_is_not_well_for_that() -> None:
    sim = SimulatedJob()
    sim.checks.slow_since = {"job/llama/rank/12": 900.0}
    sim.run(1)
    assert sim.checks.slow_since == {"job/llama/rank/12": 900.0}
    sim.run(12)
    assert sim.checks.slow_since == {}
    job = SimulatedJob()
    job.checks.slow_since = {"job/llama": 900.0}
    job.run(12)
    assert job.checks.slow_since == {"job/llama": 900.0}, "nothing is usual yet to compare it with"


def test_whoever_came_last_reports_the_time_of_the_transfer() -> None:
    sim = SimulatedJob().run(3, **{"ring/0": 0.5})
    assert sim.signal("job_transfer_seconds", "job/llama/link/ring_0") == pytest.approx(0.5, rel=1e-3)
    assert sim.signal("job_link_nodes", "job/llama/link/ring_0") == "n0 and n1 and n2 and n3"


def test_without_steps_nothing_is_asked() -> None:
    sim = SimulatedJob()
    sim.checks.evaluate(sim.now, lambda node: [], {})
    assert sim.checks.verdicts == ()


def test_the_kind_of_a_subject_and_the_parts_of_a_window() -> None:
    assert [_kind(one) for one in ("job/llama", "job/llama/rank/3", "job/llama/link/a")] == ["job", "rank", "link"]
    window = RankWindow(
        job="j",
        owner="u",
        rank=0,
        world=1,
        session="s",
        began=0.0,
        at=1.0,
        steps=4,
        seconds=8.0,
        own_seconds=1.5,
        data_seconds=2.0,
    )  # fmt: skip
    rank = Rank(node="n1", window=window, last_report_at=0.0, attempt=1)
    assert [_part(rank, part) for part in ("own", "step", "data")] == [1.5, 2.0, 0.5]


def test_steps_that_take_no_time_have_no_noise() -> None:
    assert SimulatedJob().run(7, seconds=0.0).signal("job_usual_step_noise_ratio") == 0.0
