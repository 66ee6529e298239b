"""Parses the step lines of trainers (Megatron, DeepSpeed, Lightning, Hugging Face, nanoGPT): step, loss, step time."""

import math
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from holdfast.formats.lines.keywords import line_end, line_start

COMMON = (b"loss", b"Loss", b"elapsed time per iteration", b"trl:", b"it/s", b"s/it", b"samples/s", b"images/s")
_STEP = re.compile(
    rb"(?<![\w.])(?:iter(?:ation)?|global_step|steps?|s|update|num_updates|batch)['\"]?"
    rb"[ :=\[]{1,3} *(\d{1,9})(?![\d.]*\d*[eE%])"
)
_BAR = re.compile(rb"\| *(\d{1,9})/\d{1,9} \[")
_ANSI = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")
_OTHER_BAR = re.compile(
    rb"\s*(?!Epoch|Train|Step|Iter|epoch|train|step|iter)[A-Za-z][^|\n]{0,80}: +\d{1,3}%\|?"
)  # progress of loading or of data, not of training
_EPOCH = re.compile(
    rb"(?i:epoch|batch|(?<![a-z])(?:ep|itr))['\"]?[ :=\[#]{1,3} *(\d{1,9})(?![.\d])"
    rb"|(?<![\d./])(\d{1,9}) ?/ {0,8}\d{1,9}(?![\d./])"
)
_LOSS = re.compile(
    rb"(?<![\w/])(?<!val )(?<!test )(?<!eval )(?<!valid )"
    rb"(?:lm loss|train[_ ]loss|training_loss|reduced_train_loss|loss/train/total|total_loss|loss train|[Ll]oss|trl)"
    rb"(?:_step)?['\"]?\s*(?:[:=]|is )?\s*['\"]?"
    rb"(?P<loss>-?\d{1,15}(?:\.\d{0,12})?(?:[eE][+-]?\d{1,3})?|[-+]?(?:nan|inf(?:inity)?)\b)",
    re.IGNORECASE,
)
_OTHER_LOSS = re.compile(
    rb"(?<![\w/])(?!val|eval|test|dev|aux)[a-z]{1,12}[_-]?loss\w{0,12}['\"]?\s*[:=]\s*['\"]?"
    rb"(?P<loss>-?\d{1,15}(?:\.\d{0,12})?(?:[eE][+-]?\d{1,3})?|[-+]?(?:nan|inf)\b)",
    re.IGNORECASE,
)  # a part of the loss, used if the line has no total
_MEANT = re.compile(rb"reduced_train_loss['\"]?[:=] ?(?P<loss>\d{1,15}(?:\.\d{0,12})?(?:[eE][+-]?\d{1,3})?)")
"""The loss of NeMo's bar. The running mean beside it is NaN even in healthy runs."""
_NORM_NAN = re.compile(rb"grad[_ ]?norm['\"]?\s*[:=]?\s*['\"]?[-+]?(?:nan|inf)\b", re.IGNORECASE)
_NORM = re.compile(
    rb"(?:grad(?:ient)?[_ ]?norm|gnorm|(?<![\w-])norm)['\"]?\s*[:=]?\s*['\"]?"
    rb"(\d{1,12}(?:\.\d{0,12})?(?:[eE][+-]?\d{1,3})?)(?![\w.%])"
)
_STEP_TIMES = tuple(  # (keyword, pattern of the number, factor to seconds)
    (word, re.compile(regex), unit)
    for word, regex, unit in (
        (b"elapsed time per iteration (ms)", rb"\(ms\): *([\d.]{1,15})", "ms"),
        (b"iter time (s)", rb"\(s\): *([\d.]{1,15})", "s"),
        (b"step_timing in s", rb"in s['\"]?[:=] ?([\d.]{1,15})", "s"),
        (b"step_time", rb"step_time['\"]?[:=] ?([\d.]{1,15})(?! ?ms)", "s"),
        (b"s/it", rb"([\d.]{1,12})s/it", "s"),
        (b"sec/step", rb"([\d.]{1,12}) ?sec/step", "s"),
        (b"sec/batch", rb"([\d.]{1,12}) ?sec/batch", "s"),
        (b"it/s", rb"([\d.]{1,12})it/s", "rate"),
        (b"tps:", rb"tps: *([\d.,]{1,15})", "rate"),
        (b"SamplesPerSec=", rb"SamplesPerSec=([\d.]{1,15})", "rate"),
        (b"wps=", rb"wps=([\d.]{1,15})", "rate"),
        (b"samples/s", rb"([\d.,]{1,15}) ?samples/s", "rate"),
        (b"images/s", rb"([\d.,]{1,15}) ?images/s", "rate"),
        (b"examples/s", rb"([\d.,]{1,15}) ?examples/s", "rate"),
        (b"tokens/s", rb"([\d.,]{1,15}) ?tokens/s", "rate"),
        (b"ms", rb"(?<!\w)(?:iter[_ ])?(?:time|dt|step_time)[:= ]+([\d.]{1,15}) ?ms|\| *([\d.]{1,12}) ms \|", "ms"),
    )
)
_BEFORE_THE_WORD = 40
_BEFORE_NORM = 10  # bytes before `norm`: `gradient_`, and the character before that
_METRICS = re.compile(
    rb"\s*(?:[\w/.-]{1,40}[:=] ?[-+]?(?:[\d.]{1,20}(?:e[-+]?\d+)?|nan|inf)[\s,;|]{1,4}){2}"
)  # only names that have a value
_BATCH = re.compile(rb"global batch size: *(\d{1,9})")


NOT_A_NUMBER = tuple(
    name + between + value
    for name in (b"loss", b"Loss", b"norm", b"trl")
    for between in (b": ", b"=", b" ", b" is ", b"': ", b'": ', b":")
    for value in (b"nan", b"NaN", b"inf", b"Infinity")
)
"""Words of a line that must be read however long the log is."""


_STEP_HEAD = re.compile(rb"[^\n|]{0,80}\biteration +\d{1,9}/ *\d{1,9} \|[^\n]*")  # Megatron's step line
_OWN_LINE = re.compile(rb"\biteration +\d")
_MOST_PIECES = 10
_PROOFS = 3  # after this many complete step lines a block is not searched for others


def joined(block: bytes) -> bytes:
    """Joins wrapped step lines. The line ends move behind the joined line, so that other lines keep their numbers."""
    pieces: list[bytes] = []
    done = whole = 0
    at = block.find(b"iteration ")
    while at >= 0 and (pieces or whole < _PROOFS):
        head = _STEP_HEAD.match(block, line_start(block, at))
        end = _end_of_wrapped(block, head) if head else at
        if head and end > head.end():
            text = block[head.start() : end]
            pieces += [block[done : head.start()], text.replace(b"\n", b""), b"\n" * text.count(b"\n")]
            done = end
        whole += bool(head) and end == (head.end() if head else 0)
        at = block.find(b"iteration ", max(end, line_end(block, at)))
    return b"".join([*pieces, block[done:]]) if pieces else block


def _end_of_wrapped(block: bytes, head: re.Match[bytes]) -> int:
    """The end of a wrapped line: all pieces but the last have the terminal's width, and the last ends with a bar."""
    width, end = len(head[0]), head.end()
    for _ in range(_MOST_PIECES):
        start, stop = end + 1, line_end(block, end + 1)
        piece = block[start:stop]
        if not piece or len(piece) > width or _OWN_LINE.search(piece):
            return head.end()
        end = stop
        if len(piece) < width:
            return end if piece.rstrip().endswith(b"|") else head.end()
    return head.end()


class TrainingStep(NamedTuple):
    line: int
    step: int | None
    loss: float | None  # NaN and infinity as such
    seconds: float | None  # per step, or per sample if the line reports the batch size
    norm_is_nan: bool = False
    raw: bytes = b""
    norm: float | None = None  # of the gradients


_SPEAKER = re.compile(
    rb"\s*(?:\x1b\[[\d;]*m)*(\[(?:rank|default)\d+\]|\[\d+,\d+\]<|\(\w+ pid=\d+|\d{1,5}: |[\w.-]+\d: )"
)


def lines(block: bytes, words: Iterable[bytes], sparse_bytes: int) -> Iterator[tuple[int, int]]:
    """Start and end of the lines with one of the words; at most one line per so many bytes."""
    following = {word: block.find(word) for word in words}
    at = 0
    while at < len(block):
        for word, place in following.items():
            if 0 <= place < at:
                following[word] = block.find(word, at)
        hit = min((place for place in following.values() if place >= 0), default=-1)
        if hit < 0:
            return
        start, end = line_start(block, hit), line_end(block, hit)
        yield start, end
        at = (end if start + sparse_bytes <= end else line_end(block, start + sparse_bytes)) + 1


def speaker(raw: bytes) -> bytes:
    """The process that wrote the step, if several write to one log."""
    match = _SPEAKER.match(raw)
    return match[1] if match else b""


def parse(raw: bytes, number: int) -> TrainingStep | None:
    """The step that a line tells, or None. Takes the line undecoded: most of a long log is such lines."""
    if b"\x1b" in raw:
        raw = _ANSI.sub(b"", raw)
    near = max(raw.find(b"loss") - 24, 0) if b"loss" in raw else 0
    loss, step_seconds = _LOSS.search(raw, near) or (_OTHER_LOSS.search(raw) if b"oss" in raw else None), _seconds(raw)
    if loss and loss["loss"].lower().endswith(b"nan"):
        loss = _MEANT.search(raw) or loss
    if loss is None and (step_seconds is None or _OTHER_BAR.match(raw)):
        return None
    step = _STEP.search(raw) or _BAR.search(raw) or _EPOCH.search(raw)
    if step is None and not (raw.lstrip().startswith((b"{", b"[", b"\x1b")) or b"'loss'" in raw or _METRICS.match(raw)):
        return None
    near = raw.find(b"norm")
    norm = _NORM.search(raw, max(near - _BEFORE_NORM, 0)) if near >= 0 else None
    return TrainingStep(
        number,
        int(step[step.lastindex or 1]) if step else None,
        _number(loss["loss"]) if loss else None,
        step_seconds,
        near >= 0 and bool(_NORM_NAN.search(raw, max(near - _BEFORE_NORM, 0))),
        raw,
        _number(norm[1]) if norm else None,
    )


def _number(text: bytes) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _seconds(raw: bytes) -> float | None:
    for word, regex, unit in _STEP_TIMES:
        if (place := raw.find(word)) < 0:
            continue
        match = regex.search(raw, max(place - _BEFORE_THE_WORD, 0))
        value = _number(match[match.lastindex or 1].replace(b",", b"")) if match else None
        if value and math.isfinite(value):
            seconds = {"ms": value / 1000.0, "s": value, "rate": 1.0 / value}[unit]
            batch = _BATCH.search(raw, place)
            return seconds / int(batch[1]) if batch and int(batch[1]) else seconds
    return None
