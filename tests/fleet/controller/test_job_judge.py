"""A job's checks asked: what is usual is learned while nothing is slow, and what is slow is remembered since when."""

import pytest

from holdfast.fleet.jobs.record import JobRecord, Rank
from holdfast.fleet.jobs.verdicts import JobVerdicts, _kind, _part
from holdfast.model.health import Health
from holdfast.model.wire.progress import RankWindow

WINDOW = 10.0


class Told:
    """Thirty-two ranks on four nodes that tell a window every ten seconds."""

    def __init__(self, world: int = 32) -> None:
        self.record = JobRecord("llama", "uid-1")
        self.judge = JobVerdicts(self.record)
        self.world, self.now, self.step = world, 1000.0, 0
        self.explained = ""

    def run(self, looks: int, slow: int = -1, ratio: float = 0.0, seconds: float = 10.0, **links: float) -> "Told":
        for _ in range(looks):
            self.now, self.step = self.now + WINDOW, self.step + 8
            for rank in range(self.world):
                own = (1.0 + 0.001 * (rank % 5)) * (1 + ratio * (rank == slow))
                window = RankWindow(
                    job="llama", owner="uid-1", rank=rank, world=self.world, session=f"s{rank}", began=1000.0,
                    at=self.now, step=self.step, steps=8, seconds=seconds, data_seconds=0.8, wait_seconds=1.6,
                    checkpoint_seconds=0.4, own_seconds=own, split=True, gpu=rank % 8,
                    links={name: told + 0.01 * rank for name, told in links.items()},
                )  # fmt: skip
                self.record.take(f"n{rank // 8}", window, self.now)
            self.judge.judge(self.now, lambda node: [], {}, lambda node, gpu: self.explained)
        return self

    def signal(self, name: str, subject: str = "job/llama") -> object:
        return self.record.history.window(self.now, 300.0).value(subject, name)

    def degraded(self) -> set[str]:
        return {row.subject for one in self.judge.verdicts for row in one.rows if row.health is Health.DEGRADED}


def test_what_a_step_takes_is_the_middle_of_its_ranks_by_parts() -> None:
    told = Told().run(3)
    assert told.signal("job_step_seconds") == pytest.approx(10.0 / 8)
    assert told.signal("job_data_seconds") == pytest.approx(0.1)
    assert told.signal("job_wait_seconds") == pytest.approx(0.2)
    assert told.signal("job_checkpoint_seconds") == pytest.approx(0.05)
    assert told.signal("job_own_seconds") == pytest.approx(1.002)
    assert told.signal("job_world") == 32.0


def test_six_looks_say_what_is_usual() -> None:
    told = Told().run(6)
    assert told.signal("job_usual_step_seconds") is None
    told.run(1)
    assert told.signal("job_usual_step_seconds") == pytest.approx(1.25)
    assert told.signal("job_usual_step_noise_ratio") == pytest.approx(0.0, abs=1e-6)


def test_noise_is_how_far_steps_lie_from_their_middle() -> None:
    told = Told()
    for seconds in (10.0, 10.4, 9.6, 10.0, 10.4, 9.6, 10.0):
        told.run(1, seconds=seconds)
    assert told.signal("job_usual_step_noise_ratio") == pytest.approx(1.4826 * 0.04, rel=1e-3)


def test_a_slow_job_does_not_become_usual() -> None:
    told = Told().run(12)
    told.run(10, seconds=15.0)
    assert "job/llama" in told.judge.slow_since
    kept = len(told.judge.usual["step"])
    told.run(5, seconds=15.0)
    assert len(told.judge.usual["step"]) == kept
    assert told.signal("job_usual_step_seconds") == pytest.approx(1.25)


def test_a_slow_rank_is_remembered_since_it_became_slow_and_forgotten_when_it_is_well() -> None:
    told = Told().run(6)
    found = next(at for at in range(20) if told.run(1, slow=12, ratio=0.2).degraded())
    assert told.degraded() == {"job/llama/rank/12"}
    assert told.judge.slow_since == {"job/llama/rank/12": told.now - 40.0}
    since = told.now - 40.0
    told.run(3, slow=12, ratio=0.2)
    assert told.judge.slow_since == {"job/llama/rank/12": since}
    assert told.signal("job_slow_since_seconds", "job/llama/rank/12") == since
    told.run(12)
    assert told.judge.slow_since == {}
    assert told.signal("job_slow_since_seconds", "job/llama/rank/12") is None
    assert found >= 2


def test_why_is_asked_of_slow_ranks_alone() -> None:
    told = Told().run(6)
    told.explained = "cdu/c2"
    told.run(8, slow=12, ratio=0.2)
    assert told.signal("job_rank_incident", "job/llama/rank/12") == "cdu/c2"
    assert told.signal("job_rank_hardware", "job/llama/rank/12") == ""
    assert told.signal("job_rank_incident", "job/llama/rank/13") is None


def test_what_is_slow_and_cannot_be_judged_now_is_not_well_for_that() -> None:
    told = Told()
    told.judge.slow_since = {"job/llama/rank/12": 900.0}
    told.run(1)
    assert told.judge.slow_since == {"job/llama/rank/12": 900.0}
    told.run(12)
    assert told.judge.slow_since == {}
    job = Told()
    job.judge.slow_since = {"job/llama": 900.0}
    job.run(12)
    assert job.judge.slow_since == {"job/llama": 900.0}, "nothing is usual yet to compare it with"


def test_whoever_came_last_tells_the_time_of_the_transfer() -> None:
    told = Told().run(3, **{"ring/0": 0.5})
    assert told.signal("job_transfer_seconds", "job/llama/link/ring_0") == pytest.approx(0.5, rel=1e-3)
    assert told.signal("job_link_nodes", "job/llama/link/ring_0") == "n0 and n1 and n2 and n3"


def test_without_steps_nothing_is_asked() -> None:
    told = Told()
    told.judge.judge(told.now, lambda node: [], {})
    assert told.judge.verdicts == ()


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
    rank = Rank(node="n1", window=window, heard_at=0.0, attempt=1)
    assert [_part(rank, part) for part in ("own", "step", "data")] == [1.5, 2.0, 0.5]
