"""A job that goes on with more or fewer ranks: real processes, keepers, storage; FSDP2, HSDP and DDP in one state."""

from pathlib import Path

import crew
import elastic
import pytest

from tests.ports import free_port

pytestmark = pytest.mark.slow


def run(place: Path, world: int, **how: bool) -> None:
    options = {"hybrid": False, "one_node": False, "stored": False, "finish": False, **how}
    port = free_port()
    ranks = [crew.start(elastic.run, rank, world, port, str(place), *options.values()) for rank in range(world)]
    for process in ranks:
        process.join(crew.TIMEOUT_SECONDS)
        assert process.exitcode == 0


def end_keepers(place: Path, world: int) -> None:
    for rank in range(world):
        crew.end_keeper(place, place.name, rank)


def seen(place: Path) -> list[int]:
    return [int(word) for path in place.parent.glob("seen.*") for word in path.read_text().split()]


@pytest.mark.parametrize(("before", "after"), [(2, 1), (3, 2), (1, 3), (4, 3)])
def test_another_number_of_ranks_loads_from_memory(place: Path, before: int, after: int) -> None:
    """Where ranks become fewer, a node is lost with its keeper: its partner has the shard."""
    run(place, before)
    for rank in range(after, before):
        crew.end_keeper(place, place.name, rank)
    run(place, after, finish=True)
    assert set(seen(place)) == set(range(elastic.SAMPLES))
    assert len(seen(place)) - elastic.SAMPLES < max(before, after)


@pytest.mark.parametrize(("before", "after", "one_node"), [(2, 3, False), (4, 2, True)])
def test_another_number_of_ranks_loads_from_storage_under_hsdp(
    place: Path, before: int, after: int, one_node: bool
) -> None:
    """Each node's keeper imports torch to write: where the ranks share a node, one is enough."""
    run(place, before, hybrid=True, stored=True, one_node=one_node)
    end_keepers(place, 1 if one_node else before)
    run(place, after, hybrid=True, stored=True, one_node=one_node, finish=True)
    assert set(seen(place)) == set(range(elastic.SAMPLES))


def test_a_node_that_keeps_its_memory_goes_on_with_fewer_ranks(place: Path) -> None:
    run(place, 3, one_node=True)
    run(place, 2, one_node=True, finish=True)
    assert set(seen(place)) == set(range(elastic.SAMPLES))


@pytest.mark.soak
@pytest.mark.timeout(2400)
@pytest.mark.parametrize(("before", "after"), [(8, 3), (3, 8), (8, 4), (4, 8)])
@pytest.mark.parametrize("stored", [False, True])
def test_eight_ranks_under_hsdp(place: Path, before: int, after: int, stored: bool) -> None:
    run(place, before, hybrid=True, stored=stored, one_node=True)
    if stored:
        end_keepers(place, 1)
    run(place, after, hybrid=True, stored=stored, one_node=True, finish=True)
    assert set(seen(place)) == set(range(elastic.SAMPLES))
