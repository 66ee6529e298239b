"""How often and where to write checkpoints, and the resulting goodput."""

from holdfast.economics.costs import checkpointing as c
from holdfast.economics.costs.feasible import BadNumber, NoProgress, positive
from holdfast.economics.costs.levels import memory_or_storage, storage_write_seconds_for
from holdfast.economics.planning.answer import Figure, PlanAnswer, sensitivities
from holdfast.economics.planning.chart import ChartLine, PlanChart, spaced
from holdfast.economics.planning.copies import copies_of
from holdfast.economics.planning.copies import figures as of_copies
from holdfast.economics.planning.formatting import bandwidth, percent, time
from holdfast.economics.planning.inputs import PlanInputs
from holdfast.economics.planning.rate import Rate, rate
from holdfast.economics.planning.run import (
    MemoryTier,
    PlannedRun,
    RunQuestion,
    levels,
    memory_of,
    refuse_standstill,
    run_of,
)


def answer(inputs: PlanInputs, wanted: RunQuestion) -> PlanAnswer:
    gpus = inputs.machines("gpus", wanted.gpus)
    chosen = rate(inputs, wanted.rate, wanted.events, wanted.gpu_years)
    run = run_of(inputs, wanted, gpus, chosen)
    copies = copies_of(inputs, gpus, chosen.per_gpu_year, wanted.copies)
    memory = memory_of(inputs, wanted, run, copies)
    refuse_standstill(run.ettr, run, "")
    figures = [*_headline_figures(run, chosen), *_intervals(run), *_ledger(run)]
    figures += _at_interval(inputs, wanted, run)
    if memory is not None:
        figures += _tiers(run, memory)
    if copies is not None:
        figures += of_copies(copies)
    if wanted.target is not None:
        figures += _to_buy(run, memory, wanted.state, inputs.share("target", wanted.target))
    return PlanAnswer(
        plan="checkpoint",
        headline=_headline(run, memory),
        figures=figures,
        inputs=inputs.given,
        sensitivities=sensitivities(
            run, lambda r: r.ettr, {name: name for name in ("gpus", "rate", "write", "restart")}
        ),
        sensitivity_of="the productive share",
        show=percent,
        notes=_notes(run, chosen, memory),
        chart=lambda: _chart(run),
    )


def _headline(run: PlannedRun, memory: MemoryTier | None) -> str:
    """The headline of the requested way to save, with a memory tier if it pays."""
    text = f"Write a checkpoint every {time(run.best_interval)}: {percent(run.ettr)} of the time is productive."
    if memory is None:
        return text
    tiers = memory_or_storage(*levels(run, memory))
    if not tiers.memory_wins:
        return f"{text} A memory tier is not worth it."
    every = list(tiers.schedule.intervals.values())
    often, seldom = time(every[0]), time(every[-1])
    return (
        f"Copy to memory every {often} and write to storage every {seldom}: {percent(1 - tiers.with_memory)} of the"
        f" time is productive, {percent(run.ettr)} with storage alone."
    )


def _headline_figures(run: PlannedRun, chosen: Rate) -> list[Figure]:
    figures = [
        Figure("ettr", run.ettr, "productive share (ETTR), exact", percent(run.ettr)),
        Figure("interval_seconds", run.best_interval, "best interval", time(run.best_interval)),
        Figure("mean_seconds_between_failures", run.between, "the job fails every", time(run.between)),
        Figure("write_seconds", run.write, "a write stops it for", time(run.write)),
    ]
    if chosen.posterior is not None:
        ends = [
            _or_zero(PlannedRun(run.gpus, end, run.write, run.restart)) for end in reversed(chosen.posterior.interval())
        ]
        shown = f"{percent(ends[0])} to {percent(ends[1])}"
        figures.insert(1, Figure("ettr_95_percent", ends, "  for the rate's 95 % interval", shown))
    return figures


def _or_zero(run: PlannedRun) -> float:
    try:
        return run.ettr
    except NoProgress:
        return 0.0


def _intervals(run: PlannedRun) -> list[Figure]:
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


def _ledger(run: PlannedRun) -> list[Figure]:
    shares = c.expected_ledger(run.best_interval, run.write, run.between, run.restart).shares()
    shown = ", ".join(f"{name} {percent(part)}" for name, part in shares.items())
    return [Figure("ledger", shares, "where the time goes", shown)]


def _at_interval(inputs: PlanInputs, wanted: RunQuestion, run: PlannedRun) -> list[Figure]:
    if wanted.interval is None:
        return []
    interval = positive("--interval", inputs.duration("interval", wanted.interval))
    there = c.ettr(interval, run.write, run.between, run.restart)
    shown = f"{percent(there)}, {percent(max(0.0, run.ettr - there))} below the best"
    return [Figure("ettr_at_interval", there, f"every {time(interval)} instead", shown)]


def _tiers(run: PlannedRun, memory: MemoryTier) -> list[Figure]:
    tiers = memory_or_storage(*levels(run, memory))
    plan = tiers.schedule
    shown = ", ".join(f"{name} every {time(every)}" for name, every in plan.intervals.items())
    verdict = "worth it" if tiers.memory_wins else "not worth it"
    text = (
        f"{percent(1 - tiers.with_memory)} productive, {percent(max(0.0, 1 - tiers.storage_only))} without: {verdict}"
    )
    text += "" if plan.valid else "  (outside its validity: `holdfast simulate` it)"
    return [
        Figure("memory_tier_intervals_seconds", plan.intervals, "with a memory tier", shown),
        Figure("memory_tier_multiples", list(plan.multiples)),
        Figure("memory_tier_ettr", 1 - tiers.with_memory, "  first order", text),
        Figure("memory_tier_valid", plan.valid),
        Figure("memory_wins", tiers.memory_wins),
    ]


def _to_buy(run: PlannedRun, memory: MemoryTier | None, size: str | None, target: float) -> list[Figure]:
    if size is None:
        raise BadNumber("--target: expected --state with it, the size of a checkpoint")
    state = PlanInputs().size("state", size)
    longest = c.write_seconds_for(target, run.between, run.restart)
    found = [_bandwidth("storage_bytes_per_second_for_target", state, longest, f"storage for {100 * target:.1f} %")]
    if memory is not None:
        longest = storage_write_seconds_for(target, *levels(run, memory))
        found.append(
            _bandwidth("storage_bytes_per_second_with_memory_tier", state, longest, "  the same with the memory tier")
        )
    return found


def _bandwidth(key: str, state: float, seconds: float, name: str) -> Figure:
    value = state / seconds
    return Figure(key, value, name, f"{bandwidth(value)} (a write of {time(seconds)})")


def _notes(run: PlannedRun, chosen: Rate, memory: MemoryTier | None) -> list[str]:
    notes = [f"{chosen.name}: {chosen.caveat}"] if chosen.caveat else []
    notes.append("the curve is flat: an interval twice too long costs far less than a write twice as long")
    if not c.closed_form(run.best_interval, run.write, run.between, run.restart).valid:
        notes.append("losses are large here; the exact formula holds, its assumptions may not: `holdfast simulate`")
    if memory is not None:
        notes.append(
            "the memory tier is judged to first order, beside storage to first order: trust it below 25 % of loss"
        )
    return notes


def _chart(run: PlannedRun) -> PlanChart:
    intervals = spaced(run.best_interval / 20, run.best_interval * 20)
    points = []
    for interval in intervals:
        try:
            points.append((interval / 60, c.ettr(interval, run.write, run.between, run.restart)))
        except NoProgress:
            points.append((interval / 60, 0.0))
    line = ChartLine("exact", tuple(points))
    mark = (run.best_interval / 60, run.ettr)
    return PlanChart(
        "Productive share by checkpoint interval", "minutes between checkpoints", "share", (line,), True, mark
    )
