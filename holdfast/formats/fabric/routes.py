"""Forwarding tables of switches, as dump_fts and ibroute print them: the output port for each LID."""

import re

from holdfast.formats.fabric.subnet import guid_of

_SWITCH = re.compile(r"Unicast lids .* guid 0x([0-9a-fA-F]{1,16})\b")
_ENTRY = re.compile(r"0x([0-9a-fA-F]{1,6})\s+(\d{1,3})\s*:")

Routes = dict[str, dict[int, int]]  # switch guid -> LID -> output port


def parse(text: str) -> Routes:
    """Parses the unicast tables; multicast tables and any other text are skipped."""
    found: Routes = {}
    table: dict[int, int] | None = None
    for line in text.splitlines():
        if switch := _SWITCH.match(line):
            table = found.setdefault(guid_of(switch[1]), {})
        elif line.startswith("Multicast"):
            table = None
        elif table is not None and (entry := _ENTRY.match(line)):
            table[int(entry[1], 16)] = int(entry[2])
    return found
