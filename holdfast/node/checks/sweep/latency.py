"""sweep.latency: small messages arrive in time."""

from holdfast.model.health import FailureClass, Health
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.sweep.facts import LATE, NO_LIMITS, by_size, fabric, human, not_judged, not_meant


def judge(window: Window, limits: Limits) -> Verdict:
    known = fabric(window)
    if known is None:
        return Verdict(rows=(not_judged(window, NO_LIMITS),))
    if why := not_meant(window, known):
        return Verdict(rows=(not_judged(window, why),))
    seen = by_size(window, LATE)
    if known.small_bytes not in seen:
        return Verdict(rows=(not_judged(window, f"the sweep has no payload of {human(known.small_bytes)}"),))
    late, limit = seen[known.small_bytes], known.small_p95_seconds * limits["times_limit"]
    text = (
        f"p95 of {late * 1e6:.0f} us at {human(known.small_bytes)}, expected {known.small_expected_seconds * 1e6:.0f}"
    )
    return Verdict(rows=(Row(window.node, Health.PASS if late <= limit else Health.FAIL, late, limit, text),))


CHECK = Check(
    name="sweep.latency",
    asks="Do small messages of a collective arrive within the fabric's limit?",
    about="node",
    part="sweep",
    scope="group",
    reads=(),
    judge=judge,
    failure_class=FailureClass.SLOWDOWN,
    remedy="look for a host with a busy CPU, power saving or a wrong NUMA placement among the pairs of this probe",
    owner="network",
    limits={"times_limit": 1.0},
)
