"""Simulated hardware behind the same interfaces as the real one."""

from holdfast.twin.error import TwinError
from holdfast.twin.fault import Fault, all_faults
from holdfast.twin.inject import clear, inject, injected
from holdfast.twin.life import tick
from holdfast.twin.node import Node, make_node, open_node

__all__ = ["Fault", "Node", "TwinError", "all_faults", "clear", "inject", "injected", "make_node", "open_node", "tick"]
