"""The tier in GPU memory, with real processes and the twin of the CUDA runtime: the product's code is the same."""

import json
import os
import random
import signal
from pathlib import Path
from typing import Any

import crew
import pytest
import torch

from holdfast.lab.twin import cuda
from holdfast.training import Checkpoint
from holdfast.training.checkpoint.device.pages import address_of
from holdfast.training.checkpoint.device.runtime import CudaError, Runtime, open_runtime
from holdfast.training.checkpoint.keeper_client import Keeper

pytestmark = pytest.mark.slow
ROOM = 64 << 20


@pytest.fixture(autouse=True)
def gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> cuda.CudaState:
    """Two simulated GPUs for everything that is started from here."""
    monkeypatch.setenv("HOLDFAST_NODE", "node0")
    monkeypatch.setenv("HOLDFAST_CUDART", str(cuda.make(tmp_path / "gpus")))
    return cuda.attach(tmp_path / "gpus")


def state(value: float) -> dict[str, Any]:
    """All that makes a tensor's bytes special: order, size, signs, numbers of two parts, nothing at all."""
    value = float(value)
    grid = torch.arange(12.0).reshape(3, 4) * value
    return {
        "weights": torch.full((1000,), value),
        "turned": grid.t(),
        "part": torch.arange(9, dtype=torch.int16)[1:] * int(value),
        "byte": torch.tensor(True),
        "mirrored": torch.view_as_complex(torch.full((3, 2), value)).conj(),
        "empty": torch.zeros(0, 5),
        "half": torch.full((5,), -value, dtype=torch.bfloat16),
        "note": f"step {value}",
    }


def kept(place: Path, *steps: int, **options: Any) -> Checkpoint:
    ckpt = Checkpoint(place, replicas=1, **{"gpu_bytes": ROOM, **options})
    for step in steps:
        assert ckpt.save(step, state(step)), ckpt.troubles
    return ckpt


def train_until_killed(folder: str) -> None:
    ckpt = kept(Path(folder), 1, 2, 3)
    Path(folder, "result").write_text(json.dumps(ckpt.status()))
    ckpt.save(4, state(4))
    os.kill(os.getpid(), signal.SIGKILL)


def load_elsewhere(folder: str) -> None:
    ckpt = Checkpoint(folder, replicas=1, gpu_bytes=ROOM)
    into = state(0)
    step = ckpt.load(into)
    torch.save((step, ckpt.loaded_from, into, ckpt.troubles), Path(folder, "loaded"))


def loaded(place: Path) -> tuple[int, str, dict[str, Any], dict[str, str]]:
    process = crew.start(load_elsewhere, 0, 1, 0, str(place))
    process.join(crew.TIMEOUT_SECONDS)
    assert process.exitcode == 0
    step, source, into, troubles = torch.load(place / "loaded", weights_only=True)
    return step, source, into, troubles


def assert_same(into: dict[str, Any], value: float) -> None:
    for name, expected in state(value).items():
        same = torch.equal(into[name], expected) if isinstance(expected, torch.Tensor) else into[name] == expected
        assert same, name


def copy_on_gpu(place: Path, step: int) -> tuple[Keeper, Runtime, int, int]:
    rank, runtime = Keeper(place.name, place, 0, 1), open_runtime()
    held = next(row for row in rank.attach() if row.step == step)
    return rank, runtime, runtime.open(rank.fetch_gpu(step)["handle"]), held.size


def test_a_killed_rank_comes_back_from_the_memory_of_another_gpu(place: Path, gpus: cuda.CudaState) -> None:
    process = crew.start(train_until_killed, 0, 1, 0, str(place))
    process.join(crew.TIMEOUT_SECONDS)
    assert process.exitcode == -signal.SIGKILL
    output = json.loads((place / "result").read_text())
    assert output["gpu"]["where"] == "another GPU than the rank's"
    assert output["gpu"]["gpu"] == gpus.device[1].bus_id.decode()
    assert gpus.page_locked > 0, "the host memory to which the keeper takes the copies"
    step, source, into, _ = loaded(place)
    assert (step, source) == (4, "GPU memory")
    assert_same(into, 4)


def test_a_flipped_byte_in_gpu_memory_leads_to_the_next_tier(place: Path) -> None:
    ckpt = kept(place, 1, 2)
    ckpt.close()
    rank, runtime, pointer, size = copy_on_gpu(place, 2)
    byte = bytearray(1)
    runtime.copy(address_of(byte), pointer + size - 3, 1)
    byte[0] ^= 4
    runtime.copy(pointer + size - 3, address_of(byte), 1)
    rank.close()
    step, source, into, troubles = loaded(place)
    assert (step, source) == (2, "own memory")
    assert "step 2 from GPU memory: the bytes differ from those that were saved" in troubles["load"]
    assert_same(into, 2)


def test_too_little_gpu_memory_is_reported_once_and_host_memory_is_used(place: Path, gpus: cuda.CudaState) -> None:
    gpus.device[1].total = 1 << 20
    ckpt = kept(place, 1, 2)
    assert "GPU 0000:19:00.0 has no 2097152 bytes for rank 0, 1048576 are free" in ckpt.troubles["GPU memory of rank 0"]
    status = ckpt.status()
    assert "a buffer of the keeper's process in host memory" in status["gpu"]["where"] and status["on_gpu"] == []
    ckpt.close()
    assert loaded(place)[:2] == (2, "own memory")


def test_a_gpu_that_is_lost_costs_the_step_that_lay_there_alone_and_not_the_training(
    place: Path, gpus: cuda.CudaState
) -> None:
    ckpt = kept(place, 1)
    ckpt.status()
    gpus.device[1].fault = 999
    assert ckpt.save(2, state(2)), "through host memory"
    assert "unknown error (999)" in ckpt.troubles["GPU memory of rank 0"]
    ckpt.close()
    step, source, into, _ = loaded(place)
    assert (step, source) == (2, "own memory")
    assert_same(into, 2)


@pytest.mark.parametrize("part", [1, 3])  # the description, and a tensor
def test_what_arrives_on_the_gpu_damaged_is_not_kept(place: Path, gpus: cuda.CudaState, part: int) -> None:
    ckpt = kept(place, 1)
    ckpt.status()
    gpus.flip_copy = part
    ckpt.save(2, state(2))
    assert [row[1] for row in ckpt.status()["held"]] == [1]
    assert ckpt.save(3, state(3))
    assert "step 2 of rank 0 was lost" in ckpt.troubles["last save"]
    assert ckpt.save(4, state(4)) and "last save" not in ckpt.troubles
    assert "step 2 of rank 0 was lost on GPU 0000:19:00.0" in ckpt.troubles["GPU memory of rank 0"]
    ckpt.close()
    assert loaded(place)[:2] == (4, "own memory")


def test_a_rank_killed_while_it_copies_leaves_the_step_before(place: Path) -> None:
    kept(place, 1).close()
    rank = Keeper(place.name, place, 0, 1)
    rank.attach()
    rank.lend({"size": 5000, "budget": ROOM, "gpu": "0000:18:00.0"})
    rank.close()  # what the kernel does for a killed process: the buffer was never handed over
    assert loaded(place)[:2] == (1, "own memory")


@pytest.mark.parametrize("broken", ["refuse_handles", "no_peer_access"])
def test_a_handle_that_cannot_be_opened_and_gpus_that_do_not_reach_each_other(
    place: Path, gpus: cuda.CudaState, broken: str
) -> None:
    setattr(gpus, broken, 1)
    ckpt = kept(place, 1)
    result = ckpt.status()["gpu"]
    if broken == "refuse_handles":
        assert "invalid resource handle (400)" in ckpt.troubles["GPU memory of rank 0"]
    else:
        assert result["gpu"] == "0000:18:00.0" and result["where"] == "the rank's own GPU: no other is reached"
    ckpt.close()


def test_a_state_that_outgrows_its_buffer_and_its_budget(place: Path, gpus: cuda.CudaState) -> None:
    ckpt = kept(place, 1, gpu_bytes=4 << 20)
    large = {"weights": torch.ones(3 << 18)}
    assert ckpt.save(2, large) and ckpt.status()["gpu"]["gpu"]
    assert ckpt.save(3, {"weights": torch.ones(3 << 19)})
    assert "8388608 bytes for rank 0 exceed the granted 4194304" in ckpt.troubles["GPU memory of rank 0"]
    assert sum(one.size for one in gpus.allocation if one.owner) == 0, "what is too small is given back"
    ckpt.close()


def test_without_the_word_no_gpu_is_touched(place: Path, gpus: cuda.CudaState) -> None:
    ckpt = Checkpoint(place, replicas=1)
    assert ckpt.save(1, state(1))
    assert "gpu_bytes was not given" in ckpt.status()["gpu"]["where"]
    assert not any(one.owner for one in gpus.allocation)
    ckpt.close()


def test_a_machine_without_a_runtime_goes_on_in_host_memory(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_CUDART", str(place / "nowhere.so"))
    ckpt = kept(place, 1)
    assert "nowhere.so is not a CUDA runtime" in ckpt.status()["gpu"]["where"]
    ckpt.close()


def test_a_failure_of_ours_is_not_left_behind_for_torch_to_find(gpus: cuda.CudaState) -> None:
    runtime = open_runtime()
    with pytest.raises(CudaError, match="invalid resource handle"):
        runtime.open(b"no handle".ljust(64, b"!"))
    assert runtime._library.cudaGetLastError() == 0


@pytest.mark.soak
def test_a_training_killed_again_and_again_ends_with_the_bits_of_one_that_was_not(place: Path, tmp_path: Path) -> None:
    alone = tmp_path / "alone"
    alone.mkdir()
    undisturbed = crew.Run(alone, 60, world=2)
    undisturbed.start()
    expected = undisturbed.finish()["fingerprint"]
    run = crew.Run(place, 60, world=2, options=("--gpu-bytes", str(ROOM)))
    run.start()
    for step in sorted(random.sample(range(2, 58), 5)):
        run.until_step(step)
        run.kill(step % 2)
        run.start()
    assert run.finish()["fingerprint"] == expected
    assert {source for rank in range(2) for _, source in run.loads(rank)[1:]} <= {"GPU memory", "own memory"}
