"""Steps in an object store: a real S3 server on loopback, and file systems that fail, lie or are full."""

import errno
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import crew
import pytest
import torch
from fsspec.implementations.memory import MemoryFileSystem

from holdfast.training import Checkpoint
from holdfast.training.checkpoint.format.encoding import encode
from holdfast.training.checkpoint.format.message import EncodingError
from holdfast.training.checkpoint.format.shard import About, Shard
from holdfast.training.checkpoint.storage import storage
from holdfast.training.checkpoint.storage.target import INDEX, TRIES, Remote, rank_name
from tests.ports import free_port

_numbers = itertools.count(1)


def shard_of(step: int, rank: int = 0, world: int = 1) -> Shard:
    encoded = encode({"weights": torch.full((100,), float(step)), "step": step})
    return Shard(About("job", rank, world, step), encoded.tree, encoded.names, encoded.tensors)


def no_sleep(_: float) -> None:
    return


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of one S3 server for all; it and its clients take a second to load."""
    from moto.server import ThreadedMotoServer

    port = free_port()
    server = ThreadedMotoServer("127.0.0.1", port, verbose=False)
    server.start()
    yield f"http://127.0.0.1:{port}"
    server.stop()


@contextmanager
def clients_of(address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    import s3fs

    for name, value in {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": address,
        "AWS_MAX_ATTEMPTS": "1",
        "NO_PROXY": "127.0.0.1",
    }.items():
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()
    yield s3fs.S3FileSystem
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture
def bucket(server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    name = f"checkpoints{next(_numbers)}"
    with clients_of(server, monkeypatch) as client:
        client().mkdir(name)
        yield f"s3://{name}/llama"


def test_a_shard_in_s3_is_found_read_replaced_and_removed(bucket: str) -> None:
    for step in (10, 20, 30):
        for rank in range(2):
            storage.write(bucket, shard_of(step, rank, 2), "run")
    assert storage.shards(bucket, pytest.fail) == [(step, "run", 2, [0, 1]) for step in (10, 20, 30)]
    got, attempt = storage.read(bucket, 10, 1)
    assert (attempt, got.about.rank, got.tensors[0][0].item()) == ("run", 1, 10.0)
    storage.write(bucket, shard_of(10, 1, 2), "again")
    assert storage.writer(bucket, 10, 1) == "again"
    storage.prune(bucket, 2, "run", -1, keep_every=10**9)
    assert [step for step, *_ in storage.shards(bucket, pytest.fail)] == [20, 30]


def test_every_kth_step_stays_for_ever(bucket: str) -> None:
    for step in (100, 150, 200):
        storage.write(bucket, shard_of(step), "run")
        storage.prune(bucket, 1, "run", -1, keep_every=100)
    assert [step for step, _, _ in storage.whole_steps(bucket)] == [100, 200]


def test_damage_in_s3_is_noticed(bucket: str) -> None:
    storage.write(bucket, shard_of(10), "run")
    target = Remote(bucket)
    name = f"{rank_name(10, 0)}/__0_0.distcp"
    raw = bytearray(target.read(name))
    raw[len(raw) // 2] ^= 1
    target.write(name, bytes(raw))
    with pytest.raises(EncodingError, match="differ from those that were saved"):
        storage.read(bucket, 10, 0)


def test_torch_reads_what_is_in_s3_without_holdfast(bucket: str) -> None:
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint._fsspec_filesystem import FsspecReader

    storage.write(bucket, shard_of(10), "run")
    into = {"weights": torch.zeros(100)}
    dcp.load(into, storage_reader=FsspecReader(f"{bucket}/{rank_name(10, 0)}"), no_dist=True)
    assert torch.equal(into["weights"], torch.full((100,), 10.0))


def test_a_server_that_is_gone_costs_the_step_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    with clients_of(f"http://127.0.0.1:{free_port()}", monkeypatch):
        target = Remote("s3://checkpoints/gone", pauses.append)
        target._files.retries = 1  # s3fs tries by itself too
        with pytest.raises(OSError, match="s3://checkpoints/gone: "):
            storage.write(target, shard_of(10), "run")
    assert pauses == [0.5, 1.0, 2.0, 4.0]


class Flawed(MemoryFileSystem):
    """In memory; what goes wrong is decided by `flaw` for each operation and path."""

    cachable = False

    def __init__(self) -> None:
        super().__init__()
        self.log: list[tuple[str, str]] = []
        self.flaw: Any = lambda operation, path: None

    def put_file(self, lpath: str, rpath: str, **options: Any) -> None:
        self.log.append(("put", rpath))
        self.flaw("put", rpath)
        super().put_file(lpath, rpath, **options)

    def rm_file(self, path: str) -> None:
        self.log.append(("remove", path))
        super().rm_file(path)


@pytest.fixture
def flawed(request: pytest.FixtureRequest) -> tuple[Remote, Flawed]:
    target = Remote(f"memory://{request.node.name}", no_sleep)
    files = Flawed()
    target._files = files
    return target, files


def fails(times: int, error: Exception) -> Any:
    left = [times]

    def flaw(operation: str, path: str) -> None:
        if left[0] and operation == "put":
            left[0] -= 1
            raise error

    return flaw


def test_what_fails_a_few_times_is_tried_again(flawed: tuple[Remote, Flawed]) -> None:
    target, files = flawed
    files.flaw = fails(TRIES - 1, ConnectionResetError("reset"))
    storage.write(target, shard_of(10), "run")
    assert storage.read(target, 10, 0)[1] == "run"


def test_a_full_store_leaves_nothing_that_counts(flawed: tuple[Remote, Flawed]) -> None:
    target, files = flawed
    files.flaw = fails(10**6, OSError(errno.ENOSPC, "no space"))
    with pytest.raises(OSError, match="no space"):
        storage.write(target, shard_of(10), "run")
    assert storage.shards(target, pytest.fail) == []


def test_the_index_goes_last_and_that_of_an_earlier_run_is_removed_first(flawed: tuple[Remote, Flawed]) -> None:
    target, files = flawed
    storage.write(target, shard_of(10), "first")
    files.log.clear()
    storage.write(target, shard_of(10), "second")
    assert files.log[0][0] == "remove" and files.log[0][1].endswith(INDEX)
    assert files.log[-1][0] == "put" and files.log[-1][1].endswith(INDEX)


def test_a_writer_that_dies_between_two_files_leaves_nothing_that_counts(flawed: tuple[Remote, Flawed]) -> None:
    target, files = flawed
    storage.write(target, shard_of(10), "first")

    def die(operation: str, path: str) -> None:
        if path.endswith(INDEX):
            raise KeyboardInterrupt

    files.flaw = die
    with pytest.raises(KeyboardInterrupt):
        storage.write(target, shard_of(10), "second")
    assert storage.shards(target, pytest.fail) == []


def test_a_store_that_keeps_other_bytes_is_noticed_at_once(flawed: tuple[Remote, Flawed]) -> None:
    target, files = flawed

    original = MemoryFileSystem.put_file

    def put(self: Any, lpath: str, rpath: str, **options: Any) -> None:
        original(self, lpath, rpath, **options)
        self.pipe_file(rpath, self.cat_file(rpath)[:-1] + b"?")

    files.put_file = put.__get__(files)  # type: ignore[method-assign]
    with pytest.raises(OSError, match="is not what was written"):
        storage.write(target, shard_of(10), "run")


@pytest.mark.slow
def test_a_job_saves_to_s3_and_loads_from_it(place: Path, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_NODE", "node0")
    state = {"weights": torch.full((1000,), 4.0)}
    ckpt = Checkpoint(place, replicas=1, storage_every=4, storage=bucket)
    assert ckpt.save(4, state) and ckpt.flush() == [4], ckpt.troubles
    ckpt.close()
    crew.end_keeper(place, place.name, 0)
    into = {"weights": torch.zeros(1000)}
    again = Checkpoint(place, replicas=1, storage=bucket)
    assert (again.load(into), again.loaded_from) == (4, "storage")
    assert torch.equal(into["weights"], state["weights"])
    again.close()
    assert not list(place.glob("step-*"))
