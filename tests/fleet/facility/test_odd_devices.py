"""Devices that answer what no device should: huge integers, too few values, values nobody asked for."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.fleet.facility import promql, redfish_thermal
from holdfast.fleet.facility.bacnet import _number as bacnet_number
from holdfast.fleet.facility.building import number
from holdfast.fleet.facility.json_api import CannotRead
from holdfast.fleet.facility.redfish_thermal import RedfishThermalSettings, RedfishThermalSource
from holdfast.fleet.facility.snmp import SnmpOid, SnmpSettings, SnmpSource

HUGE = 10**400
numbers = st.integers() | st.floats() | st.just(HUGE) | st.just(-HUGE) | st.text(max_size=4) | st.none() | st.booleans()
json_values = st.recursive(
    numbers, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
)


class Value:
    """As pysnmp gives one."""

    def __init__(self, text: str) -> None:
        self.text = text

    def prettyPrint(self) -> str:
        return self.text


def answering(rows: dict[str, Any], *oids: SnmpOid) -> SnmpSource:
    source = SnmpSource(SnmpSettings(subject="room/hall1", address="10.0.0.1:161", oid=oids))

    async def ask(_: Any) -> tuple[dict[str, Any], str]:
        return rows, ""

    source._ask = ask  # type: ignore[method-assign]
    return source


def test_an_snmp_answer_without_a_value_leaves_the_others_where_they_belong() -> None:
    pytest.importorskip("pysnmp")
    first = SnmpOid(oid="1.3.1", signal="ambient_celsius", subject="room/one")
    second = SnmpOid(oid=".1.3.2", signal="ambient_celsius", subject="room/two")
    change = SnmpOid(oid="1.3.3", event="route_change")
    reading = answering({"1.3.2": Value("21")}, first, second, change).read(1.0)
    assert [(one.subject, one.value) for one in reading.signals] == [("room/two", 21.0)]
    assert "leaves it out" in reading.absent["room/one", "ambient_celsius"]


@pytest.mark.parametrize("text", [str(HUGE), "-" + str(HUGE), "nan", "inf", "1e999", ""])
def test_an_snmp_value_that_no_sensor_can_mean_is_absent(text: str) -> None:
    pytest.importorskip("pysnmp")
    reading = answering({"1.3.1": Value(text)}, SnmpOid(oid="1.3.1", signal="ambient_celsius")).read(1.0)
    assert not reading.signals
    assert reading.absent


@given(st.dictionaries(st.sampled_from(["Temperatures", "Fans", "PowerControl", "PowerSupplies", "Members"]),
                       st.lists(st.dictionaries(st.sampled_from(["Name", "ReadingCelsius", "Reading", "ReadingUnits",
                       "MaxReadingRange", "PowerConsumedWatts", "LastPowerOutputWatts", "MemberId", "Status",
                       "DetectorState"]), json_values, max_size=5), max_size=4) | json_values))  # fmt: skip
def test_a_bmc_may_answer_anything(found: dict[str, Any]) -> None:
    source = RedfishThermalSource(RedfishThermalSettings(subject="node/n1", url="http://b/redfish/v1/Chassis/1"))
    source._get = lambda part: found  # type: ignore[method-assign]
    for signal in source.read(1.0).signals:
        assert isinstance(signal.value, float)
        assert abs(signal.value) < float("inf")


@pytest.mark.parametrize("value", [HUGE, -HUGE])
def test_a_bmc_with_an_integer_of_401_digits_is_no_value(value: int) -> None:
    source = RedfishThermalSource(RedfishThermalSettings(subject="node/n1", url="http://b/redfish/v1/Chassis/1"))
    row = {"Name": "Inlet", "ReadingCelsius": value}
    source._get = lambda part: {"Temperatures": [row], "PowerControl": []}  # type: ignore[method-assign]
    reading = source.read(1.0)
    assert not reading.signals
    assert "larger than any sensor" in reading.absent["node/n1", "node_inlet_celsius"]


@given(json_values)
def test_a_prometheus_may_answer_anything(answer: Any) -> None:
    for shape in ({"data": answer}, {"data": {"resultType": "vector", "result": answer}},
                  {"data": {"resultType": "vector", "result": [{"metric": {}, "value": answer}]}},
                  {"data": {"resultType": "scalar", "result": answer}}):  # fmt: skip
        with contextlib.suppress(CannotRead):
            promql.samples(shape)


def test_a_prometheus_with_an_integer_of_401_digits_is_refused() -> None:
    with pytest.raises(CannotRead):
        promql.samples({"data": {"resultType": "scalar", "result": [HUGE, HUGE]}})


@given(numbers)
def test_a_number_is_a_float_or_none(value: Any) -> None:
    assert isinstance(number(value), float | None)
    assert (number(value) is None) == (isinstance(value, bool) or not isinstance(value, int | float))
    assert redfish_thermal._number({"x": value}, "x") == number(value) or value != value


def test_a_bacnet_integer_of_any_length() -> None:
    pytest.importorskip("bacpypes3")
    from bacpypes3.primitivedata import TagClass

    class Tag:
        tag_class = TagClass.application

        def app_to_object(self) -> int:
            return HUGE

    class Answer:
        tagList = (Tag(),)

    assert bacnet_number(Answer()).value == float("inf")
