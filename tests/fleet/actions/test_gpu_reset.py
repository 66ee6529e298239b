"""GPU resets: decided by NVIDIA's rules, refused while anything uses the GPUs, and looked at again afterwards."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.fleet.actions.backend import Result
from holdfast.fleet.actions.gpu_reset import GpuReset, GpuSituation, Plan, Refusal, decide
from holdfast.model.lifecycle import Action, Verb

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
ACTION = Action(node="n1", verb=Verb.RESET_GPU, reason="rung 1", at=5.0)


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
    assert isinstance(plan, Plan)
    assert plan.arguments == arguments


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"allocated": True}, "a workload owns the node"),
        ({"allocated": None}, "nobody can tell whether"),
        ({"processes": None}, "nobody can tell which processes"),
        ({"processes": {**FREE, 3: [4711]}}, "GPU 3: process 4711"),
        ({"processes": {gpu: () for gpu in range(3)}}, "nobody can tell which processes are on GPU 3"),
        ({"suspects": (9,)}, "GPU 9 does not answer"),
        ({"gpus": {}, "suspects": ()}, "every GPU does not answer"),
        ({"fabric_manager": False, "processes": {**FREE, 6: [4711]}}, "GPU 6: process 4711"),
    ],
)
def test_what_is_refused(change: dict[str, object], why: str) -> None:
    refusal = decide(replace(IDLE, **change))  # type: ignore[arg-type]
    assert isinstance(refusal, Refusal) and why in refusal.why


def test_a_process_on_another_gpu_does_not_matter_where_one_can_be_reset_alone() -> None:
    assert isinstance(decide(replace(IDLE, processes={**FREE, 6: [4711]})), Plan)


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
    if isinstance(plan, Plan):
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
        self.situation = IDLE
        self.answer(0)

    def answer(self, code: int, said: str = "") -> None:
        self.tool.write_text(f'#!/bin/sh\necho "$*" >> {self.calls}\necho "{said}"\nexit {code}\n')
        self.tool.chmod(0o755)

    @contextmanager
    def let_go(self) -> Iterator[None]:
        self.log.append("let go")
        yield
        self.log.append("took up")

    def trouble_after(self, gpus: Sequence[int]) -> str:
        self.log.append(f"looked at {list(gpus)}")
        return self.trouble

    @property
    def reset(self) -> GpuReset:
        return GpuReset(lambda: self.situation, self.let_go, self.trouble_after, command=str(self.tool), timeout=20.0)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_resets_with_our_own_session_closed_and_looks_again(node: Node) -> None:
    outcome = node.reset.perform(ACTION, dry_run=False)
    assert outcome.result is Result.DONE
    assert node.calls.read_text() == "--gpu-reset -i GPU-3\n"
    assert node.log == ["let go", "took up", "looked at [3]"]


def test_the_same_action_resets_once(node: Node) -> None:
    reset = node.reset
    assert reset.perform(ACTION, dry_run=False).result is Result.DONE
    assert reset.perform(ACTION, dry_run=False).result is Result.NOTHING_TO_DO
    assert node.calls.read_text().count("\n") == 1
    assert reset.perform(replace(ACTION, at=6.0), dry_run=False).result is Result.DONE


def test_a_dry_run_and_a_refusal_touch_nothing(node: Node) -> None:
    outcome = node.reset.perform(ACTION, dry_run=True)
    assert outcome.dry_run and outcome.said.endswith("--gpu-reset -i GPU-3")
    node.situation = replace(IDLE, allocated=True)
    assert node.reset.perform(ACTION, dry_run=False).result is Result.REFUSED
    assert node.reset.perform(replace(ACTION, verb=Verb.REBOOT), dry_run=False).result is Result.REFUSED
    assert not node.calls.exists() and node.log == []


def test_a_reset_that_leaves_the_gpu_sick_has_failed(node: Node) -> None:
    node.trouble = "GPU 3 still needs a reset"
    outcome = node.reset.perform(ACTION, dry_run=False)
    assert (outcome.result, outcome.retryable) == (Result.FAILED, False)
    assert "GPU 3 still needs a reset" in outcome.said


@pytest.mark.parametrize(
    ("code", "said", "retryable"),
    [
        (255, "GPU 00000000:3B:00.0 is currently in use by another process.", True),
        (255, "Unknown error", False),
        (4, "Insufficient permissions", False),
        (15, "GPU is lost", False),
    ],
)
def test_failures_of_the_tool(node: Node, code: int, said: str, retryable: bool) -> None:
    node.answer(code, said)
    outcome = node.reset.perform(ACTION, dry_run=False)
    assert (outcome.result, outcome.retryable) == (Result.FAILED, retryable)
    assert said in outcome.said
    assert node.log == ["let go", "took up"]


def test_a_node_without_the_tool_says_so(node: Node) -> None:
    node.tool.unlink()
    outcome = node.reset.perform(ACTION, dry_run=False)
    assert (outcome.result, outcome.retryable) == (Result.FAILED, False)
