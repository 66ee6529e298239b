"""Which GPU keeps whose copy, and that nothing of it stays behind; in this process, with the twin of the runtime."""

import resource
from pathlib import Path

import pytest

from holdfast.lab.twin import cuda
from holdfast.training.checkpoint.device import pages as device_pages
from holdfast.training.checkpoint.device.buffers import Shelf
from holdfast.training.checkpoint.device.runtime import CudaError, open_runtime
from holdfast.training.checkpoint.keeper.memory import Pages
from holdfast.training.checkpoint.keeper.shard_store import Copy, ShardStore

pytestmark = pytest.mark.slow  # the twin is compiled
ROOM = 8 << 20


@pytest.fixture(autouse=True)
def gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> cuda.CudaState:
    monkeypatch.setenv("HOLDFAST_CUDART", str(cuda.make(tmp_path / "gpus", gpus=4)))
    return cuda.attach(tmp_path / "gpus")


def used(gpus: cuda.CudaState) -> dict[int, int]:
    return {one.device: one.size for one in gpus.allocation if one.owner}


def own(gpus: cuda.CudaState, number: int) -> str:
    return str(gpus.device[number].bus_id.decode())


def test_every_gpu_keeps_the_copy_of_its_neighbour(gpus: cuda.CudaState) -> None:
    shelf = Shelf({})
    lent = [shelf.lend(rank, 3 << 20, ROOM, own(gpus, rank))["gpu"] for rank in range(4)]
    assert lent == [own(gpus, at) for at in (1, 2, 3, 0)]
    assert used(gpus) == dict.fromkeys(range(4), 4 << 20)


def test_a_rank_whose_gpu_the_keeper_does_not_see_gets_one_that_it_does(gpus: cuda.CudaState) -> None:
    assert Shelf({}).lend(5, 100, ROOM, "0000:FF:00.0")["gpu"] == own(gpus, 1)


def test_a_buffer_is_used_again_and_a_larger_one_takes_its_place(gpus: cuda.CudaState) -> None:
    shelf = Shelf({})
    first = shelf.lend(0, 2 << 20, ROOM, own(gpus, 0))
    assert shelf.lend(0, 1 << 20, ROOM, own(gpus, 0)) == first
    assert shelf.lend(0, 3 << 20, ROOM, own(gpus, 0))["handle"] != first["handle"]
    assert used(gpus) == {1: 4 << 20}


def landed(shelf: Shelf, gpus: cuda.CudaState, step: int, sums: list[tuple[int, int, int]]) -> Pages:
    pages = ShardStore(ROOM).reserve(0, 4096)
    shelf.lend(0, 4096, ROOM, own(gpus, 0))
    shelf.take(0, step, 4096, sums, pages)
    shelf.landed(Copy(0, step, "run", 1, 4096, pages.digest(4096), pages))
    return pages


def test_what_lies_there_is_reported_until_it_is_written_over_or_belongs_to_a_run_that_is_gone(
    gpus: cuda.CudaState,
) -> None:
    shelf = Shelf({})
    landed(shelf, gpus, 7, [])
    assert [row[1] for row in shelf.rows()] == [7]
    shelf.rewind(7)
    assert shelf.fetch(0, 7)["gpu"] == own(gpus, 1)
    shelf.rewind(6)
    assert shelf.rows() == []
    landed(shelf, gpus, 8, [])
    shelf.lend(0, 4096, ROOM, own(gpus, 0))
    with pytest.raises(CudaError, match="step 8 of rank 0 is not in GPU memory"):
        shelf.fetch(0, 8)


def test_after_a_failure_the_process_is_refused_and_its_successor_is_not(gpus: cuda.CudaState) -> None:
    shelf = Shelf({})
    with pytest.raises(CudaError, match="the copy differs from the rank's memory at byte 64"):
        landed(shelf, gpus, 3, [(64, 16, 1)])
    with pytest.raises(CudaError, match="step 3 of rank 0 was lost"):
        shelf.lend(0, 4096, ROOM, own(gpus, 0))
    assert used(gpus), "the process still has it open"
    shelf.greet(0)
    assert not used(gpus)
    landed(shelf, gpus, 4, [(64, 16, 0)])


def test_nothing_is_left_on_the_gpus_when_no_one_is_here(gpus: cuda.CudaState) -> None:
    shelf = Shelf({})
    pages = landed(shelf, gpus, 1, [])
    assert gpus.page_locked == pages.size
    pages.close()
    assert gpus.page_locked == 0
    shelf.clear()
    assert not used(gpus) and shelf.rows() == []
    landed(shelf, gpus, 2, [])


def test_pages_that_cannot_be_locked_are_used_as_they_are(gpus: cuda.CudaState) -> None:
    runtime = open_runtime()
    pages = Pages.new("test", resource.getpagesize())
    gpus.device[0].fault = 999
    device_pages.lock(runtime, pages)
    gpus.device[0].fault = 0
    device_pages.lock(runtime, pages)
    assert gpus.page_locked == 0
    pages.close()
