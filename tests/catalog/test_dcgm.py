"""The table of DCGM fields."""

from holdfast.catalog.dcgm import fields


def test_signals_are_named_once_and_apart_from_nvmls() -> None:
    names = [field.signal for field in fields().values()]
    assert len(names) == len(set(names)) > 20
    assert all(name.startswith("dcgm_") for name in names)


def test_units_are_turned_into_ours() -> None:
    assert fields()["DCGM_FI_DEV_SM_CLOCK"] == ("dcgm_clock_sm_hertz", 1e6)
    assert fields()["DCGM_FI_DEV_GPU_UTIL"].factor == 0.01
