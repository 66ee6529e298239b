"""How often to write checkpoints, where, and what the run then delivers."""

from dataclasses import dataclass, field

from holdfast.cli.plan_answer import Answer, Figure, bandwidth, percent, sways, time
from holdfast.cli.plan_inputs import Asked
from holdfast.cli.plan_plot import Chart, Line, spaced
from holdfast.cli.plan_rate import Rate, rate
from holdfast.cli.refusal import Refusal
from holdfast.costs import checkpointing as c
from holdfast.costs.feasible import NoProgress, positive
from holdfast.costs.levels import Level, memory_or_storage, storage_write_seconds_for
from holdfast.costs.survival import mean_seconds_between

RESTART_WHY = "ten minutes; measure yours: detect, schedule, load, warm up"


@dataclass(frozen=True, slots=True)
class Run:
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
class Memory:
    """Copies in the memory of other nodes: what writing them costs, and which failures they outlive."""

    write: float
    restart: float
    survives: float = field(metadata={"share": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What was asked, as it was said."""

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


def answer(asked: Asked, wanted: Wanted) -> Answer:
    gpus = asked.machines("gpus", wanted.gpus)
    chosen = rate(asked, wanted.rate, wanted.events, wanted.gpu_years)
    write, state = _write(asked, wanted)
    run = Run(gpus, chosen.per_gpu_year, write, asked.duration("restart", wanted.restart, "10m", RESTART_WHY))
    memory = _memory(asked, wanted)
    figures = [*_headline_figures(run, chosen), *_intervals(run), *_ledger(run)]
    figures += _at_interval(asked, wanted, run)
    if memory is not None:
        figures += _tiers(run, memory)
    if wanted.target is not None:
        figures += _to_buy(run, memory, state, asked.share("target", wanted.target))
    return Answer(
        plan="checkpoint",
        headline=f"Write a checkpoint every {time(run.best_interval)}: {percent(run.ettr)} of the time is productive.",
        figures=figures,
        inputs=asked.given,
        sways=sways(run, lambda r: r.ettr, {name: name for name in ("gpus", "rate", "write", "restart")}),
        swayed="the productive share",
        show=percent,
        notes=_notes(run, chosen, memory),
        chart=_chart(run),
    )


def _write(asked: Asked, wanted: Wanted) -> tuple[float, float | None]:
    """How long a write stops the run, told outright or by size and bandwidth; and the size if it was told."""
    if wanted.write is not None:
        if wanted.bandwidth is not None:
            raise Refusal("--write and --bandwidth say the same twice: expected one of them")
        state = asked.size("state", wanted.state) if wanted.state is not None else None
        return positive("--write", asked.duration("write", wanted.write)), state
    if wanted.state is None or wanted.bandwidth is None:
        raise Refusal("--write is missing: expected how long a checkpoint stops the run, or --state and --bandwidth")
    state = positive("--state", asked.size("state", wanted.state))
    speed = positive("--bandwidth", asked.bandwidth("bandwidth", wanted.bandwidth))
    return state / speed, state


def _memory(asked: Asked, wanted: Wanted) -> Memory | None:
    if wanted.memory_write is None:
        if wanted.memory_restart is not None or wanted.memory_survives is not None:
            raise Refusal("--memory-write is missing: expected how long a write to memory stops the run")
        return None
    survives = asked.share("memory-survives", wanted.memory_survives, "0.95", "an assumption; racks and feeds decide")
    if not 0 < survives < 1:
        raise Refusal("--memory-survives: expected a share above 0 and below 1")
    return Memory(
        positive("--memory-write", asked.duration("memory-write", wanted.memory_write)),
        asked.duration("memory-restart", wanted.memory_restart, "2m", "an assumption: nothing is read from storage"),
        survives,
    )


def _headline_figures(run: Run, chosen: Rate) -> list[Figure]:
    figures = [
        Figure("ettr", run.ettr, "productive share (ETTR), exact", percent(run.ettr)),
        Figure("interval_seconds", run.best_interval, "best interval", time(run.best_interval)),
        Figure("mean_seconds_between_failures", run.between, "the job fails every", time(run.between)),
        Figure("write_seconds", run.write, "a write stops it for", time(run.write)),
    ]
    if chosen.posterior is not None:
        ends = [_or_zero(Run(run.gpus, end, run.write, run.restart)) for end in reversed(chosen.posterior.interval())]
        shown = f"{percent(ends[0])} to {percent(ends[1])}"
        figures.insert(1, Figure("ettr_95_percent", ends, "  for the rate's 95 % interval", shown))
    return figures


def _or_zero(run: Run) -> float:
    try:
        return run.ettr
    except NoProgress:
        return 0.0


def _intervals(run: Run) -> list[Figure]:
    d, m = run.write, run.between
    closed = c.closed_form(run.best_interval, d, m, run.restart)
    trust = "" if closed.valid else "  (outside its validity: do not use)"
    return [
        Figure("young_seconds", c.young(d, m), "Young, 1974", time(c.young(d, m))),
        Figure("daly_seconds", c.daly(d, m), "Daly, first order", time(c.daly(d, m))),
        Figure(
            "daly_higher_order_seconds",
            c.daly_higher_order(d, m),
            "Daly, higher order",
            time(c.daly_higher_order(d, m)),
        ),
        Figure("closed_form_ettr", closed.ettr, "Meta's closed form", percent(closed.ettr) + trust),
        Figure("closed_form_valid", closed.valid),
    ]


def _ledger(run: Run) -> list[Figure]:
    shares = c.expected_ledger(run.best_interval, run.write, run.between, run.restart).shares()
    shown = ", ".join(f"{name} {percent(part)}" for name, part in shares.items())
    return [Figure("ledger", shares, "where the time goes", shown)]


def _at_interval(asked: Asked, wanted: Wanted, run: Run) -> list[Figure]:
    if wanted.interval is None:
        return []
    interval = positive("--interval", asked.duration("interval", wanted.interval))
    there = c.ettr(interval, run.write, run.between, run.restart)
    shown = f"{percent(there)}, {percent(max(0.0, run.ettr - there))} below the best"
    return [Figure("ettr_at_interval", there, f"every {time(interval)} instead", shown)]


def _levels(run: Run, memory: Memory) -> tuple[Level, Level]:
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


def _tiers(run: Run, memory: Memory) -> list[Figure]:
    tiers = memory_or_storage(*_levels(run, memory))
    plan = tiers.schedule
    shown = ", ".join(f"{name} every {time(every)}" for name, every in plan.intervals.items())
    verdict = "worth it" if tiers.memory_wins else "not worth it"
    words = f"{percent(1 - tiers.with_memory)} productive, {percent(1 - tiers.storage_only)} without: {verdict}"
    return [
        Figure("memory_tier_intervals_seconds", plan.intervals, "with a memory tier", shown),
        Figure("memory_tier_multiples", list(plan.multiples)),
        Figure("memory_tier_ettr", 1 - tiers.with_memory, "  first order", words),
        Figure("memory_tier_valid", plan.valid),
        Figure("memory_wins", tiers.memory_wins),
    ]


def _to_buy(run: Run, memory: Memory | None, state: float | None, target: float) -> list[Figure]:
    if state is None:
        raise Refusal("--target: expected --state with it, the size of a checkpoint")
    longest = c.write_seconds_for(target, run.between, run.restart)
    found = [_bandwidth("storage_bytes_per_second_for_target", state, longest, f"storage for {target:.1%}")]
    if memory is not None:
        longest = storage_write_seconds_for(target, *_levels(run, memory))
        found.append(
            _bandwidth("storage_bytes_per_second_with_memory_tier", state, longest, "  the same with the memory tier")
        )
    return found


def _bandwidth(key: str, state: float, seconds: float, name: str) -> Figure:
    value = state / seconds
    return Figure(key, value, name, f"{bandwidth(value)} (a write of {time(seconds)})")


def _notes(run: Run, chosen: Rate, memory: Memory | None) -> list[str]:
    notes = [f"{chosen.name}: {chosen.caveat}"] if chosen.caveat else []
    notes.append("the curve is flat: an interval twice too long costs far less than a write twice as long")
    if not c.closed_form(run.best_interval, run.write, run.between, run.restart).valid:
        notes.append("losses are large here; the exact formula holds, its assumptions may not: `holdfast simulate`")
    if memory is not None:
        notes.append("the memory tier is judged to first order, beside storage to first order")
    return notes


def _chart(run: Run) -> Chart:
    intervals = spaced(run.best_interval / 20, run.best_interval * 20)
    points = []
    for interval in intervals:
        try:
            points.append((interval / 60, c.ettr(interval, run.write, run.between, run.restart)))
        except NoProgress:
            points.append((interval / 60, 0.0))
    line = Line("exact", tuple(points))
    mark = (run.best_interval / 60, run.ettr)
    return Chart("Productive share by checkpoint interval", "minutes between checkpoints", "share", (line,), True, mark)
