"""Decodes 16-bit Modbus registers into one number. Pure; any registers give a number."""

import struct
from collections.abc import Sequence
from typing import Literal

Kind = Literal["int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"]
Order = Literal["big", "little"]
_FORMATS: dict[Kind, str] = {
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float32": "f",
    "float64": "d",
}


def words(kind: Kind) -> int:
    """Number of registers of a value of this type."""
    return struct.calcsize(_FORMATS[kind]) // 2


def decode(registers: Sequence[int], kind: Kind, order: Order = "big") -> float:
    """Decodes registers. `order` is the order of the words; the bytes of a word are big-endian, as in the protocol.

    Raises ValueError if the number of registers does not fit the type, or a register has more than 16 bits.
    """
    if len(registers) != words(kind):
        raise ValueError(f"{kind} takes {words(kind)} registers, found {len(registers)}")
    if any(not 0 <= one <= 0xFFFF for one in registers):
        raise ValueError("a register holds 16 bits")
    ordered = registers if order == "big" else list(reversed(registers))
    raw = struct.pack(f">{len(ordered)}H", *ordered)
    return float(struct.unpack(">" + _FORMATS[kind], raw)[0])
