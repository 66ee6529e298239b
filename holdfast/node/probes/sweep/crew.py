"""Workers of a probe, one per host: started, commanded together, and always stopped.

A host may have several slots, a rank each: `h1` is its first, `h1#1` the one of its second GPU or rail.
"""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from typing import Protocol

from holdfast.formats.nccl import tests as nccl_tests
from holdfast.node.probes.isolation.hosts import Host, host_of, number_of
from holdfast.node.probes.sweep.channel import Answer, Progress, SweepChannel

START_SECONDS = 120.0  # loading torch from a shared file system takes time
GRACE_SECONDS = 10.0  # a rank that waits for another one reports that before it counts as silent itself


class Hand(Protocol):
    """Interface of a worker on a host, however it was started."""

    host: Host
    trouble: str
    network: str
    facts: Answer

    def ask(self, command: Answer, slot: int = 0) -> None: ...

    def answer(
        self, seconds: float, progress: Progress | None = None, slot: int = 0, to: int | None = None
    ) -> Answer: ...

    def stop(self) -> None: ...


class SweepWorker(SweepChannel):
    """A connection to a worker that this process started, here or through the launch command of its host."""

    def __init__(self, host: Host, python: str) -> None:
        super().__init__(host)
        self._errors: list[str] = []
        words = [*host.launch, python, "-m", "holdfast.node.probes.sweep.worker"]
        try:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
            )
        except OSError as error:
            self.trouble = f"set-up failed: {words[0]} cannot be started: {error}"
            return
        assert self._process.stdout is not None and self._process.stdin is not None
        self.connect(self._process.stdout, self._process.stdin)
        threading.Thread(target=self._read_errors, daemon=True).start()

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._errors = [*self._errors[-20:], line.strip()]
            self.network = nccl_tests.network_among((self.network, nccl_tests.network_of(line)))

    @property
    def last_output(self) -> str:
        return next((words for words in reversed(self._errors) if words), "no output")[:300]

    def stop(self) -> None:
        process = getattr(self, "_process", None)
        if process is None:
            return
        with suppress(OSError, ValueError):
            process.stdin.close()  # the worker ends with its input, also one behind ssh or srun
        try:
            process.wait(0.5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Crew:
    """All hosts that can take part. `with` stops all workers, also on Ctrl-C."""

    def __init__(
        self, hosts: Sequence[Host], python: str = sys.executable, workers: Mapping[str, Hand] | None = None
    ) -> None:
        """`workers`: workers that were started elsewhere, by host."""
        self._ids = count(1)
        self._asked: dict[str, int] = {}  # by slot: its last command
        self._vain: dict[str, str] = {}  # by slot: why its group could not start
        self.workers: dict[str, Hand] = {host.name: SweepWorker(host, python) for host in hosts}
        self.workers.update(workers or {})

    def __enter__(self) -> "Crew":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        for worker in self.workers.values():
            worker.stop()

    def muster(self, seconds: float = START_SECONDS) -> list[str]:
        """The hosts that answer and have the same torch. Others are reported with their error, which is not a fault
        of the fabric."""
        until = time.monotonic() + seconds
        for worker in self.workers.values():
            worker.facts = worker.answer(until - time.monotonic())
            if "error" in worker.facts and not worker.trouble:
                worker.trouble = f"set-up failed: {worker.facts['error']}"
        present = [worker for worker in self.workers.values() if not worker.trouble]
        versions = [str(worker.facts.get("torch")) for worker in present]
        common = max(set(versions), key=versions.count, default="")
        for worker in present:
            if worker.facts.get("torch") != common:
                worker.trouble = f"set-up failed: torch {worker.facts.get('torch')}, the others have {common}"
        return [name for name, worker in self.workers.items() if not worker.trouble]

    def begin(self, slots: Sequence[str], command: Answer) -> None:
        """Starts one process group over these slots. Several may run at the same time."""
        first, place = self.workers[host_of(slots[0])], number_of(slots[0])
        address = self.address_of(slots[0])
        number = next(self._ids)
        first.ask({"do": "port", "id": number, "address": address}, place)
        reply = first.answer(START_SECONDS, slot=place, to=number)
        if "port" not in reply:
            first.trouble = first.trouble or f"set-up failed: {reply.get('error')}"
            self._vain.update(dict.fromkeys(slots, first.trouble))
            return
        for rank, slot in enumerate(slots):
            worker, place = self.workers[host_of(slot)], number_of(slot)
            own = {"id": number, "rank": rank, "world": len(slots), "address": worker.host.address_of(place)}
            worker.ask(
                {"do": "exchange", "master": f"{address}:{reply['port']}", "gpu": place, **own, **command}, place
            )
            self._asked[slot] = number

    def request(self, slot: str, command: Answer, seconds: float) -> Answer:
        """One command to one slot, and its answer."""
        number, worker, place = next(self._ids), self.workers[host_of(slot)], number_of(slot)
        worker.ask({"id": number, **command}, place)
        return worker.answer(seconds, slot=place, to=number)

    def address_of(self, slot: str) -> str:
        worker = self.workers[host_of(slot)]
        return worker.host.address_of(number_of(slot)) or str(worker.facts.get("address", ""))

    def ask_each(self, names: Sequence[str], command: Callable[[int, str], Answer]) -> None:
        """Starts a command on all slots at once; `finish` returns the answers."""
        for rank, name in enumerate(names):
            self._asked[name] = next(self._ids)
            self.workers[name].ask({"id": self._asked[name], **command(rank, name)})

    def finish(self, slots: Sequence[str], timeout: float, progress: Progress | None = None) -> list[Answer]:
        return [self._finished(slot, timeout + GRACE_SECONDS, progress) for slot in slots]

    def _finished(self, slot: str, timeout: float, progress: Progress | None) -> Answer:
        if why := self._vain.pop(slot, ""):
            return {"error": why}
        return self.workers[host_of(slot)].answer(timeout, progress, number_of(slot), self._asked[slot])
