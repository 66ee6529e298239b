"""Numbers that go wrong, steps that become slow, and logs in which nothing is wrong at all."""

from writer.incident import Incident
from writer.lines import init_lines, megatron, nccl


def _hugging_face(first: int, count: int, loss: str | None = None, epoch: float = 0.3) -> list[str]:
    return [
        f"{{'loss': {loss or f'{1.9 - i / 900:.4f}'}, 'grad_norm': {'nan' if loss else f'{0.8 + (i % 4) / 50:.4f}'}, "
        f"'learning_rate': {4.5e-05 - i * 1e-8:.4e}, 'epoch': {epoch + i / 1000:.2f}}}"
        for i in range(first, first + count)
    ]


def _nano(first: int, count: int, loss: float = 3.1, ms: float = 120.0) -> list[str]:
    return [
        f"iter {first + i}: loss {loss - i / 2000 + ((i * 13) % 7) / 60:.4f}, time {ms + i % 5:.2f}ms, mfu 38.10%"
        for i in range(count)
    ]


_SAVES = [
    "  successfully saved checkpoint from iteration    1000 to /ckpt/run9",
    "  successfully saved checkpoint from iteration    1500 to /ckpt/run9",
]

ALL = (
    Incident(
        "nan_hugging_face", "the gradient is not a number any more, and the loss reads 0",
        {"train.log": [*_hugging_face(0, 30), "Saving model checkpoint to out/checkpoint-300", *_hugging_face(30, 5), *_hugging_face(35, 12, "0.0")]},
        "job.nan", "restart_same",
    ),
    Incident(
        "nan_after_load", "NaN three iterations after a load from a replica: an older checkpoint is trusted",
        {"train.log": [_SAVES[0], *megatron(1490, 10, 0), _SAVES[1], *[f" iteration {1497 + i:8d}/  500000 | consumed samples: 766464 | elapsed time per iteration (ms): 5001.0 | learning rate: 1.500E-04 | global batch size:   512 | lm loss: nan | loss scale: 1.0 | grad norm: nan | number of skipped iterations:   0 | number of nan iterations:   1 |" for i in range(6)]]},
        "job.nan", "restart_same", checkpoint="1000",
    ),
    Incident(
        "nan_loss_scale", "DeepSpeed cannot lower the loss scale any further",
        {"train.log": [*megatron(60, 6, 0), *[f"[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {2 ** (8 - i)}, reducing to {2 ** (7 - i)}" for i in range(7)], "Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run."]},
        "job.nan", "restart_same",
    ),
    Incident(
        "loss_spike", "the loss triples and stays there",
        {"train.log": [*megatron(2900, 25, 0, loss=2.77), _SAVES[0].replace("1000", "2920"), *megatron(2925, 12, 125, loss=7.3)]},
        "job.loss_spike", "restart_same", checkpoint="2920",
    ),
    Incident(
        "loss_noise", "a small run with a noisy loss: nothing is wrong",
        {"train.log": _nano(0, 300)},
        None,
    ),
    Incident(
        "slowdown", "from one step on every step takes 1.7 times as long",
        {"train.log": [*megatron(1, 120, 0), *megatron(121, 90, 600, per_step=8.6)]},
        "job.slowdown", "restart_after_probe",
    ),
    Incident(
        "healthy_run", "a run that ends as it should",
        {"train.log": [*init_lines("n01", 0, 4), nccl("n01", 0, "NET/Plugin: No plugin found (libnccl-net.so), using internal implementation", "INFO"), *megatron(1, 60, 0), _SAVES[0], "[after training is done] datetime: 2026-03-04 11:05:01"]},
        None,
    ),
    Incident(
        "words_in_the_data", "the training data talks about errors; samples and docstrings are printed",
        {"train.log": [
            *_nano(0, 20),
            "sample 17: 'How do I fix RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB?'",
            '    """Raises RuntimeError: NCCL error when the Watchdog caught collective operation timeout."""',
            "# NVRM: Xid (PCI:0000:9b:00): 79 means that the GPU has fallen off the bus",
            "generated text: the log said NCCL WARN NET/IB : Got completion from peer 10.0.0.2<33092> with error 12, so we",
            "Traceback (most recent call last):", '  File "question.py", line 3, in <module>', "    x = [][0]", "IndexError: list index out of range",
            "    raise OSError('No space left on device')",
            *_nano(20, 60),
        ]},
        None,
    ),
)  # fmt: skip
