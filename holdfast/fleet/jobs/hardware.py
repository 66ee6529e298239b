"""Hardware evidence for a slow rank: current verdicts and the last digest of its node."""

from collections.abc import Iterable, Mapping
from math import isfinite
from statistics import median

from holdfast.model.health import Health
from holdfast.model.subject import gpu as gpu_subject
from holdfast.model.wire.report import VerdictChange
from holdfast.node.checks.gpu.facts import events_named

THROTTLED = {0x08: "hardware slowdown", 0x20: "thermal throttle", 0x40: "thermal throttle", 0x80: "power brake"}
POWER_CAP = 0x04
REASONS = "gpu_clock_event_reasons"
CLOCK = "gpu_clock_sm_hertz"
SLOW_CLOCK = 0.95  # share of the median of its peers
GIGA = 1e9
AGAINST = (Health.FAIL.value, Health.DEGRADED.value)
OF_THE_HOST = (
    "host.cpu_governor",
    "host.edac",
    "host.lockup",
    "host.memory",
    "host.processes",
    "pcie.",
    "nvlink.",
    "nvswitch.",
    "fabric.",
)  # reasons that make a rank slow; an idle clock does not
LONGEST = 120
Digest = Mapping[tuple[int, str], float]


def explanation(node: str, gpu: int | None, verdicts: Iterable[VerdictChange], digest: Digest) -> str:
    """The most specific explanation in a few words, '' without one. The GPU itself comes before its host."""
    if gpu is not None and (text := throttled(digest.get((gpu, REASONS)))):
        return text
    against = [change for change in verdicts if change.after in AGAINST]
    if gpu is not None:
        of_gpu = [change for change in against if gpu_subject(node, gpu) in change.subjects]
        against = of_gpu or [change for change in against if change.check.startswith(OF_THE_HOST)]
    return f"{against[0].reason} ({against[0].check})"[:LONGEST] if against else ""


def throttled(reasons: float | None) -> str:
    if reasons is None or not isfinite(reasons):
        return ""
    mask = int(reasons)
    return next((text for bit, text in THROTTLED.items() if mask & bit), "")


def slow_clock(node: str, gpu: int | None, digests: Mapping[str, Digest]) -> str:
    """A GPU whose clock is below those of the job's other GPUs explains its rank, whatever lowers it."""
    own = digests.get(node, {}).get((gpu, CLOCK)) if gpu is not None else None
    values = [value for digest in digests.values() for (_, name), value in digest.items() if name == CLOCK]
    clocks = [value for value in values if isfinite(value)]
    usual = median(clocks) if clocks else 0.0
    if own is None or not isfinite(own) or own >= SLOW_CLOCK * usual:
        return ""
    return f"its clock is {own / GIGA:.4g} GHz and that of its peers {usual / GIGA:.4g} GHz"


def shared(digests: Iterable[Digest]) -> str:
    """Values that most GPUs of a job have in common."""
    values = (value for digest in digests for (_, name), value in digest.items() if name == REASONS)
    masks = [int(value) for value in values if isfinite(value)]
    for bit in (*THROTTLED, POWER_CAP):
        share = sum(bool(mask & bit) for mask in masks)
        if masks and 2 * share > len(masks):
            return f"{events_named(bit)} on {share} of {len(masks)} GPUs"
    return ""
