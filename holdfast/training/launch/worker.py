"""A training process that outlives its process group: runs the script again after another rank was lost.

Imported modules, the CUDA context and compiled kernels stay. The script starts again at its top, builds its process
group and model, and loads its state from memory.
"""

import ast
import contextlib
import ctypes
import gc
import json
import os
import runpy
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdfast.training.launch import lifetime

CAUSE_SECONDS = 5.0  # time for the launcher to report a lost rank after this one failed
INTERRUPT_SECONDS = 1.0  # between two interrupts, if the script swallowed the first
Order = dict[str, Any]


class RankLost(BaseException):
    """Another rank is gone and a new process group is being built. Not an Exception, so that no `except Exception`
    catches it."""


class Worker:
    def __init__(self, line: socket.socket, script: str, alone: Callable[[], object] = lambda: os._exit(1)) -> None:
        self._line, self._script = line, script
        self._alone = alone  # without its launcher, nothing would end this process
        self._main = threading.get_ident()
        self._orders = threading.Condition()
        self._order: Order = {}
        self._current = 0  # the current or last generation
        self._running = False
        threading.Thread(target=self._listen, name="holdfast-launch", daemon=True).start()

    def serve(self) -> None:
        """Runs the script for each generation until it completes in one. Any other end of it is raised."""
        while True:
            with self._orders:
                self._orders.wait_for(lambda: self._newest() > self._current)
                order = self._order
                self._current = self._newest()
            os.environ.update(order["environ"])
            lifetime.when_saved(self._saved)
            if self._run():
                return
            self._tidy()

    def say(self, **message: object) -> None:
        with contextlib.suppress(OSError):  # the listening thread detects the end of the launcher
            self._line.sendall(json.dumps(message).encode() + b"\n")

    def _run(self) -> bool:
        """Runs the script; returns whether it completed."""
        try:
            self._set_running(True)
            self.say(running=self._current)
            runpy.run_path(self._script, run_name="__main__")
        except RankLost:
            return False
        except SystemExit as end:
            if not end.code:
                return True
            raise
        except BaseException:
            self._set_running(False)
            if self._is_superseded(CAUSE_SECONDS):
                return False
            raise
        finally:
            self._set_running(False)
        return True

    def _set_running(self, running: bool) -> None:
        with self._orders:
            self._running = running
            if not running:  # a pending interrupt finds no script to interrupt any more
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._main), None)

    def _is_superseded(self, seconds: float) -> bool:
        """Whether a failure is the consequence of another rank's death, which the launcher reports."""
        with self._orders:
            return self._orders.wait_for(lambda: self._newest() > self._current, seconds)

    def _newest(self) -> int:
        return int(self._order.get("generation", 0))

    def _saved(self) -> None:
        lifetime.when_saved(lambda: None)
        self.say(saved=self._current)

    def _tidy(self) -> None:
        """Releases what the last run left behind. Modules and CUDA contexts stay."""
        lifetime.close_all()
        _abort_groups()
        _count_groups_anew()
        _forget_accelerate()
        gc.collect()
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_initialized():
            torch.cuda.empty_cache()

    def _listen(self) -> None:
        with contextlib.suppress(OSError), self._line.makefile("rb") as lines:
            for line in lines:
                self._obey(json.loads(line))
        self._alone()

    def _obey(self, order: Order) -> None:
        with self._orders:
            self._order = order
            self._orders.notify_all()
        while self._needs_interrupt():
            _abort_groups()  # a collective that waits for a dead rank returns with an error
            with self._orders:
                if self._running:
                    lost = ctypes.py_object(RankLost)
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._main), lost)
                self._orders.wait_for(lambda: not self._running, INTERRUPT_SECONDS)

    def _needs_interrupt(self) -> bool:
        with self._orders:
            return self._running and self._newest() > self._current


def _abort_groups() -> None:
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return
    with contextlib.suppress(Exception):  # a group may be partly built or destroyed; the rest is dropped below
        distributed.distributed_c10d._abort_process_group()
    with contextlib.suppress(Exception):
        if distributed.is_initialized():
            distributed.destroy_process_group()


def _count_groups_anew() -> None:
    """Resets the number of the group, with which ranks find each other: a new process counts from 0.

    torch resets the number only with a group that was built, not with one whose building failed.
    """
    c10d = sys.modules.get("torch.distributed.distributed_c10d")
    if c10d is not None:
        c10d._world.group_count = 0


def _forget_accelerate() -> None:
    """Clears the process group that Accelerate, and with it the Hugging Face Trainer, keeps in the state of a class."""
    state = sys.modules.get("accelerate.state")
    if state is not None:
        state.AcceleratorState._reset_state(reset_partial_state=True)
        state.GradientState._reset_state()


def preload(script: str) -> None:
    """Runs the import statements at the top of the script, while a standby waits.

    Errors are ignored here, because they occur again, and are reported, when the script runs.
    """
    for statement in imports_of(Path(script).read_text()):
        with contextlib.suppress(Exception):
            exec(compile(statement, script, "exec"), {})


def imports_of(source: str) -> list[ast.Module]:
    """The import statements, without those inside of functions, which may never be called."""
    kinds = (ast.Import, ast.ImportFrom)
    return [ast.Module([node], []) for node in ast.parse(source).body if isinstance(node, kinds)]


def main() -> None:
    line = socket.socket(fileno=int(sys.argv[1]))
    script = sys.argv[2]
    sys.argv = sys.argv[2:]
    sys.path.insert(0, str(Path(script).resolve().parent))  # as in `python SCRIPT`
    worker = Worker(line, script)
    if "RANK" not in os.environ:
        preload(script)
        worker.say(warm=True)
    worker.serve()


if __name__ == "__main__":
    main()
