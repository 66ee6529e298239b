"""A run and its checkpoints: the inputs that plans and reports share."""

from dataclasses import dataclass, field

from holdfast.economics.costs import checkpointing as c
from holdfast.economics.costs.feasible import BadNumber, NoProgress, positive
from holdfast.economics.costs.levels import Level
from holdfast.economics.costs.survival import mean_seconds_between
from holdfast.economics.planning.copies import NO_COPIES, Copies, CopyTexts
from holdfast.economics.planning.formatting import percent, time
from holdfast.economics.planning.inputs import PlanInputs
from holdfast.economics.planning.rate import Rate

STANDSTILL = 1e-3  # productive share below which the run counts as stopped
RESTART_WHY = "ten minutes; measure yours: detect, schedule, load, warm up"


@dataclass(frozen=True, slots=True)
class PlannedRun:
    gpus: float
    rate: float
    write: float
    restart: float

    @property
    def between(self) -> float:
        return mean_seconds_between(self.gpus, self.rate)

    @property
    def best_interval(self) -> float:
        return c.best_interval(self.write, self.between)

    @property
    def ettr(self) -> float:
        return c.best_ettr(self.write, self.between, self.restart)


@dataclass(frozen=True, slots=True)
class MemoryTier:
    """Copies in the memory of other nodes: the cost of a write, and the failures that they survive."""

    write: float
    restart: float
    survives: float = field(metadata={"share": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunQuestion:
    """The options, as the user gave them."""

    gpus: str | None
    rate: str | None
    events: str | None
    gpu_years: str | None
    write: str | None
    state: str | None
    bandwidth: str | None
    restart: str | None
    interval: str | None
    memory_write: str | None
    memory_restart: str | None
    memory_survives: str | None
    target: str | None
    copies: CopyTexts = NO_COPIES


def run_of(inputs: PlanInputs, wanted: RunQuestion, gpus: float, chosen: Rate) -> PlannedRun:
    write = _write(inputs, wanted)
    return PlannedRun(gpus, chosen.per_gpu_year, write, inputs.duration("restart", wanted.restart, "10m", RESTART_WHY))


def refuse_standstill(share: float, run: PlannedRun, every: str) -> None:
    """Refuses a plan whose productive share rounds to zero, and names the time that is too long compared with the time
    between failures."""
    if share < STANDSTILL:
        writes = f"a write takes {time(run.write)}{every}, a restart {time(run.restart)}"
        raise NoProgress(
            f"no progress is possible: {writes}, and the job fails every {time(run.between)} on average, so"
            f" {percent(share)} of the time would be productive"
        )


def _write(inputs: PlanInputs, wanted: RunQuestion) -> float:
    """The time that a write stops the run: given directly, or as size and bandwidth."""
    if wanted.write is not None:
        if wanted.bandwidth is not None:
            raise BadNumber("--write and --bandwidth say the same twice: expected one of them")
        return positive("--write", inputs.duration("write", wanted.write))
    if wanted.state is None or wanted.bandwidth is None:
        raise BadNumber("--write is missing: expected how long a checkpoint stops the run, or --state and --bandwidth")
    state = positive("--state", inputs.size("state", wanted.state))
    speed = positive("--bandwidth", inputs.bandwidth("bandwidth", wanted.bandwidth))
    return state / speed


def memory_of(inputs: PlanInputs, wanted: RunQuestion, run: PlannedRun, copies: Copies | None) -> MemoryTier | None:
    if wanted.memory_write is None:
        if wanted.memory_restart is not None or wanted.memory_survives is not None or copies is not None:
            raise BadNumber("--memory-write is missing: expected how long a write to memory stops the run")
        return None
    survives = _survives(inputs, wanted, run, copies)
    return MemoryTier(
        positive("--memory-write", inputs.duration("memory-write", wanted.memory_write)),
        inputs.duration("memory-restart", wanted.memory_restart, "2m", "an assumption: nothing is read from storage"),
        survives,
    )


def _survives(inputs: PlanInputs, wanted: RunQuestion, run: PlannedRun, copies: Copies | None) -> float:
    if copies is not None:
        if wanted.memory_survives is not None:
            raise BadNumber("--memory-survives and --copies say the same twice: expected one of them")
        share = copies.survives(1 / run.between)
        inputs.note("memory-survives", share, "share", percent(share), "from --copies, --rebuild and --domain")
        return share
    survives = inputs.share("memory-survives", wanted.memory_survives, "0.95", "an assumption; --copies computes it")
    if not 0 < survives < 1:
        raise BadNumber("--memory-survives: expected a share above 0 and below 1")
    return survives


def levels(run: PlannedRun, memory: MemoryTier) -> tuple[Level, Level]:
    often = Level(
        name="memory",
        write_seconds=memory.write,
        failures_per_second=memory.survives / run.between,
        restart_seconds=memory.restart,
    )
    seldom = Level(
        name="storage",
        write_seconds=run.write,
        failures_per_second=(1 - memory.survives) / run.between,
        restart_seconds=run.restart,
    )
    return often, seldom
