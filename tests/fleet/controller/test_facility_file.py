"""The facility file: what is read, and every mistake with its place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.fleet.controller.seams.facility_file import parse
from holdfast.model.settings import SettingsError

GOOD = """
[[modbus]]
subject = "cdu/c2"
address = "10.0.0.5:502"
[[modbus.register]]
signal = "cdu_flow_litres_per_minute"
register = 0
[[snmp]]
subject = "room/hall1"
address = "10.0.0.6:161"
[[snmp.oid]]
oid = "1.3.6.1.4.1.5"
signal = "ambient_celsius"
[[redfish]]
subject = "node/n1"
url = "https://10.0.0.7/redfish/v1/Chassis/1"
[[promql]]
url = "http://10.0.0.8:9090"
[[promql.query]]
signal = "storage_latency_seconds"
query = "avg(x)"
subject = "storage/lustre1"
"""


def test_a_good_one() -> None:
    assert sorted(one.name for one in parse(GOOD, "f.toml")) == [
        "modbus cdu/c2",
        "promql prometheus",
        "redfish node/n1",
        "snmp room/hall1",
    ]


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("register = 0", "registers = 0", "modbus[0].register[0].registers: unknown key"),
        ("register = 0", "register = 'first'", "modbus[0].register[0].register: expected a whole number"),
        ("register = 0", "register = 0\ntype = 'float31'", "modbus[0].register[0].type"),
        ("cdu_flow_litres_per_minute", "cdu_flow", "'cdu_flow' is not one of the signals"),
        ('address = "10.0.0.5:502"', 'address = "10.0.0.5"', "expected HOST:PORT"),
        ('address = "10.0.0.5:502"', "", "modbus[0].address: is missing"),
        ("[[redfish]]", "[[redfisch]]", "redfisch: unknown key"),
        ("/redfish/v1/Chassis/1", "", "expected that of a chassis"),
        ('subject = "storage/lustre1"', 'subject = "storage/{"', "subject"),
    ],
)
def test_each_mistake_is_named(before: str, after: str, why: str) -> None:
    with pytest.raises(SettingsError) as refused:
        parse(GOOD.replace(before, after), "f.toml")
    assert why in str(refused.value)


def test_all_mistakes_at_once() -> None:
    with pytest.raises(SettingsError) as refused:
        parse(GOOD.replace("10.0.0.5:502", "x").replace("10.0.0.6:161", "y"), "f.toml")
    assert "'x'" in str(refused.value) and "'y'" in str(refused.value)


@given(st.text(max_size=200))
def test_whatever_is_in_it_is_refused_in_words(text: str) -> None:
    try:
        parse(text, "f.toml")
    except SettingsError as error:
        assert "f.toml" in str(error)
