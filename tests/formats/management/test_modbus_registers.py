"""Words of 16 bits into numbers."""

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.management.modbus_registers import Kind, decode, words

KINDS: list[Kind] = ["int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"]


@pytest.mark.parametrize(
    ("registers", "kind", "order", "value"),
    [
        ([480], "uint16", "big", 480),
        ([0xFFFF], "int16", "big", -1),
        ([0x0001, 0x0002], "uint32", "big", 65_538),
        ([0x0002, 0x0001], "uint32", "little", 65_538),
        ([0x41C8, 0x0000], "float32", "big", 25.0),
        ([0x0000, 0x41C8], "float32", "little", 25.0),
    ],
)
def test_each_type(registers: list[int], kind: Kind, order: str, value: float) -> None:
    assert decode(registers, kind, order) == value  # type: ignore[arg-type]


@given(st.floats(width=32, allow_nan=False), st.sampled_from(["big", "little"]))
def test_a_float_comes_back(value: float, order: str) -> None:
    pair = list(struct.unpack(">2H", struct.pack(">f", value)))
    assert decode(pair if order == "big" else pair[::-1], "float32", order) == value  # type: ignore[arg-type]


@given(st.lists(st.integers(-10, 70_000), max_size=6), st.sampled_from(KINDS))
def test_whatever_comes_is_a_number_or_refused(registers: list[int], kind: Kind) -> None:
    try:
        value = decode(registers, kind)
    except ValueError as error:
        assert str(error)
        assert len(registers) != words(kind) or any(not 0 <= one <= 0xFFFF for one in registers)
    else:
        assert isinstance(value, float) and (math.isnan(value) or value == value)
