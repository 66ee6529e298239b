"""Words of 16 bits, as Modbus carries them, into one number. Pure; whatever the words are, the answer is a number."""

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
    """How many registers a value of this type takes."""
    return struct.calcsize(_FORMATS[kind]) // 2


def decode(registers: Sequence[int], kind: Kind, order: Order = "big") -> float:
    """`order` is that of the words; the bytes in a word are big-endian, as the protocol says. ValueError if the
    number of words is another than the type's, or a word is none."""
    if len(registers) != words(kind):
        raise ValueError(f"{kind} takes {words(kind)} registers, found {len(registers)}")
    if any(not 0 <= one <= 0xFFFF for one in registers):
        raise ValueError("a register holds 16 bits")
    ordered = registers if order == "big" else list(reversed(registers))
    raw = struct.pack(f">{len(ordered)}H", *ordered)
    return float(struct.unpack(">" + _FORMATS[kind], raw)[0])
