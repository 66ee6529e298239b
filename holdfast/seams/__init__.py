"""Seams: windows over a topology into findings. Pure: no I/O, no clock, no luck."""

from holdfast.model.finding import Finding
from holdfast.model.panel import Panel
from holdfast.model.topology import Topology

ALL: tuple[str, ...] = ()


def explain(panel: Panel, topology: Topology, seams: tuple[str, ...] = ALL) -> tuple[Finding, ...]:
    """What is wrong, one finding per root, the surest first."""
    return ()
