"""Hugging Face's Trainer: it writes its checkpoints to memory, the keepers hold them, and a restart resumes from them.

python examples/hf_trainer.py --dir /tmp/trainer --steps 40
"""

import torch
from outcome import arguments, finish, maybe_die
from torch import nn
from transformers import Trainer, TrainerCallback, TrainingArguments

from holdfast.training import Checkpoint
from holdfast.training.checkpoint.callbacks import memory_folder, resume, transformers


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.1), nn.Linear(16, 1))

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"loss": nn.functional.mse_loss(self.layers(x).squeeze(1), labels)}


def main() -> None:
    options = arguments(__doc__)
    torch.manual_seed(1)
    inputs = torch.randn(60, 8, generator=torch.Generator().manual_seed(2))
    data = [{"x": row, "labels": row.sum()} for row in inputs]
    memory = memory_folder(options.dir)  # in /dev/shm; the keepers hold the copies that survive
    settings = TrainingArguments(
        output_dir=str(memory), max_steps=options.steps, per_device_train_batch_size=4, learning_rate=1e-2,
        save_strategy="steps", save_steps=5, save_total_limit=1, report_to=[], disable_tqdm=True,
        use_cpu=not torch.cuda.is_available(),
    )  # fmt: skip

    class Dying(TrainerCallback):
        def on_step_end(self, arguments, state, control, **more):  # type: ignore[no-untyped-def]
            maybe_die(options, state.global_step)

    ckpt = Checkpoint(options.dir, replicas=options.replicas)
    model = Model()
    trainer = Trainer(model=model, args=settings, train_dataset=data, callbacks=[transformers(ckpt), Dying()])
    trainer.train(resume_from_checkpoint=resume(ckpt, memory))
    finish(options, model, trainer.state.global_step)
    ckpt.close()


if __name__ == "__main__":
    main()
