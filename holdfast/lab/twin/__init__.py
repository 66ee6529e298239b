"""Simulated hardware behind the same interfaces as the real one."""

from holdfast.lab.twin.error import TwinError
from holdfast.lab.twin.fault import Fault, all_faults, faults_of
from holdfast.lab.twin.inject import clear, inject, injected
from holdfast.lab.twin.life import tick
from holdfast.lab.twin.node import TwinNode, make_node, open_node

__all__ = [
    "Fault",
    "TwinError",
    "TwinNode",
    "all_faults",
    "clear",
    "faults_of",
    "inject",
    "injected",
    "make_node",
    "open_node",
    "tick",
]
