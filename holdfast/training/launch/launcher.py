"""The processes of one node: replaces a killed rank, while the others stay and build a new process group.

A standby, which has already imported the script's modules, replaces a rank that a signal ended. The run ends, and
`holdfast run` decides about a restart, if a rank exits with an error code, if two generations in a row saved nothing,
or if a node is lost.
"""

import contextlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from holdfast.training.launch.nodes import Generation, LauncherNodes, NodeLost

BEAT_SECONDS = 0.1
STANDBY_SECONDS = 60.0  # a run that saves nothing still gets its standby
FRUITLESS = 2  # generations in a row without a save
OF_A_RANK = ("RANK", "LOCAL_RANK", "WORLD_SIZE")  # without these variables a process waits as a standby
WORKER = (sys.executable, "-P", "-m", "holdfast.training.launch.worker")

Notify = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    command: tuple[str, ...]  # script and its arguments
    ranks: int
    standbys: int = 1
    leave_seconds: float = 20.0  # time for a process to leave the script after another rank was lost
    grace_seconds: float = 10.0


@dataclass(slots=True, eq=False)
class Process:
    popen: "subprocess.Popen[bytes]"
    line: socket.socket
    pidfd: int
    local_rank: int | None = None  # None: a standby
    running: int = 0  # the last generation that it reported
    asked_at: float = 0.0
    received: bytes = b""


@dataclass(slots=True)
class Launcher:
    options: Options
    nodes: LauncherNodes
    notify: Notify
    _processes: list[Process] = field(default_factory=list)
    _selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    _generation: Generation | None = None
    _saved: bool = False  # in this generation
    _fruitless: int = 0
    _began: float = 0.0
    _signal: int = 0
    _finished: int = 0

    def run(self) -> int:
        """Runs until all ranks completed, or until in-process recovery is no longer possible; returns the exit code."""
        before = {one: signal.signal(one, self._on_signal) for one in (signal.SIGTERM, signal.SIGINT)}
        try:
            self.nodes.join()
            while (code := self._beat()) is None:
                pass
            return code
        except NodeLost as why:
            self.notify(f"the run ends: {why}")
            return 1
        except RuntimeError as error:  # of the store: the launcher of node 0 is gone
            self.notify(f"the run ends: node 0 cannot be reached: {error}")
            return 1
        finally:
            self._end_all()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, _: object) -> None:
        self._signal = number

    def _beat(self) -> int | None:
        if self._signal:
            return 128 + self._signal
        generation = self.nodes.generation()
        if generation is not None and generation != self._generation:
            self._begin(generation)
        for key, _ in self._selector.select(BEAT_SECONDS):
            process: Process = key.data
            if process not in self._processes:  # the loop has already handled its end
                continue
            if key.fileobj != process.pidfd:
                self._read(process)
            elif (code := self._ended(process)) is not None:
                return code
        self._kill_stuck()
        self._have_standbys()
        return 0 if self._is_done() else None

    def _is_done(self) -> bool:
        """Whether this launcher may end. Node 0 holds the stores, so it stays until all nodes are done."""
        if self._finished < self.options.ranks:
            return False
        return not self.nodes.leads or self.nodes.finished() >= self.nodes.count * self.options.ranks

    def _begin(self, generation: Generation) -> None:
        if self._generation is not None:
            self._fruitless = 0 if self._saved else self._fruitless + 1
            if self._fruitless >= FRUITLESS:
                raise self._over(f"{FRUITLESS} starts in a row saved nothing")
            if self.nodes.finished():
                raise self._over("a rank was lost after others had ended")
        self._generation, self._saved, self._began = generation, False, time.monotonic()
        missing = set(range(self.options.ranks)) - {one.local_rank for one in self._processes}
        standbys = [one for one in self._processes if one.local_rank is None]
        for local_rank in sorted(missing):
            process = standbys.pop(0) if standbys else self._start(local_rank)
            process.local_rank = local_rank
        for process in self._processes:
            if process.local_rank is not None:
                process.asked_at = time.monotonic()
                order = {"generation": generation.number, "environ": self._environ(generation, process.local_rank)}
                _send(process, order)

    def _over(self, why: str) -> NodeLost:
        self.nodes.give_up(why)
        return NodeLost(why)

    def _environ(self, generation: Generation, local_rank: int) -> dict[str, str]:
        """The variables that torchrun sets."""
        here, nodes = self.options.ranks, self.nodes.count
        rank, world = self.nodes.rank * here + local_rank, nodes * here
        numbers = {
            "RANK": rank, "LOCAL_RANK": local_rank, "WORLD_SIZE": world, "LOCAL_WORLD_SIZE": here,
            "GROUP_RANK": self.nodes.rank, "GROUP_WORLD_SIZE": nodes, "ROLE_RANK": rank, "ROLE_WORLD_SIZE": world,
            "MASTER_PORT": generation.port, "TORCHELASTIC_RESTART_COUNT": generation.number - 1,
        }  # fmt: skip
        text = {"MASTER_ADDR": self.nodes.host, "TORCHELASTIC_USE_AGENT_STORE": "True", "ROLE_NAME": "default"}
        return {name: str(number) for name, number in numbers.items()} | text

    def _start(self, local_rank: int | None) -> Process:
        ours, theirs = socket.socketpair()
        environ = {name: value for name, value in os.environ.items() if name not in OF_A_RANK}
        environ.setdefault("OMP_NUM_THREADS", "1")
        if local_rank is not None and self._generation is not None:
            environ |= self._environ(self._generation, local_rank)  # so that other tools find the rank in /proc
        with theirs:
            command = [*WORKER, str(theirs.fileno()), *self.options.command]
            popen = subprocess.Popen(command, env=environ, pass_fds=[theirs.fileno()])
        process = Process(popen, ours, os.pidfd_open(popen.pid), local_rank)
        self._processes.append(process)
        self._selector.register(process.line, selectors.EVENT_READ, process)
        self._selector.register(process.pidfd, selectors.EVENT_READ, process)
        return process

    def _ended(self, process: Process) -> int | None:
        """The launcher's exit code, if the end of this process ends the run."""
        code = process.popen.wait()
        self._forget(process)
        if process.local_rank is None:
            return None
        rank = self.nodes.rank * self.options.ranks + process.local_rank
        if code == 0:
            self._finished += 1
            self.nodes.finish()
            return None
        if code > 0:
            self.nodes.give_up(f"rank {rank} ended with exit code {code}")
            self.notify(f"rank {rank} ended with exit code {code}: the run ends")
            return code
        assert self._generation is not None
        name = signal.Signals(-code).name
        self.notify(f"rank {rank} was ended by {name}: the others stay, and another process takes its place")
        self.nodes.lose(self._generation.number)
        return None

    def _forget(self, process: Process) -> None:
        self._processes.remove(process)
        for one in (process.line, process.pidfd):
            with contextlib.suppress(KeyError):  # the pipe may be closed already
                self._selector.unregister(one)
        process.line.close()
        os.close(process.pidfd)

    def _read(self, process: Process) -> None:
        try:
            data = process.line.recv(65536)
        except OSError:
            data = b""
        if not data:  # closed; the pidfd reports its end
            self._selector.unregister(process.line)
            return
        *lines, process.received = (process.received + data).split(b"\n")
        for message in map(json.loads, lines):
            process.running = int(message.get("running", process.running))
            if "warm" in message and process.local_rank is None:
                self.notify("a standby is ready")
            if self._generation is not None and message.get("saved") == self._generation.number:
                self._saved = True

    def _kill_stuck(self) -> None:
        """Kills processes that do not leave the last generation: they would block the next one, and are replaced
        too."""
        if self._generation is None:
            return
        for process in self._processes:
            late = time.monotonic() - process.asked_at > self.options.leave_seconds
            if 0 < process.running < self._generation.number and late:
                self.notify(f"process {process.popen.pid} did not leave the script in {self.options.leave_seconds:g} s")
                process.asked_at = time.monotonic()
                process.popen.kill()

    def _have_standbys(self) -> None:
        """Starts standbys, but not while the ranks start, which need the processor more."""
        settled = self._saved or time.monotonic() - self._began > STANDBY_SECONDS
        waiting = sum(one.local_rank is None for one in self._processes)
        if self._generation is not None and settled and waiting < self.options.standbys and not self._finished:
            self._start(None)

    def _end_all(self) -> None:
        """Ends all processes of this run: SIGTERM first, SIGKILL after the grace period. Keepers have their own
        sessions."""
        for process in self._processes:
            process.popen.kill() if process.local_rank is None else process.popen.terminate()
        deadline = time.monotonic() + self.options.grace_seconds
        for process in list(self._processes):
            try:
                process.popen.wait(max(deadline - time.monotonic(), 0.0))
            except subprocess.TimeoutExpired:
                process.popen.kill()
                process.popen.wait()
            self._forget(process)
        self._selector.close()


def _send(process: Process, message: dict[str, object]) -> None:
    try:
        process.line.sendall(json.dumps(message).encode() + b"\n")
    except OSError:
        return  # the process is ending; its pidfd reports the end
