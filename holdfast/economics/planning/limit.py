"""How far a run can scale before failures stop it."""

from dataclasses import replace
from fractions import Fraction
from math import isfinite

from holdfast.economics.costs.feasible import BadNumber, NoProgress, positive
from holdfast.economics.costs.limits import ScaledRun, largest, stalled_by_restarts, wall
from holdfast.economics.costs.survival import YEAR_SECONDS
from holdfast.economics.planning.answer import Figure, PlanAnswer, sensitivities
from holdfast.economics.planning.chart import ChartLine, PlanChart, spaced
from holdfast.economics.planning.formatting import count, time
from holdfast.economics.planning.inputs import PlanInputs
from holdfast.economics.planning.rate import Rate, rate

STORAGE = ("2TB/s", "Llama 3's storage")
ONE_LINK = ("50GB/s", "one GPU's link of 400 Gb/s")


def answer(
    inputs: PlanInputs,
    rate_text: str | None,
    events: str | None,
    gpu_years: str | None,
    state: str | None,
    state_gpus: str | None,
    bandwidth: str | None,
    network_exponent: str | None,
    growing: bool,
    restart: str | None,
) -> PlanAnswer:
    chosen = rate(inputs, rate_text, events, gpu_years)
    run = _run(inputs, chosen, state, state_gpus, bandwidth, network_exponent, growing, restart)
    half, most = largest(run, 0.5), _size(run, 0.9)
    return PlanAnswer(
        plan="limit",
        headline=_headline(half, most),
        figures=_figures(run, chosen, half, most),
        inputs=inputs.given,
        sensitivities=sensitivities(run, lambda r: largest(r, 0.9), _names(run)),
        sensitivity_of="the GPUs at 90 %",
        show=count,
        notes=_notes(run, chosen),
        chart=lambda: _chart(run, most),
    )


def _headline(half: float, most: float | None) -> str:
    if most is None:
        return f"Not even one GPU is productive 90 % of the time; 50 % up to {_or_never(half)}."
    return f"90 % of the time is productive up to {_or_never(most)}, 50 % up to {_or_never(half)}."


def _run(
    inputs: PlanInputs,
    chosen: Rate,
    state: str | None,
    state_gpus: str | None,
    bandwidth: str | None,
    network_exponent: str | None,
    growing: bool,
    restart: str | None,
) -> ScaledRun:
    exponent = _exponent(inputs, network_exponent)
    state_bytes = inputs.size("state", state, "5TB", "a frontier model's weights and optimiser")
    link = inputs.bandwidth("bandwidth", bandwidth, *(ONE_LINK if exponent else STORAGE))
    gpus = inputs.number("state-gpus", state_gpus, "GPUs", "16384", "the size whose state is given")
    seconds = inputs.duration("restart", restart, "10m", "0s leaves restarts out, as published limits do")
    inputs.note("growing", float(growing), "flag", "yes" if growing else "no", "the model grows with the cluster")
    return ScaledRun(
        gpu_seconds_between=YEAR_SECONDS / chosen.per_gpu_year,
        state_bytes=positive("--state", state_bytes),
        bytes_per_second=positive("--bandwidth", link),
        reference_gpus=positive("--state-gpus", gpus),
        growing=growing,
        network_exponent=exponent,
        restart_seconds=seconds,
    )


def _figures(run: ScaledRun, chosen: Rate, half: float, most: float | None) -> list[Figure]:
    walls, stall, write = wall(run), stalled_by_restarts(run), run.write_seconds(run.reference_gpus)
    shown = "none" if not isfinite(walls) else f"{count(walls)} GPUs"
    return [
        Figure("gpus_at_90_percent", most, "90 % productive up to", _or_never(most)),
        *_uncertainty(run, chosen),
        Figure("gpus_at_50_percent", half, "50 % productive up to", _or_never(half)),
        Figure("wall_gpus", walls, "the wall: a write takes as long as the time between failures", shown),
        Figure("restart_wall_gpus", stall, "failures come as fast as restarts at", f"{count(stall)} GPUs"),
        Figure("write_seconds_at_reference", write, "a write at the given size", time(write)),
    ]


def _uncertainty(run: ScaledRun, chosen: Rate) -> list[Figure]:
    if chosen.posterior is None:
        return []
    low, high = (
        _size(replace(run, gpu_seconds_between=YEAR_SECONDS / end), 0.9)
        for end in reversed(chosen.posterior.interval())
    )
    shown = f"{_or_never(low)} to {_or_never(high)}"
    return [Figure("gpus_at_90_percent_95_percent", [low, high], "  for the rate's 95 % interval", shown)]


def _names(run: ScaledRun) -> dict[str, str]:
    """Inputs whose effect is shown, with their labels."""
    names = {"gpu_seconds_between": "time between failures", "state_bytes": "state", "bytes_per_second": "bandwidth"}
    return {**names, "restart_seconds": "restart"} if run.restart_seconds else names


def _notes(run: ScaledRun, chosen: Rate) -> list[str]:
    notes = ["at the wall no progress is left, and it ignores restarts; plan with the 90 % figure"]
    if run.network_exponent:
        notes.append("bandwidth that grows with the network is our own derivation; no measurement confirms it")
    if chosen.caveat:
        notes.append(f"{chosen.name}: {chosen.caveat}")
    return notes


def _exponent(inputs: PlanInputs, text: str | None) -> float:
    given = "0" if text is None else text
    try:
        value = float(Fraction(given))
    except (ValueError, ArithmeticError):
        value = -1.0
    if not 0 <= value <= 1:
        raise BadNumber(f"--network-exponent: expected 0 (storage) to 1 (full bisection), such as 2/3, found {given!r}")
    source = "given" if text is not None else "default: storage of a fixed size"
    inputs.note("network-exponent", value, "exponent", given, source)
    return value


def _size(run: ScaledRun, goodput: float) -> float | None:
    try:
        return largest(run, goodput)
    except NoProgress:
        return None


def _or_never(gpus: float | None) -> str:
    if gpus is None:
        return "not even one GPU"
    return f"{count(gpus)} GPUs" if isfinite(gpus) else "any size"


def _chart(run: ScaledRun, most: float | None) -> PlanChart:
    middle = most if most is not None and isfinite(most) else run.reference_gpus
    points = tuple((n, run.goodput(n)) for n in spaced(max(1.0, middle / 100), middle * 100))
    mark = (middle, run.goodput(middle))
    return PlanChart(
        "Productive share by size of the run", "GPUs", "share", (ChartLine("best interval", points),), True, mark
    )
