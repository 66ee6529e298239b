"""An agent that meets another: it measures, lets go when the node is wanted, and never calls a set-up failure slow."""

import importlib.util
import socket
import sys
import threading
import time
from pathlib import Path

import pytest

from holdfast.agent.orders import Order
from holdfast.agent.prober import Prober
from holdfast.model.probe import ProbeAsk
from holdfast.model.report import OrderOutcome

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")


def order(rank: int, port: int, seconds: float = 60.0) -> Order:
    ask = ProbeAsk(
        peer=f"n{1 - rank}",
        rank=rank,
        address="127.0.0.1",
        master="127.0.0.1",
        port=port,
        bytes=1 << 20,
        seconds=seconds,
    )
    return Order(id=10 + rank, verb="probe", probe=ask)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@needs_torch
@pytest.mark.slow
def test_two_agents_meet_and_both_tell_how_fast_they_were(tmp_path: Path) -> None:
    port, outcomes = free_port(), {}

    def meet(rank: int) -> None:
        prober = Prober(list, str(tmp_path / f"v{rank}.json"))
        outcomes[rank] = prober.perform(order(rank, port), 5.0)

    threads = [threading.Thread(target=meet, args=(rank,)) for rank in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(one.ok and (one.bytes_per_second or 0) > 1e6 for one in outcomes.values()), outcomes
    assert list(tmp_path.glob("*.probing")) == []


@needs_torch
@pytest.mark.slow
@pytest.mark.parametrize("sign", ["mark", "cancel", "job"])
def test_a_node_that_is_wanted_is_let_go_of(tmp_path: Path, sign: str) -> None:
    jobs: list[str] = []
    prober = Prober(lambda: jobs, str(tmp_path / "v.json"))
    outcomes: list[OrderOutcome] = []
    asked = order(0, free_port())
    meeting = threading.Thread(target=lambda: outcomes.append(prober.perform(asked, 0.0)))
    meeting.start()
    mark = tmp_path / "v.probing"
    while not mark.exists():
        time.sleep(0.01)
    if sign == "mark":
        mark.unlink()
    elif sign == "cancel":
        prober.cancel([asked.id])
    else:
        jobs.append("slurm-7")
    meeting.join(30.0)
    assert not meeting.is_alive()
    assert not outcomes[0].ok
    assert outcomes[0].bytes_per_second is None
    assert outcomes[0].reason.startswith("let go")


def test_a_probe_is_refused_while_work_is_here(tmp_path: Path) -> None:
    outcome = Prober(lambda: ["slurm-7"], str(tmp_path / "v.json"), "no-such-python").perform(order(0, 1), 0.0)
    assert (outcome.ok, outcome.reason) == (False, "refused: work is here (slurm-7)")


def test_without_a_worker_it_is_a_set_up_failure_not_a_slow_fabric(tmp_path: Path) -> None:
    outcome = Prober(list, str(tmp_path / "v.json"), "no-such-python").perform(order(0, 1), 0.0)
    assert not outcome.ok
    assert outcome.reason.startswith("set-up failed: no-such-python cannot be started")


def test_without_torch_it_says_so(tmp_path: Path) -> None:
    """A Python whose torch cannot be found, as on most nodes that only run an agent."""
    python = tmp_path / "python"
    hide = "import sys; sys.modules['torch'] = None; import runpy; sys.argv = sys.argv[1:]; "
    run = "runpy.run_module('holdfast.probes.worker', run_name='__main__')"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{hide}{run}"\n')
    python.chmod(0o755)
    outcome = Prober(list, str(tmp_path / "v.json"), str(python)).perform(order(0, 1), 0.0)
    assert not outcome.ok
    assert outcome.reason.startswith("set-up failed: torch is not installed")


def test_an_order_without_a_peer_is_refused(tmp_path: Path) -> None:
    outcome = Prober(list, str(tmp_path / "v.json")).perform(Order(id=1, verb="probe"), 0.0)
    assert not outcome.ok
