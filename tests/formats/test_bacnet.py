"""BACnet's bytes: what is asked, what is understood, and that no bytes at all do harm."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.facility.bacnet import Point, ask_many, ask_one, understand
from holdfast.formats.facility.bacnet_tags import NotBacnet, tags

INPUT = Point(0, 1)


def _packet(apdu: bytes, *, network: bytes = b"\x01\x00") -> bytes:
    body = network + apdu
    return bytes([0x81, 0x0A, 0, 4 + len(body)]) + body


def test_a_question_is_as_the_standard_writes_it() -> None:
    assert ask_one(INPUT, 7).hex() == "810a0011" + "0104" + "0005070c" + "0c00000001" + "1955"
    assert ask_many([INPUT], 7).hex() == "810a0015" + "0104" + "0005070e" + "0c00000001" + "1e0955096f1f"


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("4442480000", 50.0),
        ("55084049000000000000", 50.0),
        ("2132", 50.0),
        ("31ce", -50.0),
        ("9101", 1.0),
        ("11", 1.0),
        ("00", None),
        ("7505006f6e6565", None),
    ],
)
def test_a_value_of_any_numeric_type_is_a_number(value: str, number: float | None) -> None:
    answer = understand(_packet(bytes.fromhex("30070c" + "0c00000001" + "1955" + "3e" + value + "3f")))
    assert answer.told[INPUT].value == number


def test_an_answer_through_a_router_is_understood() -> None:
    apdu = bytes.fromhex("30070c" + "0c00000001" + "1955" + "3e44424800003f")
    routed = _packet(apdu, network=bytes([1, 0x08, 0, 5, 1, 17]))
    assert understand(routed).told[INPUT].value == 50.0


def test_errors_of_one_object_hide_no_other() -> None:
    good = "0c00000001" + "1e" + "2955" + "4e44424800004f" + "296f" + "4e8204004f" + "1f"
    bad = "0c00000002" + "1e" + "2955" + "5e9101911f5f" + "296f" + "5e9101911f5f" + "1f"
    told = understand(_packet(bytes.fromhex("30070e" + bad + good))).told
    assert told[INPUT].value == 50.0
    assert told[Point(0, 2)] == (None, "there is no such object")


@pytest.mark.parametrize("apdu", ["5007 0c 9102 9120", "600709", "710701"])
def test_a_refusal_says_why(apdu: str) -> None:
    assert understand(_packet(bytes.fromhex(apdu.replace(" ", "")))).refused


@given(st.binary(max_size=200))
def test_no_bytes_do_harm(data: bytes) -> None:
    for packet in (data, _packet(data), _packet(b"\x30\x07\x0e" + data)):
        try:
            understand(packet)
        except NotBacnet as error:
            assert str(error)


@given(st.binary(max_size=300))
def test_tags_end_or_say_why_not(data: bytes) -> None:
    try:
        assert sum(len(tag.data) for tag in tags(data)) <= len(data)
    except NotBacnet as error:
        assert str(error)
