"""Collective steps of stress workers: pass weights on, exchange rows, agree to continue.

With these, all workers run at the speed of the slowest, so the time of the exchange is measured separately: a worker's
speed is that of its own work. A worker whose peers are gone continues alone.
"""

import datetime
import os
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

from holdfast.node.probes.stress.profiles import SHARED

TIMEOUT = datetime.timedelta(seconds=60)
FLOATS_PER_MEBIBYTE = 1 << 18


class PhaseExchange:
    def __init__(self, request: dict[str, Any]) -> None:
        self.device: str = request["device"]
        self.waited = 0.0
        self._joined = request["world"] > 1 and any(phase["do"] in SHARED for phase in request["phases"])
        if not self._joined:
            return
        cuda = self.device != "cpu"
        if cuda:
            torch.cuda.set_device(self.device)
        os.environ["GLOO_SOCKET_IFNAME"] = "lo"  # all workers are on this host
        dist.init_process_group(
            "nccl" if cuda else "gloo",
            init_method=f"tcp://127.0.0.1:{request['port']}",
            rank=request["rank"],
            world_size=request["world"],
            timeout=TIMEOUT,
        )

    def go_on(self, wanted: bool) -> bool:
        """Whether all workers want another iteration."""
        vote = torch.tensor([float(wanted)], device=self.device)
        self._timed(lambda: dist.all_reduce(vote, op=dist.ReduceOp.MIN))
        return wanted and (not self._joined or bool(vote.item()))

    def broadcast(self, phase: dict[str, Any]) -> Callable[[], None]:
        """Sends the weights of the first worker to all."""
        weights = torch.ones(int(phase["mebibytes"] * FLOATS_PER_MEBIBYTE), device=self.device)
        return lambda: self._repeat(phase["times"], lambda: dist.broadcast(weights, 0))

    def all_to_all(self, phase: dict[str, Any]) -> Callable[[], None]:
        """Exchanges rows of tables that are distributed over all."""
        world = dist.get_world_size() if self._joined else 1
        count = max(1, int(phase["mebibytes"] * FLOATS_PER_MEBIBYTE) // world) * world
        rows = torch.ones(count, device=self.device)
        got = torch.empty_like(rows)
        return lambda: self._repeat(phase["times"], lambda: dist.all_to_all_single(got, rows))

    def _repeat(self, times: int, work: Callable[[], object]) -> None:
        for _ in range(times):
            self._timed(work)

    def _timed(self, work: Callable[[], object]) -> None:
        if not self._joined:
            return
        self._settle()
        began = time.perf_counter()
        try:
            work()
            self._settle()
        except RuntimeError:
            self._joined = False  # a worker died; the parent process sees which
        self.waited += time.perf_counter() - began

    def _settle(self) -> None:
        if self.device != "cpu":
            torch.cuda.synchronize(self.device)
