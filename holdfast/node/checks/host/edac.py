"""host.edac: errors that the memory controllers counted in main memory."""

from holdfast.model.health import FailureClass, Health
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window, increase
from holdfast.node.checks.check import Check, Limits


def judge(window: Window, limits: Limits) -> Verdict:
    node = window.node
    uncorrectable = window.number(node, "host_edac_uncorrectable_total")
    correctable = window.number(node, "host_edac_correctable_total")
    if uncorrectable is None or correctable is None:
        return Verdict(rows=())
    grown = increase(window.runs(node, "host_edac_correctable_total"))
    evidence = (f"{correctable:.0f} corrected and {uncorrectable:.0f} uncorrectable errors since boot",)
    if uncorrectable > 0:
        reason = f"{uncorrectable:.0f} memory errors since boot that ECC could not correct"
        return Verdict(rows=(Row(node, Health.FAIL, uncorrectable, 0.0, reason),), evidence=evidence)
    limit = limits["max_corrected_per_hour"]
    if grown > limit:
        reason = f"ECC corrected {grown:.0f} memory errors within an hour, more than {limit:.0f}: a DIMM is wearing out"
        row = Row(node, Health.DEGRADED, grown, limit, reason)
        remedy = "plan to replace the DIMM that the kernel log names (EDAC, mcelog)"
        return Verdict(rows=(row,), evidence=evidence, remedy=remedy, failure_class=FailureClass.SLOWDOWN)
    return Verdict(rows=(Row(node, Health.PASS, grown, limit),), evidence=evidence)


CHECK = Check(
    name="host.edac",
    asks="Does main memory produce errors?",
    about="node",
    part="edac",
    reads=("host_edac_uncorrectable_total", "host_edac_correctable_total"),
    judge=judge,
    failure_class=FailureClass.CORRUPTION,
    remedy="drain the node and replace the DIMM that the kernel log names (EDAC, mcelog)",
    owner="hardware",
    span=3600.0,
    limits={"max_corrected_per_hour": 1000.0},
)
