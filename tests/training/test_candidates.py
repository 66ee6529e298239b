"""Which steps can be loaded from what is left, and who reads where."""

from holdfast.training.checkpoint.candidates import Found, StepCandidate, candidates, sources
from holdfast.training.checkpoint.keeper_client import Held
from holdfast.training.checkpoint.untrusted_steps import MEMORY, STORAGE, UntrustedStep, trusted


def found(node: int, *copies: tuple[int, int], stored: tuple[tuple[object, ...], ...] = (), run: str = "run") -> Found:
    """A node of four, each with one rank, that holds (rank, step)."""
    held = tuple(Held(rank, step, run, 4, 100, "") for rank, step in copies)
    return Found(f"node{node}", f"host{node}:1", held, stored)


def test_a_step_is_whole_when_memory_and_storage_together_have_every_rank() -> None:
    """Node 0 is new, node 2 as well: they kept each other's copies, and had written step 20 before they were lost."""
    seen = [
        found(0, stored=((10, "run", 4, [0, 1, 2, 3]), (20, "run", 4, [0, 2]), (30, "run", 4, [0]))),
        found(1, (1, 20), (3, 20), (1, 30), (3, 30)),
        found(2),
        found(3, (1, 20), (3, 20), (1, 30), (3, 30)),
    ]
    rows = candidates(seen)
    assert [row.step for row in rows] == [20, 10]
    assert [sources(seen, rank, rows[0]) for rank in range(4)] == [[], ["", "host3:1"], [], ["", "host1:1"]]
    assert all(sources(seen, rank, rows[1]) == [] for rank in range(4))


def test_shards_of_two_runs_never_make_one_step() -> None:
    rest = ((20, "before", 4, [0, 1]), (20, "run", 4, [0, 1]))
    assert candidates([found(0, (2, 20), stored=rest), found(1), found(2, (3, 20), run="other"), found(3)]) == []


def test_what_is_left_when_a_tier_is_not_trusted_must_still_be_whole() -> None:
    both = StepCandidate(20, "run", 2, frozenset({0}), frozenset({0, 1}))
    mixed = StepCandidate(20, "run", 2, frozenset({0}), frozenset({1}))

    def against(tier: str) -> list[UntrustedStep]:
        return [UntrustedStep(20, 25, ("run",), tier, "no number")]

    assert trusted([both, mixed], against(MEMORY)) == [StepCandidate(20, "run", 2, frozenset(), frozenset({0, 1}))]
    assert trusted([both, mixed], against(STORAGE)) == []
    assert trusted([both, mixed], []) == [both, mixed]
