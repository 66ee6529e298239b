"""dcgm.diag: the vendor's own diagnostic. A skipped test is not a pass."""

from holdfast.model.health import FailureClass, Health
from holdfast.model.lifecycle import Verb
from holdfast.model.subject import Subject
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits

_PASSED, _FAILED = "dcgm_diag_tests_passed", "dcgm_diag_tests_failed"
_CONFIGURATION = "change the setting that DCGM names, then run the diagnostic again"


def judge(window: Window, limits: Limits) -> Verdict:
    tested = window.values(_PASSED)
    if not tested:
        return Verdict(rows=())
    rows = [_judge_subject(window, subject, limits) for subject in tested]
    rows += _untested(window, set(tested))
    bad = [row.subject for row in rows if row.health in (Health.FAIL, Health.DEGRADED)]
    only_settings = bool(bad) and all(window.number(subject, "dcgm_diag_only_configuration") for subject in bad)
    level = window.number(window.node, "dcgm_diag_level") or 0.0
    return Verdict(
        rows=tuple(rows),
        evidence=(f"dcgmi diag -r {level:.0f}: {sum(tested.values()):.0f} tests passed",),
        remedy=_CONFIGURATION if only_settings else "",
        owner="platform" if only_settings else "",
    )


def _judge_subject(window: Window, subject: Subject, limits: Limits) -> Row:
    passed, failed = window.number(subject, _PASSED) or 0.0, window.number(subject, _FAILED) or 0.0
    warned = window.number(subject, "dcgm_diag_tests_warned") or 0.0
    skipped = window.number(subject, "dcgm_diag_tests_skipped") or 0.0
    complaint = str(window.value(subject, "dcgm_diag_complaint") or "without a reason")
    if failed:
        return Row(subject, Health.FAIL, failed, 0.0, f"DCGM fails {failed:.0f} tests: {complaint}")
    if skipped > limits["max_skipped_tests"]:
        names = window.value(subject, "dcgm_diag_skipped_names")
        return Row(subject, Health.UNKNOWN, skipped, limits["max_skipped_tests"], f"DCGM did not test: {names}")
    if warned:
        return Row(subject, Health.DEGRADED, warned, 0.0, f"DCGM warns: {complaint}")
    return Row(subject, Health.PASS, passed)


def _untested(window: Window, tested: set[Subject]) -> list[Row]:
    """GPUs without a result. DCGM 2 and 3 may report all GPUs at once; the node's result then counts for each."""
    gpus = [gpu for gpu in window.inventory.expected("gpu") if gpu not in tested]
    if tested == {window.node}:
        return [Row(gpu, Health.PASS, window.number(window.node, _PASSED)) for gpu in gpus]
    return [Row(gpu, Health.UNKNOWN, reason="the diagnostic has no result for this GPU") for gpu in gpus]


CHECK = Check(
    name="dcgm.diag",
    asks="Does the vendor's diagnostic pass on every GPU?",
    about="gpu",
    part="dcgm",
    reads=("dcgm_diag_level",),
    judge=judge,
    failure_class=FailureClass.CRASH,
    remedy="follow the text that DCGM gives for the failed test; reset the GPU and run it again before an RMA",
    owner="hardware",
    repair=Verb.RESET_GPU,
    limits={"max_skipped_tests": 0.0},
)
