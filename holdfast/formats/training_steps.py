"""Step lines of trainers (Megatron, DeepSpeed, Lightning, Hugging Face, nanoGPT and alike): progress, loss and pace."""

import math
import re
from typing import NamedTuple

from holdfast.formats.keywords import line_start

COMMON = (b"loss", b"Loss", b"elapsed time per iteration", b"trl:", b"it/s", b"s/it")
_STEP = re.compile(
    rb"(?<![\w.])(?:iter(?:ation)?|global_step|steps?|s|update|num_updates|batch)['\"]?"
    rb"[ :=\[]{1,3} *(\d{1,9})(?![\d.]*\d*[eE%])"
)
_BAR = re.compile(rb"\| *(\d{1,9})/(\d{1,9}) \[")
_LOSS = re.compile(
    rb"(?<![\w/])(?<!val )(?<!test )(?<!eval )(?<!valid )"
    rb"(?:lm loss|train[_ ]loss|training_loss|reduced_train_loss|loss/train/total|total_loss|loss train|[Ll]oss|trl)"
    rb"(?:_step)?['\"]?\s*[:=]?\s*['\"]?"
    rb"(?P<loss>-?\d{1,15}(?:\.\d{0,12})?(?:[eE][+-]?\d{1,3})?|[-+]?(?:nan|inf)\b)",
    re.IGNORECASE,
)
_NORM_NAN = re.compile(rb"grad[_ ]norm['\"]?\s*[:=]?\s*['\"]?[-+]?(?:nan|inf)\b", re.IGNORECASE)
_PACE = re.compile(
    rb"elapsed time per iteration \(ms\): *(?P<ms>[\d.]{1,15})"
    rb"|(?<!\w)(?:iter[_ ])?(?:time|dt|step_time)[:= ]+(?P<ms2>[\d.]{1,15}) ?ms"
    rb"|iter time \(s\): *(?P<s>[\d.]{1,15})|(?:train_step_timing in s|step_time)['\"]?[:=] ?(?P<s2>[\d.]{1,15})"
    rb"|(?P<s3>[\d.]{1,12})s/it|(?P<rate>[\d.]{1,12})it/s|\| *(?P<ms3>[\d.]{1,12}) ms \|"
)
_BATCH = re.compile(rb"global batch size: *(\d{1,9})")


class Step(NamedTuple):
    line: int
    step: int | None
    loss: float | None  # NaN and infinity as such
    seconds: float | None  # that one step took; per sample of the batch where the batch is told
    norm_is_nan: bool = False
    raw: bytes = b""


_WORDS = re.compile(rb"[Ll]oss|elapsed time per iteration|trl:|it/s|s/it")


def next_line(block: bytes, at: int) -> int:
    """Where the next line begins that may tell a step, -1 where none does."""
    match = _WORDS.search(block, at)
    return max(line_start(block, match.start()), at) if match else -1


def parse(raw: bytes, number: int) -> Step | None:
    """The step that a line tells, or None. Takes the line undecoded: most of a long log is such lines."""
    loss, pace = _LOSS.search(raw), _PACE.search(raw)
    if loss is None and pace is None:
        return None
    step = _STEP.search(raw) or _BAR.search(raw)
    if step is None and not raw.lstrip().startswith((b"{", b"[", b"\x1b")) and b"'loss'" not in raw:
        return None
    return Step(
        number,
        int(step[1]) if step else None,
        _number(loss["loss"]) if loss else None,
        _seconds(pace, raw) if pace else None,
        bool(_NORM_NAN.search(raw)) if b"nan" in raw or b"NaN" in raw or b"inf" in raw else False,
        raw,
    )


def _number(text: bytes) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _seconds(pace: re.Match[bytes], raw: bytes) -> float | None:
    name = pace.lastgroup or ""
    value = _number(pace[name])
    if not value or not math.isfinite(value):
        return None
    seconds = {"m": value / 1000.0, "s": value, "r": 1.0 / value}[name[0]]
    batch = _BATCH.search(raw)
    return seconds / int(batch[1]) if batch and int(batch[1]) else seconds
