"""gpu.responding: no answer at all fails at once; a call that keeps failing degrades after a minute."""

from holdfast.model.health import FailureClass, Health
from holdfast.node.checks.gpu.responding import CHECK
from tests.node.checks.gpu.gpu_tray import Tray

FINE = {"gpu_responding": 1.0, "gpu_trouble": ""}
UNKNOWN_ERROR = "the NVIDIA driver answered: Unknown Error"


def test_a_gpu_that_answers_passes() -> None:
    row = Tray().read(0.0, **FINE).row(CHECK)
    assert (row.health, row.value, row.limit) == (Health.PASS, 1.0, 1.0)


def test_a_gpu_that_answers_nothing_fails_at_once_and_alone() -> None:
    tray = Tray().read(0.0, gpu_responding={0: 1.0, 1: 0.0, 2: 1.0, 3: 1.0}, gpu_trouble=UNKNOWN_ERROR)
    assert tray.healths(CHECK) == [Health.PASS, Health.FAIL, Health.PASS, Health.PASS]
    row = tray.row(CHECK, 1)
    assert ("Unknown Error" in row.reason, row.value, row.limit) == (True, 0.0, 1.0)
    verdict = tray.ask(CHECK)
    assert (verdict.failure_class, "reboot it" in verdict.remedy) == (FailureClass.CRASH, True)


def test_some_calls_that_fail_for_a_minute_degrade() -> None:
    tray = Tray().every(10.0, 100.0, **FINE).every(10.0, 150.0, gpu_responding=1.0, gpu_trouble=UNKNOWN_ERROR)
    assert tray.row(CHECK).health is Health.PASS, "since 110 s, seen at 150 s"
    tray.every(10.0, 170.0, gpu_responding=1.0, gpu_trouble=UNKNOWN_ERROR)
    assert tray.row(CHECK).health is Health.DEGRADED
    tray.read(180.0, **FINE)
    assert tray.row(CHECK).health is Health.PASS


def test_a_lost_gpu_is_reported_by_gpu_lost() -> None:
    assert Tray().read(0.0, gpu_lost=1.0).row(CHECK).health is Health.NOT_APPLICABLE


def test_a_gpu_that_was_not_asked_is_unknown() -> None:
    assert Tray().read(0.0).row(CHECK).health is Health.UNKNOWN
