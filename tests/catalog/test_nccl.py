"""Transport timeouts by version and setting."""

import math

import pytest

from holdfast.catalog import nccl


@pytest.mark.parametrize(
    ("version", "seconds"),
    [
        ("2.10.3", 0.47),
        ("2.14.3", 7.5),
        ("2.21.5", 7.5),
        ("2.22.3", 7.5),
        ("2.23.4", 30.1),
        ("2.30.1", 30.1),
        ("1.3", 0.47),
    ],
)
def test_default_of_a_version(version: str, seconds: float) -> None:
    found = nccl.transport_timeout(version)
    assert found.seconds == pytest.approx(seconds, rel=0.01)
    assert (found.because, found.assumed) == (f"default of NCCL {version}", False)


def test_the_jobs_own_setting_wins() -> None:
    found = nccl.transport_timeout("2.21.5", timeout=22, retries=7)
    assert found.seconds == pytest.approx(120.3, rel=0.01)
    assert found.because == "NCCL_IB_TIMEOUT=22"


def test_zero_waits_for_ever() -> None:
    assert math.isinf(nccl.transport_timeout("2.21.5", timeout=0).seconds)


def test_a_setting_out_of_range_is_not_believed() -> None:
    assert nccl.transport_timeout("2.21.5", timeout=99, retries=200).seconds == pytest.approx(7.5, rel=0.01)


def test_nothing_known_is_reported_to_be_assumed() -> None:
    found = nccl.transport_timeout()
    assert found.assumed
    assert found.seconds == pytest.approx(7.516, abs=0.001)


def test_fail_over_comes_with_a_version() -> None:
    assert nccl.can_fail_over("2.30.3") and not nccl.can_fail_over("2.28.7") and not nccl.can_fail_over("")
