"""gpu.fabric_state: joined, still joining, failed to join, joined and sick; and GPUs that have no such thing."""

from dataclasses import replace

import pytest

from holdfast.model.health import FailureClass, Health
from holdfast.model.signal import Reading, Signal
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


def test_an_h100_that_does_not_report_is_unknown() -> None:
    assert Tray().read(0.0).missing(0, "gpu_fabric_state").row(CHECK).health is Health.UNKNOWN


def test_a_manifest_may_say_that_there_is_no_fabric() -> None:
    tray = Tray().read(0.0).missing(0, "gpu_fabric_state")
    lacks = {"fabric_state": "manifest: single GPU"}
    tray.history.inventory = replace(tray.history.inventory, lacks=lacks)
    assert tray.row(CHECK).health is Health.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("configuration", "words"),
    [
        (2, "wrong system GUID"),
        (3, "wrong chassis serial number"),
        (4, "no partition"),
        (5, "too few NVLinks"),
        (6, "incompatible GPU firmware"),
        (7, "invalid location"),
        (8, "invalid GPU state"),
    ],
)
def test_every_wrong_configuration_is_named(configuration: int, words: str) -> None:
    row = Tray().read(0.0, **fabric(3, mask=configuration << 8 | 0xAA)).row(CHECK)
    assert (row.health, row.reason) == (Health.FAIL, f"the NVLink fabric is wrongly configured: {words}")


@pytest.mark.parametrize("configuration", [0, 1, 9])
def test_a_configuration_that_is_not_known_to_be_wrong_passes(configuration: int) -> None:
    assert Tray().read(0.0, **fabric(3, mask=configuration << 8 | 0xAA)).row(CHECK).health is Health.PASS
    assert Tray().read(0.0, **fabric(3, mask=1 << 12 | 0x1AA)).row(CHECK).health is Health.PASS  # bits above it


@pytest.mark.parametrize(
    ("mask", "failure_class"),
    [
        (0x1A9, FailureClass.SLOWDOWN),
        (0x1A6, FailureClass.SLOWDOWN),
        (0x19A, FailureClass.CRASH),
        (0x16A, FailureClass.CRASH),
    ],
)
def test_a_slow_fabric_is_reported_from_a_broken_one(mask: int, failure_class: FailureClass) -> None:
    assert Tray().read(0.0, **fabric(3, mask=mask)).ask(CHECK).failure_class is failure_class


def test_all_four_bits_at_once_are_reported_by_the_gravest() -> None:
    assert Tray().read(0.0, **fabric(3, mask=0x155)).row(CHECK).reason == "NVLink bandwidth is degraded"
    assert Tray().read(0.0, **fabric(3, mask=0x1FF)).row(CHECK).health is Health.PASS  # both bits: not a yes


@pytest.mark.parametrize(("since", "health"), [(299.0, Health.DEGRADED), (300.0, Health.FAIL)])
def test_joining_may_take_five_minutes(since: float, health: Health) -> None:
    tray = Tray().read(0.0, **fabric(2)).read(since, **fabric(2))
    assert tray.row(CHECK).health is health
    assert tray.row(CHECK).reason == "joining the NVLink fabric is still in progress"


def test_only_joining_is_waited_for() -> None:
    row = Tray().read(0.0, **fabric(1)).row(CHECK)
    assert (row.health, row.reason, row.limit) == (Health.FAIL, "joining the NVLink fabric has not started", 3.0)


def test_an_error_while_joining_is_reported_with_its_number() -> None:
    row = Tray().read(0.0, **fabric(3, status=15)).row(CHECK)
    assert (row.value, row.reason) == (15.0, "joining the NVLink fabric ended with error 15")


def test_a_gpu_that_reports_its_state_alone_passes() -> None:
    row = Tray().read(0.0, gpu_fabric_state=3.0).row(CHECK)
    assert (row.health, row.value) == (Health.PASS, 3.0)


def test_a_gb200_without_a_fabric_fails_and_a_vgpu_is_not_asked() -> None:
    rack = Tray(model="NVIDIA GB200").read(0.0, **fabric(0))
    assert (rack.row(CHECK).health, "no NVLink fabric" in rack.row(CHECK).reason) == (Health.FAIL, True)
    refused = Tray(model="NVIDIA GB200").read(0.0).missing(0, "gpu_fabric_state")
    assert refused.row(CHECK).health is Health.FAIL
    silent = Tray(model="NVIDIA GB200").read(0.0).missing(0, "gpu_fabric_state", reason="permission denied")
    assert silent.row(CHECK).health is Health.UNKNOWN
    for name in ("NVIDIA H100XM-80C", "GRID A100-1-5C", "NVIDIA L40S-48Q"):
        virtual = Tray(model=name).read(0.0).missing(0, "gpu_fabric_state")
        assert virtual.row(CHECK).health is Health.NOT_APPLICABLE, name
    assert Tray(model="NVIDIA H100XM-80C").read(0.0, **fabric(0)).row(CHECK).health is Health.NOT_APPLICABLE


def test_an_h100_passed_to_a_virtual_machine_without_switches_is_not_asked() -> None:
    tray = Tray().read(0.0, **fabric(0))
    assert tray.row(CHECK).health is Health.NOT_APPLICABLE
    switches = Signal("node/n1", "nvswitch_devices", 4.0)
    tray.history.add(Reading(source="fabric_manager", at=0.0, signals=[switches]))
    assert tray.row(CHECK).health is Health.FAIL


CLUSTER = "0b3e" * 8


def test_a_gpu_in_another_clique_than_its_tray_fails_alone() -> None:
    tray = Tray(model="NVIDIA GB200").read(
        0.0, **fabric(3), gpu_fabric_cluster=CLUSTER, gpu_fabric_clique={0: 1.0, 1: 1.0, 2: 7.0, 3: 1.0}
    )
    assert tray.healths(CHECK) == [Health.PASS, Health.PASS, Health.FAIL, Health.PASS]
    assert "clique 7" in tray.row(CHECK, 2).reason
    assert any("clique 1" in line for line in tray.ask(CHECK).evidence)


def test_a_gb200_in_no_cluster_fails_and_an_h100_may_be_in_none() -> None:
    alone = {"gpu_fabric_cluster": "0" * 32, "gpu_fabric_clique": 0.0}
    assert Tray(model="NVIDIA GB200").read(0.0, **fabric(3), **alone).row(CHECK).health is Health.FAIL
    assert Tray().read(0.0, **fabric(3), **alone).row(CHECK).health is Health.PASS


def test_a_rack_has_no_fabric_manager_on_its_nodes() -> None:
    rack = Tray(model="NVIDIA GB200").read(0.0, **fabric(1)).ask(CHECK)
    assert "switch trays" in rack.remedy and "fabricmanager" not in rack.remedy
    assert "fabricmanager" in Tray().read(0.0, **fabric(1)).ask(CHECK).remedy
