"""probe.fingerprint: fixed inputs give the same bits as on other devices of the kind. Finds silent corruption."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from holdfast.model.health import FailureClass, Health
from holdfast.model.lifecycle import Verb
from holdfast.model.subject import Subject
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.gpu.facts import GpuFinding, conclude
from holdfast.node.checks.probe.facts import CORRUPT, SPAN, with_signal, wrong

DIGEST, KEY = "probe_fingerprint", "probe_fingerprint_key"
UNSTABLE, GOLDEN = "probe_fingerprint_unstable", "probe_fingerprint_golden"
REPEATS = "probe_fingerprint_repeats"


def judge(window: Window, limits: Limits) -> Verdict:
    devices = with_signal(window, REPEATS)
    majority = _majorities(window, devices, limits)
    return conclude(_judge_one(window, device, majority) for device in devices)


def _majorities(window: Window, devices: Sequence[Subject], limits: Limits) -> dict[str, str]:
    """Kind of device and library -> the digest that more than half of enough of them have."""
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for device in devices:
        seen[str(window.value(device, KEY))][str(window.value(device, DIGEST))] += 1
    found = {}
    for key, counts in seen.items():
        digest, count = counts.most_common(1)[0]
        if counts.total() >= limits["least_peers"] and 2 * count > counts.total():
            found[key] = digest
    return found


def _judge_one(window: Window, device: Subject, majority: dict[str, str]) -> GpuFinding:
    repeats = window.number(device, REPEATS) or 0.0
    if bad := window.number(device, UNSTABLE):
        text = f"the same numbers gave other bits in {bad:.0f} of {repeats:.0f} repeats"
        return wrong(device, bad, text)
    key, own = str(window.value(device, KEY)), str(window.value(device, DIGEST))
    golden = window.value(device, GOLDEN) or majority.get(key)
    if golden is None:
        return GpuFinding(
            Row(device, Health.PASS, own, reason=f"{repeats:.0f} repeats agree; no other device to compare with yet")
        )
    if own != golden:
        text = f"its bits differ from those of the majority ({own[:12]}, others {str(golden)[:12]})"
        return GpuFinding(Row(device, Health.FAIL, own, golden, text), CORRUPT, FailureClass.CORRUPTION)
    return GpuFinding(Row(device, Health.PASS, own, golden))


CHECK = Check(
    name="probe.fingerprint",
    asks="Do fixed computations give the same bits as on other devices of this kind, every time?",
    about="gpu",
    part="probes",
    reads=(DIGEST, KEY, UNSTABLE),
    judge=judge,
    failure_class=FailureClass.CORRUPTION,
    remedy=CORRUPT,
    owner="hardware",
    repair=Verb.RESET_GPU,
    span=SPAN,
    limits={"least_peers": 3.0},
)
