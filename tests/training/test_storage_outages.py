"""A real S3 server that is killed, slow or full during an upload: training goes on, nothing half-written is loaded."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import crew
import pytest
import torch
from faulty_proxy import FaultyProxy

from holdfast.training import Checkpoint
from holdfast.training.checkpoint.storage import storage
from tests.ports import free_port
from tests.waiting import until

pytestmark = pytest.mark.slow
NUMBERS = 300_000
SECONDS = 300.0  # a keeper loads torch and s3fs first


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyProxy]:
    import s3fs
    from moto.server import ThreadedMotoServer

    port = free_port()
    server = ThreadedMotoServer("127.0.0.1", port, verbose=False)
    server.start()
    proxy = FaultyProxy(port)
    names = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
    for name, value in {**names, "AWS_MAX_ATTEMPTS": "1", "NO_PROXY": "127.0.0.1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")  # this process asks the server itself
    monkeypatch.setenv("HOLDFAST_NODE", "node0")
    s3fs.S3FileSystem.clear_instance_cache()
    proxy.bucket = f"checkpoints-{port}"
    s3fs.S3FileSystem().mkdir(proxy.bucket)
    yield proxy
    proxy.close()
    server.stop()
    s3fs.S3FileSystem.clear_instance_cache()


def state(step: int) -> dict[str, Any]:
    return {"weights": torch.full((NUMBERS,), float(step))}


def whole_steps(url: str) -> list[int]:
    """Steps that count in storage; each is read, and is what was saved."""
    found = []
    for step, _, _, _ in storage.shards(url, pytest.fail):
        got, _ = storage.read(url, step, 0)
        assert torch.equal(got.tensors[0], state(step)["weights"])
        found.append(step)
    return sorted(found)


@pytest.mark.parametrize(("fault", "after_bytes"), [("killed", 1), ("killed", 400_000), ("slow", 400_000), ("full", 1)])
def test_training_goes_on_and_nothing_half_written_is_loaded(
    place: Path, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch, fault: str, after_bytes: int
) -> None:
    url = f"s3://{proxy.bucket}/llama"
    assert whole_steps(url) == []  # this process has its connection to the server itself, the keeper one by the proxy
    with monkeypatch.context() as keeper:
        keeper.setenv("AWS_ENDPOINT_URL", proxy.address)
        ckpt = Checkpoint(place, replicas=1, storage_every=1, storage=url)
    saved = [0]

    def save() -> None:
        saved[0] += 1
        assert ckpt.save(saved[0], state(saved[0])), ckpt.troubles

    save()
    until(lambda: whole_steps(url), "the first step in storage", SECONDS)
    before = whole_steps(url)
    proxy.fail_during_an_upload(fault, after_bytes)
    while proxy.mode != fault:
        save()
    for _ in range(10):  # while storage does not work
        save()
    until(lambda: ckpt.status()["committed"] == saved[0], "the commit in memory")
    assert whole_steps(url)[-1] >= before[-1]
    proxy.heal()

    def a_newer_one() -> bool:
        save()
        return whole_steps(url)[-1] > before[-1] + 10

    until(a_newer_one, lambda: f"a step after the outage: {ckpt.troubles}", SECONDS)
    ckpt.close()
    crew.end_keeper(place, place.name, 0)
    again = Checkpoint(place, replicas=1, storage=url)
    into = state(-1)
    step = again.load(into)
    again.close()
    assert step is not None and again.loaded_from == "storage" and step == whole_steps(url)[-1]
    assert torch.equal(into["weights"], state(step)["weights"])
