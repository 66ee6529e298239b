"""For tests that look at a whole twin."""

from tests.node.storage_clock import storage_clock

__all__ = ["storage_clock"]
