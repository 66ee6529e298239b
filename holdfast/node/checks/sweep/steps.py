"""sweep.steps: no dip in the middle of the curve, where algorithms and protocols switch."""

from collections.abc import Mapping

from holdfast.model.health import FailureClass, Health
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.sweep.facts import RATE, VARIATION, by_size, human, not_judged


def valley(rates: Mapping[int, float], variations: Mapping[int, float], limits: Limits) -> list[int]:
    """Sizes that are slower than both a smaller and a larger size predict, by more than the variation of their runs.
    Needs no
    limit of the fabric."""
    sizes = sorted(rates)
    found = []
    for place, size in enumerate(sizes[1:-1], start=1):
        around = min(max(rates[s] for s in sizes[:place]), max(rates[s] for s in sizes[place + 1 :]))
        inside = limits["from_bytes"] <= size <= limits["to_bytes"]
        at_best = rates[size] * (1.0 + limits["spreads"] * variations.get(size, 0.0))
        if inside and at_best < limits["step_ratio"] * around:
            found.append(size)
    return found


def judge(window: Window, limits: Limits) -> Verdict:
    rates = by_size(window, RATE)
    band = [size for size in rates if limits["from_bytes"] <= size <= limits["to_bytes"]]
    if len(band) < limits["least_sizes"]:
        ends = f"{human(int(limits['from_bytes']))} and {human(int(limits['to_bytes']))}"
        why = f"the sweep has {len(band)} sizes between {ends}"
        return Verdict(rows=(not_judged(window, why),))
    slow = valley(rates, by_size(window, VARIATION), limits)
    if not slow:
        return Verdict(rows=(Row(window.node, Health.PASS, 0.0),))
    where = human(slow[0]) if len(slow) == 1 else f"between {human(slow[0])} and {human(slow[-1])}"
    text = f"slow only {'at ' if len(slow) == 1 else ''}{where}: the code path that is chosen there"
    return Verdict(rows=(Row(window.node, Health.DEGRADED, float(len(slow)), 0.0, text),))


CHECK = Check(
    name="sweep.steps",
    asks="Is a range of middle sizes slower than smaller and larger ones?",
    about="node",
    part="sweep",
    scope="group",
    reads=(),
    judge=judge,
    failure_class=FailureClass.SLOWDOWN,
    remedy="run the band again with NCCL_ALGO and NCCL_PROTO pinned; pin the fast one, or fix what the slow path needs",
    owner="network",
    limits={"step_ratio": 0.5, "spreads": 3.0, "from_bytes": 65536.0, "to_bytes": 67108864.0, "least_sizes": 3.0},
)
