"""GPU resets: decided by NVIDIA's rules, refused while anything uses the GPUs, checked afterwards."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.node.agent.orders.gpu_reset import ResetPlan, ResetRefusal, decide, run_plan
from holdfast.node.agent.orders.gpu_situation import GpuSituation
from holdfast.runtime.errors import NoAnswer

EIGHT = {gpu: f"GPU-{gpu}" for gpu in range(8)}
IDLE = GpuSituation(
    gpus=EIGHT,
    suspects=(3,),
    processes=dict.fromkeys(EIGHT, ()),
    allocated=False,
    architecture="hopper",
    nvlink=True,
    nvswitch=True,
    fabric_manager=True,
)
FREE: dict[int, Sequence[int]] = dict.fromkeys(EIGHT, ())


@pytest.mark.parametrize(
    ("change", "arguments"),
    [
        ({}, ("--gpu-reset", "-i", "GPU-3")),
        ({"suspects": (5, 3)}, ("--gpu-reset", "-i", "GPU-3,GPU-5")),
        ({"suspects": ()}, ("--gpu-reset",)),
        ({"architecture": "ampere"}, ("--gpu-reset", "-i", "GPU-3")),
        ({"architecture": "ampere", "fabric_manager": False}, ("--gpu-reset",)),
        ({"fabric_manager": None}, ("--gpu-reset",)),
        ({"fabric_manager": None, "nvswitch": None}, ("--gpu-reset",)),
        ({"fabric_manager": False, "nvswitch": False}, ("--gpu-reset", "-i", "GPU-3")),
        ({"architecture": "volta"}, ("--gpu-reset",)),
        ({"architecture": ""}, ("--gpu-reset",)),
        ({"architecture": "volta", "nvlink": False, "nvswitch": False}, ("--gpu-reset", "-i", "GPU-3")),
    ],
)
def test_which_gpus_go_together(change: dict[str, object], arguments: tuple[str, ...]) -> None:
    plan = decide(replace(IDLE, **change))  # type: ignore[arg-type]
    assert isinstance(plan, ResetPlan)
    assert plan.arguments == arguments


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"allocated": True}, "a workload owns the node"),
        ({"allocated": None}, "it is unknown whether"),
        ({"processes": None}, "it is unknown which processes"),
        ({"processes": {**FREE, 3: [4711]}}, "GPU 3: process 4711"),
        ({"processes": {gpu: () for gpu in range(3)}}, "it is unknown which processes are on GPU 3"),
        ({"suspects": (9,)}, "GPU 9 does not answer"),
        ({"gpus": {}, "suspects": ()}, "every GPU does not answer"),
        ({"fabric_manager": False, "processes": {**FREE, 6: [4711]}}, "GPU 6: process 4711"),
    ],
)
def test_what_is_refused(change: dict[str, object], why: str) -> None:
    refusal = decide(replace(IDLE, **change))  # type: ignore[arg-type]
    assert isinstance(refusal, ResetRefusal) and why in refusal.why


def test_a_process_on_another_gpu_does_not_matter_where_one_can_be_reset_alone() -> None:
    assert isinstance(decide(replace(IDLE, processes={**FREE, 6: [4711]})), ResetPlan)


situations = st.builds(
    GpuSituation,
    gpus=st.just({gpu: f"GPU-{gpu}" for gpu in range(4)}),
    suspects=st.lists(st.integers(0, 4), unique=True, max_size=4).map(tuple),
    processes=st.none() | st.dictionaries(st.integers(0, 3), st.lists(st.integers(2, 9), max_size=1)),
    allocated=st.sampled_from([True, False, None]),
    architecture=st.sampled_from(["", "volta", "Ampere", "hopper"]),
    nvlink=st.booleans(),
    nvswitch=st.sampled_from([True, False, None]),
    fabric_manager=st.sampled_from([True, False, None]),
)


@given(situations)
def test_no_gpu_in_use_is_ever_reset(now: GpuSituation) -> None:
    plan = decide(now)
    if isinstance(plan, ResetPlan):
        assert now.allocated is False and now.processes is not None
        assert all(len(now.processes[gpu]) == 0 for gpu in plan.gpus)
        assert set(now.suspects or now.gpus) <= set(plan.gpus) <= set(now.gpus)
        alone = set(plan.gpus) != set(now.gpus)
        assert not (alone and now.nvlink and now.nvswitch and not now.fabric_manager)


class Node:
    """A node with a tool in place of nvidia-smi that writes down how it was called."""

    def __init__(self, tmp_path: Path) -> None:
        self.calls = tmp_path / "calls"
        self.tool = tmp_path / "nvidia-smi"
        self.log: list[str] = []
        self.trouble = ""
        self.set_tool(0)

    def set_tool(self, code: int, output: str = "") -> None:
        self.tool.write_text(f'#!/bin/sh\necho "$*" >> {self.calls}\necho "{output}"\nexit {code}\n')
        self.tool.chmod(0o755)

    @contextmanager
    def driver_closed(self) -> Iterator[None]:
        self.log.append("closed")
        yield
        self.log.append("opened")

    def trouble_after(self, gpus: Sequence[int]) -> str:
        self.log.append(f"read {list(gpus)}")
        return self.trouble

    def reset(self) -> tuple[bool, str]:
        plan = decide(IDLE)
        assert isinstance(plan, ResetPlan)
        return run_plan(plan, self.driver_closed(), str(self.tool), self.trouble_after)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_resets_with_our_own_session_closed_and_reads_the_gpus_again(node: Node) -> None:
    ok, message = node.reset()
    assert ok and "GPU 3 was reset" in message
    assert node.calls.read_text() == "--gpu-reset -i GPU-3\n"
    assert node.log == ["closed", "opened", "read [3]"]


def test_a_reset_that_leaves_the_gpu_sick_has_failed(node: Node) -> None:
    node.trouble = "GPU 3 still needs a reset"
    ok, message = node.reset()
    assert not ok and "GPU 3 still needs a reset" in message


@pytest.mark.parametrize(
    ("code", "output", "why"),
    [
        (255, "GPU 00000000:3B:00.0 is currently in use by another process.", "exit code 255"),
        (4, "Insufficient permissions", "it takes root"),
        (15, "GPU is lost", "fallen off the bus"),
    ],
)
def test_failures_of_the_tool(node: Node, code: int, output: str, why: str) -> None:
    node.set_tool(code, output)
    ok, message = node.reset()
    assert not ok and output in message and why in message
    assert node.log == ["closed", "opened"]


def test_a_node_without_the_tool_says_so(node: Node) -> None:
    node.tool.unlink()
    with pytest.raises(NoAnswer, match="cannot be run"):
        node.reset()
