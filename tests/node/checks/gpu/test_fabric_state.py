"""gpu.fabric_state: joined, still joining, failed to join, joined and sick; and GPUs that have no such thing."""

from dataclasses import replace

import pytest

from holdfast.model.health import FailureClass, Health
from holdfast.node.checks.gpu.fabric_state import CHECK
from tests.node.checks.gpu.gpu_tray import A100, L40S, Tray

HEALTHY = 0x1AA  # two bits each: bandwidth, recovery, route, timeout read "no trouble"; configuration correct


def fabric(state: float, status: float = 0.0, mask: float = HEALTHY) -> dict[str, float]:
    return {"gpu_fabric_state": state, "gpu_fabric_status": status, "gpu_fabric_health_mask": mask}


def test_a_gpu_in_a_healthy_fabric_passes() -> None:
    assert Tray().read(0.0, **fabric(3)).ask(CHECK).health is Health.PASS
    assert Tray().read(0.0, **fabric(3, mask=0)).ask(CHECK).health is Health.PASS


@pytest.mark.parametrize(("state", "status"), [(1, 0), (3, 999), (7, 0)])
def test_a_gpu_that_did_not_join_fails(state: float, status: float) -> None:
    verdict = Tray().read(0.0, **fabric(state, status)).ask(CHECK)
    assert (verdict.health, verdict.failure_class) == (Health.FAIL, FailureClass.CRASH)


def test_joining_may_take_a_while_and_not_for_ever() -> None:
    tray = Tray().every(60.0, 600.0, **fabric(3)).read(610.0, **fabric(2))
    assert tray.row(CHECK).health is Health.DEGRADED
    assert tray.every(60.0, 1000.0, **fabric(2)).row(CHECK).health is Health.FAIL


@pytest.mark.parametrize(
    ("mask", "health", "words"),
    [
        (0x1A9, Health.FAIL, "bandwidth is degraded"),
        (0x1A6, Health.DEGRADED, "route is being recovered"),
        (0x19A, Health.FAIL, "route is unhealthy"),
        (0x16A, Health.DEGRADED, "access timeout"),
        (0x5AA, Health.FAIL, "too few NVLinks"),
        (0x196, Health.FAIL, "route is unhealthy"),
    ],
)
def test_the_health_mask_is_spelled_out(mask: int, health: Health, words: str) -> None:
    row = Tray().read(0.0, **fabric(3, mask=mask)).row(CHECK)
    assert (row.health, words in row.reason) == (health, True)


@pytest.mark.parametrize("model", [A100, L40S])
def test_a_model_without_fabric_state_is_not_asked(model: str) -> None:
    tray = Tray(model=model).read(0.0).missing(0, "gpu_fabric_state")
    row = tray.row(CHECK)
    assert (row.health, row.reason.startswith("catalog:")) == (Health.NOT_APPLICABLE, True)


def test_an_h100_that_does_not_tell_is_unknown() -> None:
    assert Tray().read(0.0).missing(0, "gpu_fabric_state").row(CHECK).health is Health.UNKNOWN


def test_a_manifest_may_say_that_there_is_no_fabric() -> None:
    tray = Tray().read(0.0).missing(0, "gpu_fabric_state")
    lacks = {"fabric_state": "manifest: single GPU"}
    tray.history.inventory = replace(tray.history.inventory, lacks=lacks)
    assert tray.row(CHECK).health is Health.NOT_APPLICABLE
