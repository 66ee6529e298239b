"""Wrong numbers and who made them, in real runs of several ranks."""

import json
from pathlib import Path
from typing import Any

import crew
import guarded
import pytest
import torch
from torch import nn

from holdfast.training import Checkpoint, Guard
from holdfast.training.checkpoint.restore import CheckpointError
from holdfast.training.checkpoint.untrusted_steps import FILE
from holdfast.training.guard import bundle
from holdfast.training.guard.finding import GuardFindingKind
from tests.waiting import until


def results(folder: Path, world: int, target: Any, *arguments: Any) -> list[dict[str, Any]]:
    port = crew.free_port()
    ranks = [crew.start(target, rank, world, port, str(folder), *arguments) for rank in range(world)]
    for process in ranks:
        process.join(3600)
        assert process.exitcode == 0
    return [json.loads((folder / f"result.{rank}").read_text()) for rank in range(world)]


@pytest.mark.slow
def test_a_flipped_bit_is_named_by_vote_by_checksum_and_by_replay(place: Path) -> None:
    rows = results(place, 3, guarded.with_faults)
    vote = [GuardFindingKind.REPLICA, 10, 6, [1], True]
    product = [GuardFindingKind.CHECKSUM, 4, 3, [2], True]
    for rank, row in enumerate(rows):
        sums = [one for one in row["found"] if one[0] == GuardFindingKind.CHECKSUM]
        assert [one for one in row["found"] if one[0] == GuardFindingKind.REPLICA] == [vote], rank
        assert sums == [product], rank  # by the rank itself, by the others at the next vote
        assert [one[:4] for one in row["replayed"]] == [
            ["persistent", "persistent", [1], 6],  # since the last step that was proven good: the vote at 5
            ["transient", "transient", [1], 10],
            ["data", "the data did it", [], -1],
        ]
        advice = [one[4] for one in row["replayed"]]
        assert advice[0].startswith("checkpoints of steps 6 to 10 are suspect") and "take the machine out" in advice[0]
        assert advice[1].startswith("checkpoints of steps 10 to 10 are suspect")
        assert advice[2].startswith("no checkpoint is suspect")
        assert sorted(row["marked"]) == [[6, 14]] * 2 + [[10, 14]] * 2, "by rank 0 and by who is named"
        assert row["back"] == [5, "storage"], "all since is suspect"


@pytest.mark.slow
def test_what_fsdp2_shards_is_kept_and_its_vote_is_unknown(place: Path) -> None:
    for row in results(place, 2, guarded.fully_sharded):
        assert (row["step"], row["same"], row["moments"], row["found"]) == (1, True, 4, 0)
        assert "fully sharded state has no replica to compare with" in row["unknown"]


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_ten_thousand_clean_steps_raise_nothing(place: Path) -> None:
    for row in results(place, 4, guarded.clean, 10_000):
        assert row == {"found": [], "good": 10_000, "unknown": {}}


def test_no_number_and_a_jump_are_reported_at_once() -> None:
    guard = Guard(nn.Linear(4, 4), vote_every=0, checksum_every=0)
    for step in range(1, 40):
        assert guard.step(step, loss=2.0 + step % 3 / 10, grad_norm=torch.tensor(1.0)) == []
    jump, nothing = guard.step(40, loss=30.0, grad_norm=float("nan"))
    assert (jump.kind, jump.ranks, jump.since) == (GuardFindingKind.JUMP, (0,), 40)
    assert "loss is 30, expected at most" in jump.sentence()
    assert nothing.kind is GuardFindingKind.NOT_A_NUMBER
    assert "gradient norm is nan" in nothing.sentence()


def test_a_wrong_product_doubts_all_since_that_kind_of_product_was_right() -> None:
    """Layers take turns: that another one was right in between says little of this one."""
    network = nn.Sequential(guarded.Faulty(8, 8), guarded.Faulty(8, 4))
    guard = Guard(network, vote_every=0, checksum_every=2)
    found = []
    for step in range(1, 9):
        network[1].wrong = step >= 5
        network(torch.ones(4, 8))
        found += guard.step(step)
    (wrong,) = found
    assert (wrong.kind, wrong.step, wrong.since) == (GuardFindingKind.CHECKSUM, 8, 5)
    assert "layer 1" in wrong.what


def test_the_evidence_of_a_wrong_product_is_kept_so_that_it_can_be_checked_again(tmp_path: Path) -> None:
    network = nn.Sequential(guarded.Faulty(8, 8))
    guard = Guard(network, vote_every=0, checksum_every=2, evidence=tmp_path)
    network[0].wrong = True
    for step in range(1, 7):
        network(torch.randn(4, 8))
        with torch.no_grad():  # as an optimizer does before `step`
            network[0].weight.add_(1.0)
        guard.step(step)
    (path,) = tmp_path.iterdir()  # of an event that goes on, the first finding
    kept = json.loads(path.read_text())
    assert path.name == "step-00000002.rank-00000.checksum.json"
    assert (kept["step"], kept["rank"], kept["device"]["type"]) == (2, 0, "cpu")
    product = kept["product"]
    assert product["layer"] == "0" and product["weight_shape"] == [8, 8]
    again = sum(a * b for a, b in zip(product["input"], product["weight_column_sums"], strict=True))
    assert abs(again + product["bias_sum"] - product["expected_sum"]) < 1e-4
    assert abs(sum(product["output"]) - product["expected_sum"]) > product["allowed_difference"]


def test_numbers_that_are_none_are_texts_in_the_evidence() -> None:
    assert bundle.plain({"sum": float("nan"), "row": torch.tensor([1.0, float("inf")])}) == {
        "sum": "nan",
        "row": [1.0, "inf"],
    }


def test_one_rank_has_no_replica_and_says_so() -> None:
    guard = Guard(nn.Linear(4, 4), vote_every=1)
    assert guard.step(1) == []
    assert guard.unknown["vote"] == "there is one rank, and no replica to compare it with"
    assert guard.last_good == -1


def test_an_error_of_the_hardware_makes_the_steps_since_suspect(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = Guard(nn.Linear(4, 4), vote_every=0)
    clock = iter(range(100, 200))
    monkeypatch.setattr("holdfast.training.guard.guard.time.time", lambda: float(next(clock)))
    for step in range(1, 11):
        guard.step(step)
    finding = guard.event(106.5, "Xid 94 on GPU 3")
    assert (finding.since, finding.step) == (8, 10)
    assert "checkpoints of steps 8 to 10 are suspect" in finding.sentence()


@pytest.mark.slow
def test_suspect_steps_are_not_loaded_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_NODE", "node0")
    ckpt = Checkpoint(place, replicas=1)
    for step in (1, 2):
        ckpt.save(step, {"weights": torch.full((8,), float(step))})
    until(lambda: ckpt.status()["committed"] >= 2)  # before, step 1 is there too
    ckpt.distrust(2, 2, "rank 0 lied")
    ckpt.close()
    again = Checkpoint(place, replicas=1)
    with pytest.raises(CheckpointError, match="every saved step is suspect"):
        again.load({"weights": torch.zeros(8)})
    again.close()
    (place / FILE).unlink()
    again = Checkpoint(place, replicas=1)
    assert again.load({"weights": torch.zeros(8)}) == 2
    again.close()


@pytest.mark.slow
def test_no_number_soon_after_a_load_leads_to_the_next_tier(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_NODE", "node0")
    ckpt = Checkpoint(place, replicas=1)
    ckpt.save(5, {"weights": torch.full((8,), 5.0)})
    assert ckpt.flush() == [5]
    ckpt.close()
    first = Checkpoint(place, replicas=1)
    assert (first.load({"weights": torch.zeros(8)}), first.loaded_from) == (5, "own memory")
    guard = Guard(nn.Linear(2, 2), vote_every=0, checkpoint=first)
    guard.step(6, loss=float("nan"))
    first.close()
    second = Checkpoint(place, replicas=1)
    assert (second.load({"weights": torch.zeros(8)}), second.loaded_from) == (5, "storage")
    second.close()


def test_what_was_saved_before_this_run_is_not_doubted_for_a_product_of_now() -> None:
    layer = torch.nn.Linear(64, 64)
    layer.register_forward_hook(lambda _, __, output: output.index_fill(1, torch.tensor([3]), 1e6))
    guard = Guard(layer, vote_every=0, checksum_every=20)
    guard.step(39)
    layer(torch.randn(8, 64))
    (finding,) = guard.step(40)
    guard.close()
    assert (finding.kind, finding.since) == (GuardFindingKind.CHECKSUM, 39)
