"""What an inference service imports: timers for transfers between pools and for the path of a request.

A call costs microseconds and never waits: it writes to memory that one thread reads.
"""

from holdfast.serving.reporter import start, stop
from holdfast.serving.request import Request
from holdfast.serving.transfer import Transfer

__all__ = ["Request", "Transfer", "start", "stop"]
