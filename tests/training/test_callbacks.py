"""Files that trainers write: each node gets back all of them, also those that only another node had."""

from pathlib import Path

import crew
import nodes_with_files
import pytest

from holdfast.training.checkpoint import callbacks
from tests.ports import free_port

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def run(target: object, *arguments: str) -> None:
    port = free_port()
    ranks = [crew.start(target, rank, 2, port, *arguments) for rank in range(2)]  # type: ignore[arg-type]
    for rank in ranks:
        rank.join(crew.TIMEOUT_SECONDS)
        assert rank.exitcode == 0


def test_a_node_gets_the_files_that_only_another_had(place: Path, tmp_path: Path) -> None:
    run(nodes_with_files.write, str(place), str(tmp_path / "before"))
    run(nodes_with_files.read, str(place), str(tmp_path / "after"))  # its memory is empty, as on a new node
    expected = {"deep/rng_0": b"0", "deep/rng_1": b"1", "model": bytes(range(256)) * 10, "empty": b""}
    for rank in range(2):
        restored = tmp_path / "after" / str(rank) / callbacks.RESTORED
        assert (restored.parent / "found").read_text() == str(restored)
        found = {str(path.relative_to(restored)): path.read_bytes() for path in restored.rglob("*") if path.is_file()}
        assert found == expected
