"""Which steps stay in storage over many runs of a job, and that no tensor takes another's place."""

from pathlib import Path

import pytest
import torch

from holdfast.training.checkpoint import untrusted_steps as suspects
from holdfast.training.checkpoint.format.encoding import encode
from holdfast.training.checkpoint.format.shard import About, Shard
from holdfast.training.checkpoint.storage import storage
from holdfast.training.checkpoint.storage.target import INDEX, rank_folder

KEEP = 2


def write(folder: Path, step: int, run: str, ranks: tuple[int, ...] = (0, 1), job: str = "job") -> None:
    for rank in ranks:
        storage.write(folder, Shard(About(job, rank, 2, step), ["list", []], [], []), run)


def steps(folder: Path) -> list[int]:
    return sorted(int(path.name.removeprefix("step-")) for path in folder.glob("step-*"))


def suspect(folder: Path, since: int, until: int, run: str, tier: str = suspects.ANY) -> None:
    suspects.note(folder, suspects.UntrustedStep(since, until, (run,), tier, "why"))


def test_over_many_restarts_the_newest_two_whole_steps_stay(tmp_path: Path) -> None:
    for number in range(1, 6):
        write(tmp_path, 100 * number, f"run {number}")
        storage.prune(tmp_path, KEEP, f"run {number}", 100 * number - 50)
        assert steps(tmp_path) == [step for step in (100 * number - 100, 100 * number) if step]


def test_a_step_that_is_not_whole_yet_counts_for_nothing(tmp_path: Path) -> None:
    for step in (100, 200, 300):
        write(tmp_path, step, "before")
    write(tmp_path, 400, "now", ranks=(0,))
    storage.prune(tmp_path, KEEP, "now", 300)
    assert steps(tmp_path) == [200, 300, 400]


def test_a_run_that_began_anew_throws_nothing_away_until_it_has_its_own(tmp_path: Path) -> None:
    for step in (100, 200, 300):
        write(tmp_path, step, "before")
    write(tmp_path, 150, "now")
    storage.prune(tmp_path, KEEP, "now", -1)
    assert steps(tmp_path) == [100, 150, 200, 300]
    write(tmp_path, 250, "now")
    storage.prune(tmp_path, KEEP, "now", -1)
    assert steps(tmp_path) == [150, 200, 250, 300]


def test_a_run_that_went_back_keeps_what_it_began_from(tmp_path: Path) -> None:
    """Steps 200 and 300 are whole to look at, but could not be read."""
    for step in (100, 200, 300):
        write(tmp_path, step, "before")
    write(tmp_path, 400, "now")
    storage.prune(tmp_path, KEEP, "now", 100)
    assert steps(tmp_path) == [100, 200, 300, 400]
    write(tmp_path, 500, "now")
    storage.prune(tmp_path, KEEP, "now", 100)
    assert steps(tmp_path) == [400, 500]


def test_suspect_steps_do_not_count_as_those_that_are_kept(tmp_path: Path) -> None:
    for step in (100, 200, 300, 400):
        write(tmp_path, step, "before")
    suspect(tmp_path, 250, 350, "before")
    suspect(tmp_path, 350, 450, "before", suspects.STORAGE)
    suspect(tmp_path, 50, 250, "before", suspects.MEMORY)
    write(tmp_path, 500, "now")
    suspect(tmp_path, 500, 500, "now")
    storage.prune(tmp_path, KEEP, "now", 400)
    assert steps(tmp_path) == [100, 200, 300, 400, 500]
    write(tmp_path, 600, "now")
    storage.prune(tmp_path, KEEP, "now", 400)
    assert steps(tmp_path) == [200, 300, 400, 500, 600]


def test_where_every_step_is_suspect_all_stay(tmp_path: Path) -> None:
    for step in (100, 200, 300):
        write(tmp_path, step, "now")
    suspect(tmp_path, 0, 300, "now")
    storage.prune(tmp_path, KEEP, "now", -1)
    assert steps(tmp_path) == [100, 200, 300]


def test_what_another_job_wrote_stays_and_does_not_count(tmp_path: Path) -> None:
    write(tmp_path, 50, "before")
    write(tmp_path, 100, "theirs", job="other")
    write(tmp_path, 150, "theirs", job="other")
    write(tmp_path, 200, "now")
    storage.prune(tmp_path, KEEP, "now", 180)
    assert steps(tmp_path) == [50, 100, 150, 200]
    write(tmp_path, 300, "now")
    storage.prune(tmp_path, KEEP, "now", 180)
    assert steps(tmp_path) == [100, 150, 200, 300]


def test_names_that_look_like_those_made_unique_do_not_collide(tmp_path: Path) -> None:
    names = ["1", "1#2", "1", "1", "1#2", "holdfast"]
    tensors = [torch.full((3,), float(number)) for number in range(len(names))]
    storage.write(tmp_path, Shard(About("job", 0, 1, 5), ["list", []], names, tensors), "run")
    parts = storage.read_index(rank_folder(tmp_path, 5, 0) / INDEX)["parts"]
    assert len(set(parts)) == len(names) and parts[:2] == ["1", "1#2"] and "holdfast" not in parts
    got, _ = storage.read(tmp_path, 5, 0)
    assert [float(tensor[0]) for tensor in got.tensors] == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


@pytest.mark.parametrize(
    "kind", [torch.float32, torch.bfloat16, torch.int8, torch.bool, torch.complex64, torch.float64]
)
@pytest.mark.parametrize("shape", [(), (0, 3), (7,), (3, 5)])
def test_tensors_of_every_kind_are_read_in_place(tmp_path: Path, kind: torch.dtype, shape: tuple[int, ...]) -> None:
    tensor = (torch.randn(shape) * 3).to(kind)
    encoded = encode({"first": torch.zeros(3), "value": tensor})
    written = Shard(About("job", 0, 1, 4), encoded.tree, encoded.names, encoded.tensors)
    storage.write(tmp_path, written, "run")
    got, _ = storage.read(tmp_path, 4, 0)
    assert got.owned and torch.equal(got.tensors[1], tensor) and got.tensors[1].dtype == kind
    index = storage.read_index(rank_folder(tmp_path, 4, 0) / INDEX)
    assert all(len(place) == 7 for place in index["places"] if place[6] != [0, 3])
