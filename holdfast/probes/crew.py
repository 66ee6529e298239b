"""The workers of a probe, one per host: started, asked together, and stopped whatever happens."""

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from typing import Any

from holdfast.formats import nccl_tests
from holdfast.probes.hosts import Host

Answer = dict[str, Any]
Progress = Callable[[str], None]
PORT_SECONDS = 10.0
START_SECONDS = 120.0  # a cold torch on a shared file system takes its time


class Worker:
    def __init__(self, host: Host, python: str) -> None:
        self.host = host
        self.trouble = ""
        self.network = ""  # the plugin that NCCL said it uses
        self.facts: Answer = {}
        self._answers: queue.SimpleQueue[Answer | None] = queue.SimpleQueue()
        self._errors: list[str] = []
        words = [*host.launch, python, "-m", "holdfast.probes.worker"]
        try:
            self._process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
        except OSError as error:
            self.trouble = f"set-up failed: {words[0]} cannot be started: {error}"
            return
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._read_errors, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with suppress(ValueError):
                self._answers.put(json.loads(line))
        self._answers.put(None)

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._errors = [*self._errors[-20:], line.strip()]
            self.network = self.network or nccl_tests.network_of(line)

    def ask(self, command: Answer) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(command) + "\n")
            self._process.stdin.flush()
        except OSError:
            self.trouble = self.trouble or f"set-up failed: the worker died: {self.last_words}"

    def answer(self, seconds: float, progress: Progress | None = None) -> Answer:
        """The next answer that is not mere progress; a host that stays silent is in trouble from then on."""
        while not self.trouble:
            try:
                said = self._answers.get(timeout=seconds)
            except queue.Empty:
                self.trouble = f"set-up failed: no answer within {seconds:.0f} s"
                break
            if said is None:
                self.trouble = f"set-up failed: the worker died: {self.last_words}"
            elif "progress" not in said:
                return said
            elif progress is not None:
                progress(f"{said['progress']} bytes")
        return {"error": self.trouble}

    @property
    def last_words(self) -> str:
        return next((words for words in reversed(self._errors) if words), "it said nothing")[:300]

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
    """Every host that can take part. `with` stops them all, also on Ctrl-C."""

    def __init__(self, hosts: Sequence[Host], python: str = sys.executable) -> None:
        self._ids = count(1)
        self.workers = {host.name: Worker(host, python) for host in hosts}

    def __enter__(self) -> "Crew":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        for worker in self.workers.values():
            worker.stop()

    def muster(self, seconds: float = START_SECONDS) -> list[str]:
        """Who is there, with the same torch. Others keep their own trouble; it is not the fabric's."""
        for worker in self.workers.values():
            worker.facts = worker.answer(seconds)
            if "error" in worker.facts and not worker.trouble:
                worker.trouble = f"set-up failed: {worker.facts['error']}"
        present = [worker for worker in self.workers.values() if not worker.trouble]
        versions = [str(worker.facts.get("torch")) for worker in present]
        common = max(set(versions), key=versions.count, default="")
        for worker in present:
            if worker.facts.get("torch") != common:
                worker.trouble = f"set-up failed: torch {worker.facts.get('torch')}, the others have {common}"
        return [name for name, worker in self.workers.items() if not worker.trouble]

    def begin(self, names: Sequence[str], command: Answer) -> None:
        """One process group over these hosts. Several may run at the same time."""
        first = self.workers[names[0]]
        address = first.host.address or str(first.facts["address"])
        first.ask({"do": "port", "address": address})
        port = first.answer(PORT_SECONDS).get("port")
        number = next(self._ids)
        for rank, name in enumerate(names):
            worker = self.workers[name]
            place = {"id": number, "rank": rank, "world": len(names), "address": worker.host.address}
            worker.ask({"do": "exchange", "master": f"{address}:{port}", **place, **command})

    def ask_each(self, names: Sequence[str], command: Callable[[int, str], Answer]) -> None:
        """Something that each does for itself, at the same time; `finish` has the answers."""
        for rank, name in enumerate(names):
            self.workers[name].ask({"id": next(self._ids), **command(rank, name)})

    def finish(self, names: Sequence[str], patience: float, progress: Progress | None = None) -> list[Answer]:
        return [self.workers[name].answer(patience, progress) for name in names]
