"""Step lines of the common trainers, and what a series of them shows."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.job import training_steps
from holdfast.formats.job.step_series import StepSeries
from holdfast.formats.job.training_steps import TrainingStep, parse

LINES = [
    (" iteration    29020/  311541 | elapsed time per iteration (ms): 22306.6 | lm loss: 2.775923E+00 | loss scale: 32768.0 |", 29020, 2.775923, 22.3066),
    ("steps: 10 loss: 7.3000 iter time (s): 1.250 samples/sec: 8.1", 10, 7.3, 1.25),
    ("Epoch 3:  45%|####   | 450/1000 [01:23<01:42,  5.00it/s, v_num=0, train_loss=2.345]", 450, 2.345, 0.2),
    ("{'loss': 2.345, 'grad_norm': 0.9, 'learning_rate': 5e-05, 'epoch': 0.01}", None, 2.345, None),
    ("{'loss': '2.345', 'grad_norm': '0.9', 'epoch': '0.01'}", None, 2.345, None),
    ("iter 100: loss 3.2345, time 123.45ms, mfu 23.4%", 100, 3.2345, 0.12345),
    ("step  100/19560 | loss 5.123 (+0.3z)| norm 1.2 | lr 2e-4 | 123.4 ms | 45% bf16 MFU | 123456 tok/s", 100, 5.123, 0.1234),
    ("s:9534 trl:3.294388", 9534, 3.294388, None),
    ("\x1b[31mstep: 10  \x1b[32mloss:  7.1234  \x1b[33mgrad_norm: 1.2", 10, 7.1234, None),
    ("Training epoch 0, iteration 9/99 | lr: 1e-5 | global_step: 9 | reduced_train_loss: 11.03 | train_step_timing in s: 12.3", 9, 11.03, 12.3),
    ("epoch: 3451 loss: 0.21", 3451, 0.21, None),
    ("ep 1 train, step 7, loss 250.549, mem_usage:cuda:1 4.9GB, 8.291 sec/step", 7, 250.549, 8.291),
    ("2016-07-23 14:34:15.784645: step 2720, loss = 2.63 (68.5 examples/sec; 3.740 sec/batch)", 2720, 2.63, 3.74),
    ("| [   1/   3][   100/  1000] |  399/1932 batches | ms/batch 4.5376 | train_loss 5.790506e-01", 3, 0.5790506, None),
]  # fmt: skip


@pytest.mark.parametrize(("line", "step", "loss", "seconds"), LINES)
def test_a_step_line(line: str, step: int | None, loss: float, seconds: float | None) -> None:
    found = parse(line.encode(), 1)
    assert found is not None
    assert found.loss == pytest.approx(loss)
    assert found.seconds == (None if seconds is None else pytest.approx(seconds))
    if "batches" not in line:
        assert found.step == step


@pytest.mark.parametrize("line", ["step 4 val loss 3.1", "the loss of a friend", "loss scale: 32768.0", "val_loss=3.2"])
def test_other_losses_are_none(line: str) -> None:
    found = parse(line.encode(), 1)
    assert found is None or found.loss is None


@pytest.mark.parametrize("line", ["iter 5: loss nan, time 1.00ms", "{'loss': 0.0, 'grad_norm': nan, 'epoch': 0.1}"])
def test_what_is_not_a_number_is_seen(line: str) -> None:
    found = parse(line.encode(), 1)
    assert found is not None
    assert found.norm_is_nan or (found.loss is not None and math.isnan(found.loss))


def series(losses: list[float], seconds: list[float] | None = None) -> StepSeries:
    found = StepSeries()
    for number, loss in enumerate(losses):
        found.add(TrainingStep(number + 1, number, loss, seconds[number] if seconds else None))
    return found


def codes(found: StepSeries) -> list[str]:
    return [one.code for one in found.findings()]


def test_a_jump_that_stays_is_a_spike_and_one_step_is_none() -> None:
    assert codes(series([2.5] * 30 + [7.0] * 10)) == ["spike"]
    assert codes(series([2.5] * 30 + [7.0] + [2.5] * 30)) == []
    assert codes(series([2.7, 2.7, 2.7, 7.3, 8.7, 7.6, 7.2])) == ["spike"]


def test_a_falling_or_noisy_loss_is_healthy() -> None:
    assert codes(series([11.0 - n / 20 for n in range(150)])) == []
    assert codes(series([1.0 + (n * 7 % 13) / 10 for n in range(200)])) == []


def test_of_few_steps_a_clean_cut_is_enough() -> None:
    assert codes(series([2.0] * 16, [9.0, *[1.0] * 7, *[3.0] * 8])) == ["slow"]
    assert codes(series([2.0] * 16, [9.0, *[1.0] * 7, *[3.0] * 7, 1.2])) == []
    assert codes(series([2.0] * 12, [1.0] * 8 + [3.0] * 4)) == []


def test_an_evaluation_with_a_bar_of_its_own_is_no_slowdown() -> None:
    reported = StepSeries()
    for line, (step, seconds) in enumerate([(n, 1.0) for n in range(90, 100)] + [(n, 3.0) for n in range(10)], 1):
        reported.add(TrainingStep(line, step, 2.0, seconds))
    assert codes(reported) == []


def test_slower_steps_are_seen_when_they_stay() -> None:
    assert codes(series([2.0] * 200, [1.0] * 100 + [1.7] * 100)) == ["slow"]
    assert codes(series([2.0] * 200, [1.0] * 190 + [9.0] * 10)) == []


def test_memory_stays_small_however_long_the_run() -> None:
    found = series([2.0] * 30_000)
    assert len(found._kept) < 5000
    assert found.steps_after(29_000) > 900


@given(st.binary(max_size=300))
def test_no_line_is_too_strange(raw: bytes) -> None:
    parse(raw + b" loss " + raw, 1)


def _megatron(step: int, seconds: float, loss: float) -> str:
    return (
        f" iteration {step:8d}/  250000 | consumed samples: {step * 1024:12d} | elapsed time per iteration (ms): "
        f"{seconds * 1000:.1f} | learning rate: 1.365E-05 | global batch size:  1024 | lm loss: {loss:.6E} | "
        "loss scale: 1.0 | grad norm: 0.227 | number of skipped iterations:   0 | number of nan iterations:   0 |"
    )


@pytest.mark.parametrize("width", [60, 80, 100, 133, 200])
def test_lines_that_a_terminal_wrapped_are_read_as_one(width: int) -> None:
    whole = [_megatron(step, 12.5, 2.5) for step in range(1, 30)]
    wrapped = [line[at : at + width] for line in whole for at in range(0, len(line), width)]
    block = training_steps.joined(("\n".join(wrapped) + "\n").encode())
    assert block.count(b"\n") == len(wrapped)
    assert [line for line in block.split(b"\n") if line] == [line.encode() for line in whole]


def test_what_is_not_wrapped_stays_as_it_is() -> None:
    block = "\n".join([_megatron(1, 1.0, 2.0), "saving checkpoint at iteration 1 to /ckpt", _megatron(2, 1.0, 2.0)])
    assert training_steps.joined(block.encode()) == block.encode()
    cut = b" iteration        1/  250000 | consumed samples: 1024 | elapsed time per\nTraceback (most recent call last):\n"
    assert training_steps.joined(cut) == cut


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        ("step: 14  loss:  3.24405  memory:  9.46GiB(64.99%)  tps: 8,000  tflops: 0.52", 1 / 8000),
        ("epoch 001: 2 / 78 loss=0.981, ppl=1.97, wps=2000, num_updates=2", 1 / 2000),
        ("Epoch 1/100 | Iter 100/196 | Throughput 50000 samples/s | Loss 1761.0", 1 / 50000),
    ],
)
def test_a_throughput_is_the_pace_of_a_step(line: str, seconds: float) -> None:
    step = training_steps.parse(line.encode(), 1)
    assert step is not None and step.seconds == pytest.approx(seconds)


def pace(change: float, *, noise: float = 0.0, steps: int = 240, at: int = 120) -> list[str]:
    wave = (1.0, 0.5, -0.7, -1.0, 0.3)
    seconds = [(change if n >= at else 1.0) * (1.0 + noise * wave[n % 5]) for n in range(steps)]
    return [one.code for one in series([3.0] * steps, seconds).findings()]


@pytest.mark.parametrize(("change", "noise", "expected"), [
    (1.05, 0.002, ["slow"]), (1.03, 0.002, []), (1.10, 0.03, []), (1.40, 0.03, ["slow"]), (1.0, 0.2, []),
])  # fmt: skip
def test_a_small_drop_is_reported_where_steps_are_even(change: float, noise: float, expected: list[str]) -> None:
    assert pace(change, noise=noise) == expected


@pytest.mark.parametrize(("change", "expected"), [(1.06, ["slow"]), (1.02, [])])
def test_a_small_drop_of_a_short_log(change: float, expected: list[str]) -> None:
    assert pace(change, steps=30, at=15) == expected


def norms(*values: float) -> list[str]:
    found = StepSeries()
    for number, norm in enumerate(values):
        found.add(TrainingStep(number + 1, number, 3.0, None, norm=norm))
    return [one.code for one in found.findings()]


def test_gradients_that_jump() -> None:
    usual = [0.8, 1.0, 1.2] * 10
    assert norms(*usual, 50.0, 60.0, 55.0, *usual) == ["norm"]
    assert norms(*usual, 50.0, *usual) == []
    assert norms(*usual, 6.0, 6.0, 6.0, 6.0) == []


@pytest.mark.parametrize(("line", "norm"), [
    ("{'loss': 2.0, 'grad_norm': 0.9, 'epoch': 0.1}", 0.9),
    (" iteration 5/ 9 | lm loss: 2.7E+00 | grad norm: 1.234 |", 1.234),
    ("step: 10  loss:  7.1  grad_norm: 1.2", 1.2),
    ("step  100/19560 | loss 5.123 | norm 1.5 | lr 2e-4", 1.5),
    ("step 5 loss 2.0 layer_norm_eps: 4.0", None),
])  # fmt: skip
def test_the_norm_of_a_line(line: str, norm: float | None) -> None:
    found = parse(line.encode(), 1)
    assert found is not None
    assert found.norm == norm


@pytest.mark.parametrize("gap", [0, 1, 7, 60, 400, 5_000])
def test_a_gap_never_starts_inside_a_line(gap: int) -> None:
    """A step line that is cut at its front loses its number, or shows another one."""
    block = b"".join(b"iteration %d | lm loss: 2.5 | step 9%d\n" % (number, number) for number in range(300))
    for start, end in training_steps.lines(block, (b"loss",), gap):
        assert block[start:].startswith(b"iteration ")
        assert block[end : end + 1] == b"\n"


def test_a_gradient_norm_behind_another_norm() -> None:
    step = training_steps.parse(b"iteration 4/ 9 | lm loss: 2.5 | layernorm on | gradient_norm: 0.75 |", 1)
    assert step is not None
    assert step.norm == 0.75
