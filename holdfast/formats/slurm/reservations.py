"""Slurm reservations: `scontrol -o show reservation`. What a text does not say is left out; nothing here raises."""

import re

from holdfast.formats.slurm import hostlist

_ONE = re.compile(r"^ReservationName=(\S+) .*?\bNodes=(\S+)", re.MULTILINE)


def from_scontrol(text: str) -> dict[str, tuple[str, ...]]:
    """Names, each with the nodes that it keeps."""
    found = {}
    for name, nodes in _ONE.findall(text):
        try:
            found[name] = tuple(hostlist.expand(nodes))
        except hostlist.NotAHostlist:
            continue
    return found
