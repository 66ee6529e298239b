"""Slurm reservations: `scontrol -o show reservation`. Missing values are left out; nothing here raises."""

import re

from holdfast.formats.slurm import hostlist

_ONE = re.compile(r"^ReservationName=(\S+) .*?\bNodes=(\S+)", re.MULTILINE)


def from_scontrol(text: str) -> dict[str, tuple[str, ...]]:
    """Reservation names, each with its nodes."""
    found = {}
    for name, nodes in _ONE.findall(text):
        try:
            found[name] = tuple(hostlist.expand(nodes))
        except hostlist.NotAHostlist:
            continue
    return found
