"""Normalises PCI addresses: lower case, four-digit domain where possible."""

import re
from functools import lru_cache

PATTERN = r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?"
"""Domain and function may be missing: Xid lines print no function, lspci prints no domain 0."""

_ADDRESS = re.compile(PATTERN)


@lru_cache(maxsize=256)
def normal(address: str) -> str:
    """'00000000:9B:00.0' -> '0000:9b:00.0'; '17:00.0' -> '0000:17:00.0'; any other text is returned unchanged."""
    if not _ADDRESS.fullmatch(address):
        return address
    *domain, bus, rest = address.lower().split(":")
    return f"{int(domain[0], 16) if domain else 0:04x}:{bus}:{rest}"


def from_requester_id(text: str, port: str) -> str:
    """The 16-bit requester id that old kernels print ('00e8') as an address, in the domain of the port that received
    it."""
    number = int(text, 16)
    return f"{normal(port)[:-8]}:{number >> 8:02x}:{number >> 3 & 0x1F:02x}.{number & 7}"
