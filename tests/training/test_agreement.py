"""Ranks that do not know of each other must not take themselves for one another."""

import pytest

from holdfast.training.checkpoint.agreement import Circle


def test_a_rank_of_several_without_a_process_group_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "4")
    with pytest.raises(RuntimeError, match=r"started 4 ranks .* call init_process_group before Checkpoint"):
        Circle()


@pytest.mark.parametrize("world", ["1", "", "many"])
def test_a_single_process_needs_no_process_group(world: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", world)
    assert (Circle().rank, Circle().world) == (0, 1)
