"""The keeper's connection to its agent: reports copies and their locations, and receives the order to flush to
storage."""

import contextlib
import logging
import socket
import threading
import time
from collections.abc import Callable

from holdfast.formats.job import orders as job_orders
from holdfast.formats.job.progress import KeeperProgress, encode
from holdfast.training.progress.sender import RETRY_SECONDS, agent_socket

LOG = logging.getLogger(__name__)
REPORT_SECONDS = 1.0


class AgentLine:
    """The connection, on its own thread. Without an agent nothing is lost."""

    def __init__(self, reported: Callable[[], KeeperProgress], flush: Callable[[float], object]) -> None:
        self._reported, self._flush = reported, flush
        threading.Thread(target=self._run, name="agent", daemon=True).start()

    def _run(self) -> None:
        while True:
            with contextlib.suppress(OSError):  # no agent, or an agent that ended
                self._talk()
            time.sleep(RETRY_SECONDS)

    def _talk(self) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line:
            line.settimeout(REPORT_SECONDS)
            line.connect(agent_socket())
            last_sent = b""
            while True:
                if (words := encode(self._reported())) != last_sent:
                    line.send(words)
                    last_sent = words
                with contextlib.suppress(TimeoutError):
                    if not (text := line.recv(job_orders.LARGEST_ORDER)):
                        return
                    self._obey(text)

    def _obey(self, text: bytes) -> None:
        try:
            order = job_orders.decode(text)
        except job_orders.OrderError:
            return  # the agent's greeting, or its reason for a refusal
        if isinstance(order, job_orders.Flush):
            LOG.info("the node will be released: writing all copies to storage")
            self._flush(order.seconds)
