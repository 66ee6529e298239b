"""A probe whose workers were started by torchrun: orders and answers go through the store of its rendezvous.

Every process serves; the first also leads. Processes of one node are the slots of a host.
"""

import datetime
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from itertools import count
from typing import Any

from torch.distributed.rendezvous import rendezvous

from holdfast.node.probes.isolation.hosts import Host
from holdfast.node.probes.sweep.channel import Answer, Progress, no_answer
from holdfast.node.probes.sweep.crew import Crew
from holdfast.node.probes.sweep.worker import hello, perform, send_document

POLL_SECONDS = 0.01
STOP_SECONDS = 1.0
LONGEST = datetime.timedelta(hours=12)
STOP = {"do": "stop"}
NOT_STARTED = (
    "not started by torchrun: RANK, WORLD_SIZE, LOCAL_RANK, GROUP_RANK, MASTER_ADDR and MASTER_PORT are needed"
)


class NotStarted(Exception):
    """The environment is not that of torchrun."""


def join() -> tuple[Any, int, int]:
    """The store, this process's rank and how many there are."""
    try:
        store, rank, world = next(rendezvous("env://", timeout=LONGEST))
        place = {"host": socket.gethostname(), "group": int(os.environ["GROUP_RANK"])}
        store.set(f"who/{rank}", json.dumps({**place, "slot": int(os.environ["LOCAL_RANK"])}))
    except (KeyError, ValueError) as error:
        raise NotStarted(f"{NOT_STARTED} ({error})") from None
    os.environ.pop("TORCHELASTIC_USE_AGENT_STORE", None)  # the groups of a probe have stores of their own
    return store, rank, world


def _post(store: Any, line: str) -> Iterator[Answer]:
    """Messages under a key of the store, in order. It polls, because a blocking call would block the store."""
    for number in count():
        while not store.check([f"{line}/{number}"]):
            time.sleep(POLL_SECONDS)
        yield json.loads(store.get(f"{line}/{number}"))


class _Sender:
    """A file-like object that sends the answers of a worker."""

    def __init__(self, store: Any, line: str) -> None:
        self._store, self._line, self._sent = store, line, count()

    def write(self, text: str) -> None:
        self._store.set(f"{self._line}/{next(self._sent)}", text)

    def flush(self) -> None:
        """Nothing is held back."""


def serve(store: Any, rank: int) -> None:
    sender: Any = _Sender(store, f"say/{rank}")
    send_document(sender, hello())
    for command in _post(store, f"ask/{rank}"):
        if command == STOP:
            return
        perform(command, sender)


class ElasticWorker:
    """One node's processes, as `Crew` knows a worker."""

    def __init__(self, host: Host, ranks: dict[int, int], store: Any, own: threading.Thread) -> None:
        self._own = own  # a thread that is at the store when Python ends takes the process with it
        self.host, self.trouble, self.network = host, "", ""
        self.facts: Answer = {}
        self._ranks, self._store = ranks, store
        self._asked = {slot: _Sender(store, f"ask/{rank}") for slot, rank in ranks.items()}
        self._received = dict.fromkeys(ranks, 0)

    def ask(self, command: Answer, slot: int = 0) -> None:
        self._asked[slot].write(json.dumps(command))

    def answer(self, seconds: float, progress: Progress | None = None, slot: int = 0, to: int | None = None) -> Answer:
        until = time.monotonic() + seconds
        while not self.trouble:
            message = self._next(slot)
            if message is None and time.monotonic() > until:
                self.trouble = no_answer(seconds, bool(self.facts))
            elif message is None:
                time.sleep(POLL_SECONDS)
            elif "progress" in message:
                until = time.monotonic() + seconds
                if progress is not None:
                    progress(f"{message['progress']} bytes")
            elif to is None or ("hello" not in message and message.get("id", to) == to):
                return {**message, "gpus": len(self._ranks)} if message.get("gpus") else message
        return {"error": self.trouble}

    def _next(self, slot: int) -> Answer | None:
        key = f"say/{self._ranks[slot]}/{self._received[slot]}"
        if not self._store.check([key]):
            return None
        self._received[slot] += 1
        found: Answer = json.loads(self._store.get(key))
        return found

    def stop(self) -> None:
        for sender in self._asked.values():
            sender.write(json.dumps(STOP))
        if 0 in self._ranks.values():
            self._own.join(STOP_SECONDS)


def lead(store: Any, world: int) -> Crew:
    """The crew of all processes; our own serves in a thread."""
    server = threading.Thread(target=serve, args=(store, 0), daemon=True)
    server.start()
    nodes: dict[int, tuple[str, dict[int, int]]] = {}
    for rank in range(world):
        message = json.loads(store.get(f"who/{rank}"))
        nodes.setdefault(message["group"], (message["host"], {}))[1][message["slot"]] = rank
    names = [host for host, _ in nodes.values()]
    workers = {}
    for group, (name, ranks) in nodes.items():
        own = name if names.count(name) == 1 else f"{name}-{group}"
        workers[own] = ElasticWorker(Host(own, "," * (len(ranks) - 1)), ranks, store, server)
    return Crew([], workers=workers)
