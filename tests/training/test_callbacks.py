"""Files that trainers write: each node gets back all of them, also those that only another node had."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import crew
import lightning.pytorch as pl
import nodes_with_files
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

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


class Lightning(pl.LightningModule):  # type: ignore[misc]
    """One optimizer, or two that step by hand in each batch."""

    def __init__(self, optimizers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(2, 1) for _ in range(optimizers))
        self.automatic_optimization = optimizers == 1

    def training_step(self, batch: Any, index: int) -> torch.Tensor | None:
        if self.automatic_optimization:
            loss: torch.Tensor = self.layers[0](batch[0]).square().mean()
            return loss
        for layer, optimizer in zip(self.layers, self.optimizers(), strict=True):
            optimizer.zero_grad()
            self.manual_backward(layer(batch[0]).square().mean())
            optimizer.step()
        return None

    def configure_optimizers(self) -> Any:
        return [torch.optim.SGD(layer.parameters(), lr=0.1) for layer in self.layers]


@pytest.mark.parametrize(
    ("optimizers", "accumulate", "every", "expected"),
    [
        (1, 3, 1, [(3, 1), (6, 2), (9, 3)]),  # never between two batches whose gradients are accumulated
        (1, 3, 2, [(6, 2)]),
        (
            2,
            1,
            3,
            [(2, 4), (3, 6), (5, 10), (6, 12), (8, 16), (9, 18)],
        ),  # two steps a batch jump over multiples of three
    ],
)
def test_lightning_is_saved_where_no_gradient_is_lost_and_no_interval_is_left_out(
    tmp_path: Path, optimizers: int, accumulate: int, every: int, expected: list[tuple[int, int]]
) -> None:
    saved: list[tuple[int, int]] = []
    trainer = pl.Trainer(
        max_epochs=1, accumulate_grad_batches=accumulate, logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, default_root_dir=tmp_path, accelerator="cpu", devices=1,
    )  # fmt: skip
    ckpt: Any = SimpleNamespace(
        circle=SimpleNamespace(share=lambda value: None),
        report=lambda about, problem: None,
        save=lambda step, state: saved.append((trainer.fit_loop.epoch_loop.batch_progress.current.processed, step)),
    )
    trainer.callbacks.append(callbacks.lightning(ckpt, tmp_path, every_steps=every))
    trainer.fit(Lightning(optimizers), DataLoader(TensorDataset(torch.ones(10, 2)), 1))
    assert saved == expected
