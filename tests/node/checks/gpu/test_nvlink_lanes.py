"""nvlink.lanes: any lane of the model down fails; parts that were never fitted are not asked for."""

from dataclasses import replace

import pytest

from holdfast.model import manifest
from holdfast.model.health import FailureClass, Health
from holdfast.model.signal import Signal
from holdfast.node.checks.gpu.nvlink_lanes import CHECK
from tests.node.checks.gpu.gpu_tray import A100, H100, L40S, Tray

LANES = "gpu_nvlink_active_lanes"


def test_all_lanes_up_pass() -> None:
    assert Tray().read(0.0, gpu_nvlink_active_lanes=18.0).ask(CHECK).health is Health.PASS
    assert Tray(model=A100).read(0.0, gpu_nvlink_active_lanes=12.0).ask(CHECK).health is Health.PASS


def test_one_lane_down_fails_that_gpu_and_names_the_lane() -> None:
    tray = Tray().read(
        0.0,
        gpu_nvlink_active_lanes={0: 18.0, 1: 18.0, 2: 17.0, 3: 18.0},
        gpu_nvlink_down_links={0: "", 1: "", 2: "5", 3: ""},
    )
    assert tray.healths(CHECK) == [Health.PASS, Health.PASS, Health.FAIL, Health.PASS]
    assert tray.row(CHECK, 2).reason == "17 of 18 NVLink lanes are up; down: 5"
    assert tray.ask(CHECK).failure_class is FailureClass.SLOWDOWN


def test_no_lane_at_all_on_an_sxm_gpu_fails() -> None:
    assert Tray().read(0.0, gpu_nvlink_active_lanes=0.0).ask(CHECK).health is Health.FAIL


def test_a_model_without_nvlink_is_not_asked() -> None:
    tray = Tray(model=L40S).read(0.0).missing(0, LANES)
    assert (tray.row(CHECK).health, tray.row(CHECK).reason) == (
        Health.NOT_APPLICABLE,
        "catalog: the L40S has no NVLink",
    )


def test_an_optional_bridge_that_is_not_fitted_is_not_asked() -> None:
    tray = Tray(model="NVIDIA H100 PCIe").read(0.0, gpu_nvlink_active_lanes=0.0)
    assert set(tray.healths(CHECK)) == {Health.NOT_APPLICABLE}


def test_a_bridge_with_fewer_lanes_than_its_siblings_fails() -> None:
    tray = Tray(model="NVIDIA H100 PCIe").read(0.0, gpu_nvlink_active_lanes={0: 12.0, 1: 12.0, 2: 8.0, 3: 12.0})
    assert tray.healths(CHECK) == [Health.PASS, Health.PASS, Health.FAIL, Health.PASS]


def test_the_manifest_knows_better_than_the_catalog() -> None:
    tray = Tray(model="NVIDIA H100 PCIe").read(0.0, gpu_nvlink_active_lanes=0.0)
    tray.history.inventory = replace(tray.history.inventory, expect={tray.gpus[0]: {LANES: 12.0}})
    assert tray.row(CHECK, 0).health is Health.FAIL


def test_lanes_that_mig_switches_off_are_not_asked_for() -> None:
    split = {0: 1.0, 1: 0.0, 2: 0.0, 3: 0.0}
    tray = Tray(model=A100).read(0.0, gpu_nvlink_active_lanes={0: 0.0, 1: 0.0, 2: 12.0, 3: 12.0}, gpu_mig_mode=split)
    assert tray.healths(CHECK) == [Health.NOT_APPLICABLE, Health.FAIL, Health.PASS, Health.PASS]
    assert "while it is split by MIG" in tray.row(CHECK, 0).reason
    assert Tray().read(0.0, gpu_nvlink_active_lanes=0.0, gpu_mig_mode=1.0).row(CHECK).health is Health.FAIL


def test_lanes_that_the_driver_does_not_report_of_a_split_gpu_are_not_asked_for() -> None:
    tray = Tray().read(0.0, gpu_mig_mode={0: 1.0, 1: 0.0, 2: 1.0})
    for gpu in (0, 1):
        tray.missing(gpu, LANES, reason="not supported by this GPU/driver while MIG is enabled")
    tray.missing(2, LANES, reason="the GPU is lost")
    assert tray.healths(CHECK)[:3] == [Health.NOT_APPLICABLE, Health.UNKNOWN, Health.UNKNOWN]


def test_a_manifest_that_expects_no_lane_is_believed_also_of_an_sxm_gpu() -> None:
    tray = Tray(gpus=1).read(0.0, gpu_nvlink_active_lanes=0.0)
    learned = manifest.learn([Signal(tray.gpus[0], LANES, 0.0)], "n1")
    tray.history.inventory = replace(tray.history.inventory, expect=manifest.expectations(learned, "n1"))
    assert (tray.row(CHECK).health, "manifest" in tray.row(CHECK).reason) == (Health.NOT_APPLICABLE, True)


def test_an_unknown_model_without_manifest_is_unknown() -> None:
    row = Tray(model="NVIDIA Mystery").read(0.0, gpu_nvlink_active_lanes=4.0).row(CHECK)
    assert (row.health, "neither catalog nor manifest" in row.reason) == (Health.UNKNOWN, True)


def test_an_h100_that_does_not_report_is_unknown() -> None:
    tray = Tray().read(0.0).missing(0, LANES, reason="the GPU is lost")
    assert (tray.row(CHECK).health, tray.row(CHECK).reason) == (Health.UNKNOWN, "the GPU is lost")


def test_a_lane_down_without_a_name_is_reported_by_its_number() -> None:
    row = Tray().read(0.0, gpu_nvlink_active_lanes=17.0).row(CHECK)
    assert (row.reason, row.value, row.limit) == ("17 of 18 NVLink lanes are up", 17.0, 18.0)


def test_siblings_of_another_model_set_no_measure_for_a_bridge() -> None:
    models = {0: "NVIDIA H100 PCIe", 1: "NVIDIA H100 PCIe", 2: H100, 3: H100}
    tray = Tray().read(0.0, gpu_model=models, gpu_nvlink_active_lanes={0: 12.0, 1: 12.0, 2: 18.0, 3: 18.0})
    assert set(tray.healths(CHECK)) == {Health.PASS}


def test_a_bridge_that_the_driver_does_not_report_of_is_not_fitted() -> None:
    tray = Tray(model="NVIDIA H100 PCIe").read(0.0).missing(0, LANES).missing(1, LANES, reason="the GPU is lost")
    assert tray.healths(CHECK)[:2] == [Health.NOT_APPLICABLE, Health.UNKNOWN]
    assert "bridge of the" in tray.row(CHECK, 0).reason
    lost = Tray(model="NVIDIA H100 PCIe").read(0.0, gpu_lost=1.0).missing(0, LANES)
    assert lost.row(CHECK).health is Health.UNKNOWN


def test_a_split_gpu_with_its_lanes_up_is_judged_as_any_other() -> None:
    tray = Tray(model=A100).read(0.0, gpu_nvlink_active_lanes={0: 12.0, 1: 11.0}, gpu_mig_mode=1.0)
    assert tray.healths(CHECK)[:2] == [Health.PASS, Health.FAIL]


def test_a_manifest_that_expects_no_lane_of_a_bridge_is_named_and_not_the_catalog() -> None:
    tray = Tray(model="NVIDIA H100 PCIe").read(0.0, gpu_nvlink_active_lanes=0.0)
    tray.history.inventory = replace(tray.history.inventory, expect={tray.gpus[0]: {LANES: 0.0}})
    assert "manifest expects no NVLink lane" in tray.row(CHECK, 0).reason
    assert "catalog" in tray.row(CHECK, 1).reason


def test_a_lane_of_a_rack_goes_through_its_switch_trays() -> None:
    assert "switch trays" in Tray(model="NVIDIA GB200").read(0.0, gpu_nvlink_active_lanes=17.0).ask(CHECK).remedy
    assert "baseboard" in Tray().read(0.0, gpu_nvlink_active_lanes=17.0).ask(CHECK).remedy


@pytest.mark.parametrize(
    ("model", "health"),
    [("AMD Instinct MI300X", Health.NOT_APPLICABLE), ("NVIDIA X1", Health.UNKNOWN), ("NVIDIA B200", Health.UNKNOWN)],
)
def test_only_an_amd_driver_may_be_too_old_to_report_links(model: str, health: Health) -> None:
    tray = Tray(model=model).read(0.0).missing(0, "gpu_nvlink_active_lanes")
    assert tray.row(CHECK).health is health


def test_a_link_to_the_cpu_that_is_down_fails_whether_their_number_is_known_or_not() -> None:
    for known in ({}, {"gpu_c2c_links": 10.0}):
        row = Tray().read(0.0, gpu_c2c_down_links="3,4", **known).row(CHECK)
        assert (row.health, row.limit) == (Health.FAIL, known.get("gpu_c2c_links", 0.0))
