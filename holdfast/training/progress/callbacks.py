"""Progress callbacks for PyTorch Lightning and Hugging Face, which are imported only when used."""

from typing import Any

from holdfast.training.progress.progress import Progress


def lightning(job: str = "", **options: Any) -> Any:
    """Callback for `Trainer(callbacks=[lightning(job="llama")])`."""
    try:
        from lightning.pytorch import Callback
    except ImportError:
        from pytorch_lightning import Callback  # the former name of the package

    class ProgressCallback(Callback):  # type: ignore[misc]
        """A step is a batch. A model that the strategy wraps in DDP is watched."""

        def on_train_start(self, trainer: Any, module: Any) -> None:
            rank, world = trainer.global_rank, trainer.world_size
            self.progress = Progress(job, rank=rank, world=world, step=trainer.global_step, **options)
            if trainer.model is not module:
                self.progress.watch(trainer.model)

        def on_train_batch_start(self, trainer: Any, module: Any, batch: Any, index: int) -> None:
            self.progress.begin()

        def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, batch: Any, index: int) -> None:
            loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
            self.progress.note(loss=loss)
            self.progress.end()

        def on_save_checkpoint(self, trainer: Any, module: Any, checkpoint: Any) -> None:
            self.progress.saved(self.progress.made)

        def on_train_end(self, trainer: Any, module: Any) -> None:
            self.progress.close()

        def on_exception(self, trainer: Any, module: Any, exception: BaseException) -> None:
            if hasattr(self, "progress"):
                self.progress.close()

    return ProgressCallback()


def transformers(job: str = "", **options: Any) -> Any:
    """Callback for `Trainer(callbacks=[transformers(job="llama")])`."""
    from transformers import TrainerCallback

    class ProgressCallback(TrainerCallback):  # type: ignore[misc]
        """A step is an optimizer step, including its accumulated batches."""

        def on_train_begin(self, arguments: Any, state: Any, control: Any, **more: Any) -> None:
            self.progress = Progress(job, step=state.global_step, **options)
            self._watched = False

        def on_step_begin(self, arguments: Any, state: Any, control: Any, model: Any = None, **more: Any) -> None:
            if not self._watched and hasattr(model, "no_sync"):
                self._watched = True
                self.progress.watch(model)
            self.progress.begin()

        def on_step_end(self, arguments: Any, state: Any, control: Any, **more: Any) -> None:
            self.progress.end()

        def on_log(self, arguments: Any, state: Any, control: Any, logs: Any = None, **more: Any) -> None:
            """Logs come after a step: the next step carries them."""
            reported = logs or {}
            self.progress.note(loss=reported.get("loss"), gradient_norm=reported.get("grad_norm"))

        def on_save(self, arguments: Any, state: Any, control: Any, **more: Any) -> None:
            self.progress.saved(state.global_step)

        def on_train_end(self, arguments: Any, state: Any, control: Any, **more: Any) -> None:
            self.progress.close()

    return ProgressCallback()
