"""PyTorch Lightning: its checkpoint is written to memory every five steps, and the keepers hold it.

    python examples/lightning_module.py --dir /tmp/lightning --steps 40

Lightning continues in the middle of an epoch only with a loader that saves its position: torchdata's
StatefulDataLoader.
"""

from typing import Any

import lightning.pytorch as pl
import torch
from outcome import arguments, finish, maybe_die
from torch import nn
from torch.utils.data import TensorDataset
from torchdata.stateful_dataloader import StatefulDataLoader

from holdfast.training import Checkpoint
from holdfast.training.checkpoint.callbacks import LIGHTNING_FILE, lightning, memory_folder, resume


class Module(pl.LightningModule):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.1), nn.Linear(16, 1))

    def training_step(self, batch: Any, index: int) -> torch.Tensor:
        return nn.functional.mse_loss(self.layers(batch[0]).squeeze(1), batch[1])

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters(), lr=1e-2)


def main() -> None:
    options = arguments(__doc__)
    pl.seed_everything(1, verbose=False)
    inputs = torch.randn(60, 8, generator=torch.Generator().manual_seed(2))
    loader = StatefulDataLoader(TensorDataset(inputs, inputs.sum(1)), batch_size=4, shuffle=True)

    class Dying(pl.Callback):  # type: ignore[misc]
        def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
            maybe_die(options, trainer.global_step)

    ckpt = Checkpoint(options.dir, replicas=options.replicas)
    memory = memory_folder(options.dir)
    module = Module()
    restored = resume(ckpt, memory)
    trainer = pl.Trainer(
        max_steps=options.steps, callbacks=[lightning(ckpt, memory, every_steps=5), Dying()], logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        default_root_dir=memory, accelerator="auto", devices=1,
    )  # fmt: skip
    trainer.fit(module, loader, ckpt_path=f"{restored}/{LIGHTNING_FILE}" if restored else None)
    finish(options, module, trainer.global_step)
    ckpt.close()


if __name__ == "__main__":
    main()
