"""The callbacks under the trainers they are for, where those are installed."""

from pathlib import Path

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from holdfast.formats.job.progress import Steps, decode
from holdfast.training.progress import callbacks as progress_callbacks

STEPS = 12


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOLDFAST_PROGRESS_DIR", str(tmp_path / "kept"))
    monkeypatch.setenv("HOLDFAST_AGENT_SOCKET", str(tmp_path / "nobody.sock"))
    return tmp_path / "kept"


def reported(kept: Path, job: str) -> list[Steps]:
    found = [decode(line) for line in (kept / f"{job}.0.jsonl").read_bytes().splitlines()]
    return [one for one in found if isinstance(one, Steps)]


def test_under_lightning_every_batch_is_a_step(kept, tmp_path):
    lightning = pytest.importorskip("lightning.pytorch", reason="PyTorch Lightning is not installed")

    class Model(lightning.LightningModule):  # type: ignore[misc]
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 1)

        def training_step(self, batch, index):
            return self.layer(batch[0]).square().mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    trainer = lightning.Trainer(
        max_steps=STEPS, callbacks=[progress_callbacks.lightning(job="lit")], accelerator="cpu", devices=1,
        logger=False, enable_progress_bar=False, default_root_dir=tmp_path,
    )  # fmt: skip
    trainer.fit(Model(), DataLoader(TensorDataset(torch.randn(64, 4)), batch_size=4))
    rows = [row for one in reported(kept, "lit") for row in one.rows]
    assert [row.step for row in rows] == list(range(1, STEPS + 1)) and all(row.loss for row in rows)


def test_under_transformers_every_optimizer_step_is_a_step(kept, tmp_path):
    pytest.importorskip("accelerate", reason="Hugging Face's Trainer needs accelerate, which is not installed")
    transformers = pytest.importorskip("transformers", reason="Hugging Face transformers is not installed")

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 1)

        def forward(self, x=None, labels=None):
            return {"loss": self.layer(x).square().mean()}

    options = transformers.TrainingArguments(
        output_dir=str(tmp_path / "out"), max_steps=STEPS, per_device_train_batch_size=4, logging_steps=3, save_steps=6,
        report_to=[], use_cpu=True, disable_tqdm=True,
    )  # fmt: skip
    data = [{"x": torch.randn(4), "labels": torch.zeros(1)} for _ in range(64)]
    callback = progress_callbacks.transformers(job="hf")
    transformers.Trainer(model=Model(), args=options, train_dataset=data, callbacks=[callback]).train()
    rows = [row for one in reported(kept, "hf") for row in one.rows]
    assert [row.step for row in rows] == list(range(1, STEPS + 1))
    assert any(row.loss for row in rows) and reported(kept, "hf")[-1].saved_step == STEPS
