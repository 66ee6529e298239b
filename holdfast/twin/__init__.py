"""Simulated hardware behind the same interfaces as the real one."""

from holdfast.twin.error import TwinError
from holdfast.twin.node import Node, make_node, open_node

__all__ = ["Node", "TwinError", "make_node", "open_node"]
