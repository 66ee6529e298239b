"""An agent that meets another: it measures, lets go when the node is wanted, and never calls a set-up failure slow."""

import importlib.util
import sys
import threading
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from holdfast.model.wire.probe import Participant, ProbeRequest, SweepRequest
from holdfast.model.wire.report import OrderOutcome
from holdfast.node.agent.orders.handler import Order
from holdfast.node.agent.orders.prober import Prober
from tests.ports import free_port
from tests.waiting import until

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")


def order(rank: int, port: int, seconds: float = 60.0, address: str = "127.0.0.1") -> Order:
    ask = ProbeRequest(
        peer=f"n{1 - rank}",
        rank=rank,
        address=address,
        master="127.0.0.1",
        port=port,
        bytes=1 << 20,
        seconds=seconds,
        key="secret",
        participants=tuple(Participant(name=name, address=address) for name in ("n0", "n1")) if rank == 0 else (),
    )
    return Order(id=10 + rank, verb="probe", probe=ask)


def both(tmp_path: Path, orders: dict[int, Order], pythons: dict[int, str] | None = None) -> dict[int, OrderOutcome]:
    outcomes = {}

    def meet(rank: int) -> None:
        python = (pythons or {}).get(rank, sys.executable)
        prober = Prober(f"n{rank}", list, str(tmp_path / f"v{rank}.json"), python=python)
        outcomes[rank] = prober.perform(orders[rank], 5.0)

    threads = [threading.Thread(target=meet, args=(rank,)) for rank in orders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(tmp_path.glob("*.probing")) == []
    return outcomes


@needs_torch
@pytest.mark.slow
def test_two_agents_meet_on_all_their_rails_and_the_slowest_counts(tmp_path: Path) -> None:
    port, two_rails = free_port(), "127.0.0.1,127.0.0.1"
    outcomes = both(tmp_path, {rank: order(rank, port, 120.0, two_rails) for rank in (0, 1)})
    assert all(one.ok for one in outcomes.values()), outcomes
    assert (outcomes[0].bytes_per_second or 0) > 1e6
    assert "of 2, with n1" in outcomes[0].reason
    assert (outcomes[1].bytes_per_second, outcomes[1].reason) == (None, "met n0")


@needs_torch
@pytest.mark.slow
def test_who_leads_runs_a_whole_probe_and_reports_all_of_it(tmp_path: Path) -> None:
    port = free_port()
    request = SweepRequest(smallest=1024, largest=2048, pair_bytes=1 << 16)
    participants = (Participant(name="n0", leaf="l0"), Participant(name="n1", leaf="l1"), Participant(name="n2"))
    led, came = order(0, port, 5.0), order(1, port, 60.0)
    assert led.probe is not None
    orders = {0: replace(led, probe=replace(led.probe, peer="", participants=participants, sweep=request)), 1: came}
    outcomes = both(tmp_path, orders, {1: python_without_torch(tmp_path)})
    report = msgspec.json.decode(outcomes[0].document)
    found = {one["subject"]: (one["health"], one["reason"]) for one in report["verdicts"]}
    assert found["node/n1"][0] == found["node/n2"][0] == "unknown"
    assert found["node/n1"][1].startswith("set-up failed: torch is not installed")
    assert found["node/n2"][1] == "set-up failed: it did not come within 5 s"
    assert found["node/n0"] == ("unknown", "no peer: fewer than two hosts could start")


@needs_torch
@pytest.mark.slow
@pytest.mark.parametrize("sign", ["mark", "cancel", "job"])
def test_a_node_that_is_wanted_is_let_go_of(tmp_path: Path, sign: str) -> None:
    jobs: list[str] = []
    prober = Prober("n0", lambda: jobs, str(tmp_path / "v.json"))
    outcomes: list[OrderOutcome] = []
    asked = order(0, free_port())
    session = threading.Thread(target=lambda: outcomes.append(prober.perform(asked, 0.0)))
    session.start()
    mark = tmp_path / "v.probing"
    until(mark.exists, "the node is marked")
    if sign == "mark":
        mark.unlink()
    elif sign == "cancel":
        prober.cancel([asked.id])
    else:
        jobs.append("slurm-7")
    session.join(90.0)
    assert not session.is_alive()
    assert not outcomes[0].ok
    assert outcomes[0].bytes_per_second is None
    assert outcomes[0].reason.startswith("stopped: ")


def test_a_probe_is_refused_while_work_is_here(tmp_path: Path) -> None:
    prober = Prober("n0", lambda: ["slurm-7"], str(tmp_path / "v.json"), python="no-such-python")
    outcome = prober.perform(order(0, 1), 0.0)
    assert (outcome.ok, outcome.reason) == (False, "refused: work is here (slurm-7)")


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
def test_without_a_worker_it_is_a_set_up_failure_of_that_node_not_a_slow_fabric(tmp_path: Path, rank: int) -> None:
    port = free_port()
    outcomes = both(tmp_path, {0: order(0, port), 1: order(1, port)}, {rank: "no-such-python"})
    assert not outcomes[0].ok
    assert outcomes[0].about == f"n{rank}"
    assert outcomes[rank].reason.startswith("set-up failed: no-such-python cannot be started")


def test_without_torch_it_says_so_and_whose_fault_it_is(tmp_path: Path) -> None:
    port = free_port()
    outcomes = both(tmp_path, {0: order(0, port), 1: order(1, port)}, {1: python_without_torch(tmp_path)})
    assert not outcomes[0].ok
    assert outcomes[0].about == "n1"
    assert outcomes[0].reason.startswith("set-up failed: torch is not installed")


def python_without_torch(tmp_path: Path) -> str:
    """A Python whose torch cannot be found, as on most nodes that only run an agent."""
    python = tmp_path / "python"
    hide = "import sys; sys.modules['torch'] = None; import runpy; sys.argv = sys.argv[1:]; "
    run = "runpy.run_module('holdfast.node.probes.sweep.worker', run_name='__main__')"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{hide}{run}"\n')
    python.chmod(0o755)
    return str(python)


def test_who_waits_in_vain_says_who_did_not_come_and_who_finds_no_one_says_that(tmp_path: Path) -> None:
    alone = Prober("n0", list, str(tmp_path / "v.json"), python="no-such-python").perform(order(0, free_port(), 0.3), 0)
    assert not alone.ok
    assert alone.bytes_per_second is None
    vain = Prober("n1", list, str(tmp_path / "v.json")).perform(order(1, free_port(), 0.3), 0.0)
    assert vain.reason.startswith("set-up failed: no peer answered at 127.0.0.1")


def test_an_order_without_a_peer_is_refused(tmp_path: Path) -> None:
    outcome = Prober("n0", list, str(tmp_path / "v.json")).perform(Order(id=1, verb="probe"), 0.0)
    assert not outcome.ok
