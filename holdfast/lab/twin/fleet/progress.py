"""Progress reports of simulated ranks, in the controller's time."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from holdfast.lab.twin.fleet.node import GPUS, FleetNode
from holdfast.lab.twin.fleet.training import COMPUTE_SECONDS, TrainingJob
from holdfast.model.wire.progress import RankWindow

EVERY_SECONDS = 4.0  # seconds of real time
DATA_SHARE = 0.02  # seconds of computing
TOKENS_A_STEP = 4.2e6
OWNER = "uid-1000"
Wall = Callable[[float], float]


@dataclass(slots=True)
class ProgressReporter:
    """Progress of one node: keeps the last reports of its ranks, which the next ones continue."""

    job: TrainingJob | None = None
    session: str = ""
    step: int = 0
    until: float = 0.0
    reported_at: float = 0.0
    last: tuple[RankWindow, ...] = ()

    def windows(self, node: FleetNode, job: TrainingJob | None, now: float, wall: Wall) -> tuple[RankWindow, ...]:
        if job is None or job.name != self.session:
            ended = self._ended(wall(now))
            self._begin(job)
            if ended:
                return ended
            if job is not None:  # the first report follows at once, so that the job does not count as silent
                return tuple(self._hello(node, gpu, job, wall(now)) for gpu in range(GPUS))
        if job is None or wall(now) - self.reported_at < EVERY_SECONDS:
            return ()
        made = job.since_checkpoint(now)
        if job.saved + made <= self.step:
            return ()
        until = job.stretch_began + made * job.step_seconds
        self.last = tuple(self._rank(node, gpu, job, until, made, wall) for gpu in range(GPUS))
        self.step, self.until, self.reported_at = job.saved + made, until, wall(now)
        return self.last

    def _begin(self, job: TrainingJob | None) -> None:
        self.job, self.last = job, ()
        self.session = job.name if job else ""
        self.step, self.until = (job.saved, job.start) if job else (0, 0.0)

    def _ended(self, at: float) -> tuple[RankWindow, ...]:
        """The final report of a job that ended or died."""
        if self.job is None:
            return ()
        how = "closed" if self.job.saved >= self.job.steps or self.job.moved else "gone"
        return tuple(
            replace(one, at=max(at, one.at), steps=0, seconds=0.0, saved_step=self.job.saved - 1, ended=how)
            for one in self.last
        )

    def _hello(self, node: FleetNode, gpu: int, job: TrainingJob, at: float) -> RankWindow:
        return RankWindow(
            job=job.training,
            owner=OWNER,
            rank=job.nodes.index(node) * GPUS + gpu,
            world=job.size * GPUS,
            session=self.session,
            began=at,
            at=at,
            step=job.saved - 1,
            saved_step=job.saved - 1,
            gpu=gpu,
            group="data",
        )

    def _rank(self, node: FleetNode, gpu: int, job: TrainingJob, until: float, made: int, wall: Wall) -> RankWindow:
        seconds_per_second = wall(1.0) - wall(0.0)
        steps = job.saved + made - self.step
        jitter = 1 + 0.01 * ((node.index * GPUS + gpu) * 7 % 5 - 2) / 2
        own = COMPUTE_SECONDS * node.slows(gpu) * jitter
        whole = until - self.until
        saving = job.saved_in if job.stretch_began > self.until else 0.0
        data = min(DATA_SHARE * own * steps, whole)
        own = min(own, max(0.0, whole - saving - data) / steps)  # a slowdown affects a job from its next stretch on
        waiting = max(0.0, whole - saving - data - own * steps)
        done = job.saved + made
        return replace(
            self._hello(node, gpu, job, wall(until)),
            began=wall(job.start),
            step=done - 1,
            steps=steps,
            seconds=whole * seconds_per_second,
            data_seconds=data * seconds_per_second,
            compute_seconds=own * steps * seconds_per_second,
            wait_seconds=waiting * seconds_per_second,
            checkpoint_seconds=saving * seconds_per_second,
            own_seconds=own * seconds_per_second,
            split=True,
            tokens=TOKENS_A_STEP * steps / (job.size * GPUS),
            loss=2.1 + 8 / (1 + done / 40),
            gradient_norm=0.4 + 1 / (1 + done / 40),
        )
