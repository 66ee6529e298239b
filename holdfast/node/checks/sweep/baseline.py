"""sweep.baseline: every size is as fast as this cluster was before."""

from holdfast.model.health import FailureClass, Health
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.sweep.facts import RATE, by_size, human, not_judged

PAST, SPREAD, RUNS = "sweep_past_busbw_bytes_per_second", "sweep_past_spread_ratio", "sweep_past_runs"


def slow_sizes(window: Window, limits: Limits) -> dict[int, float]:
    """Size -> relative drop against past sweeps, if it exceeds the usual variation."""
    rates, past, spread = by_size(window, RATE), by_size(window, PAST), by_size(window, SPREAD)
    runs = by_size(window, RUNS)
    known = [size for size in rates if runs.get(size, 0.0) >= limits["least_runs"] and past.get(size)]
    falls = {size: 1.0 - rates[size] / past[size] for size in known}
    allowed = {size: min(0.9, max(limits["fall_ratio"], limits["spreads"] * spread.get(size, 0.0))) for size in known}
    return {size: fall for size, fall in falls.items() if fall > allowed[size]}


def judge(window: Window, limits: Limits) -> Verdict:
    most = max(by_size(window, RUNS).values(), default=0.0)
    if most < limits["least_runs"]:
        why = f"{most:.0f} healthy runs of this kind are known, {limits['least_runs']:.0f} are needed to compare with"
        return Verdict(rows=(not_judged(window, why),))
    slow = slow_sizes(window, limits)
    if not slow:
        return Verdict(rows=(Row(window.node, Health.PASS, 0.0),))
    worst = max(slow, key=lambda size: slow[size])
    where = human(worst) if len(slow) == 1 else f"{human(min(slow))} to {human(max(slow))}, most at {human(worst)}"
    text = f"slower than its own past at {where}: {100 * slow[worst]:.0f} % below the mean of {most:.0f} runs"
    return Verdict(rows=(Row(window.node, Health.DEGRADED, slow[worst], limits["fall_ratio"], text),))


CHECK = Check(
    name="sweep.baseline",
    asks="Is every payload size as fast as this cluster was before?",
    about="node",
    part="sweep",
    scope="group",
    reads=(),
    judge=judge,
    failure_class=FailureClass.SLOWDOWN,
    remedy="check the pairs and the code paths of this probe; then what changed: NCCL, driver, firmware, routes",
    owner="network",
    limits={"least_runs": 5.0, "fall_ratio": 0.1, "spreads": 3.0},
)
