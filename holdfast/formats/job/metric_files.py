"""Converts metrics files of TensorBoard and Weights & Biases to step lines like those of a log.

TensorBoard: records with a length, each a protobuf Event. W&B: a LevelDB log of protobuf Records, or one JSON object
per line (wandb-history.jsonl). Reading ends at the first damaged record; the records before it are kept.
"""

import json
import math
import re
import struct
from collections.abc import Iterator

from holdfast.formats.job import protobuf

MOST_RECORD = 16 << 20
_BLOCK, _HEAD = 1 << 15, 7  # of a LevelDB log
_WANDB = b":W&B"
_NOT_TRAINING = re.compile(r"(?i)\b(?:val|valid|validation|eval|test|dev)\b|(?:^|[/_-])(?:val|eval|test)[/_-]")
_LOSS = re.compile(r"(?i)(?:^|[/_. -])loss$|^loss[/_. -](?:train|total)|(?:^|/)(?:lm|train|training|total)[ _-]loss")
_NORM = re.compile(r"(?i)grad(?:ient)?[ _-]?norm(?:[ _-]?total)?$")
_SECONDS = re.compile(r"(?i)(?:iteration|step|iter|batch)[ _-]?time(?:[ _-]?(?:s|sec|seconds))?$|step_timing in s$")


def is_one(first: bytes) -> bool:
    """Whether a file that begins with these bytes is a metrics file."""
    return b"brain.Event:" in first[:64] or first.startswith(_WANDB) or _is_history(first)


def as_text(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """One line per step: 'step: 12 loss: 2.5 grad_norm: 0.9 step_time: 1.25'."""
    first = next(chunks, b"")
    whole = _joined(first, chunks)
    if first.startswith(_WANDB):
        steps = _of_wandb(whole)
    elif b"brain.Event:" in first[:64]:
        steps = _of_events(whole)
    else:
        steps = _of_history(whole)
    yield from _lines(steps)


def text_of(data: bytes) -> bytes:
    """The step lines of a whole file."""
    return b"".join(as_text(iter([data])))


def _joined(first: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from chunks


Metrics = tuple[int, float, dict[str, float]]  # step, seconds since the epoch (0.0 if unknown), values by name


def _of_events(chunks: Iterator[bytes]) -> Iterator[Metrics]:
    held = b""
    for chunk in chunks:
        held += chunk
        at = 0
        while len(held) - at >= 12:
            (length,) = struct.unpack_from("<Q", held, at)
            if length > MOST_RECORD:
                return
            if len(held) - at < length + 16:
                break
            yield from _event(held[at + 12 : at + 12 + length])
            at += length + 16
        held = held[at:]


def _event(record: bytes) -> Iterator[Metrics]:
    step, wall, values = 0, 0.0, dict[str, float]()
    for number, value in protobuf.fields(record):
        if number == 1 and isinstance(value, bytes) and len(value) == 8:
            (wall,) = struct.unpack("<d", value)
        elif number == 2 and isinstance(value, int):
            step = value
        elif number == 5 and isinstance(value, bytes):
            values |= dict(_summary(value))
    if values:
        yield step, wall if math.isfinite(wall) else 0.0, values


def _summary(summary: bytes) -> Iterator[tuple[str, float]]:
    for number, entry in protobuf.fields(summary):
        if number != 1 or not isinstance(entry, bytes):
            continue
        name, value = "", None
        for part, content in protobuf.fields(entry):
            if part == 1 and isinstance(content, bytes):
                name = content.decode("utf-8", "replace")
            elif part == 2 and isinstance(content, bytes) and len(content) == 4:
                (value,) = struct.unpack("<f", content)
            elif part == 8 and isinstance(content, bytes):
                value = _scalar(content)
        if value is not None:
            yield name, value


def _scalar(tensor: bytes) -> float | None:
    """The value of a TensorProto with one float or double."""
    for number, content in protobuf.fields(tensor):
        if not isinstance(content, bytes) or number not in (4, 5, 6) or len(content) not in (4, 8):
            continue
        return float(struct.unpack("<f" if len(content) == 4 else "<d", content)[0])
    return None


def _of_wandb(chunks: Iterator[bytes]) -> Iterator[Metrics]:
    for record in _leveldb_records(chunks):
        for number, value in protobuf.fields(record):
            if number == 2 and isinstance(value, bytes):  # history
                yield from _wandb_history(value)


def _leveldb_records(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Reads records from blocks of 32 KiB. The seven-byte file header is part of the first block."""
    held, offset, parts = b"", 0, b""
    for chunk in chunks:
        held += chunk
        at = _HEAD if offset == 0 else 0
        while True:
            left = _BLOCK - (offset + at) % _BLOCK
            if left < _HEAD:
                at += left
                continue
            if len(held) - at < _HEAD:
                break
            length, kind = struct.unpack_from("<HB", held, at + 4)
            if length > left - _HEAD or kind > 4:
                return
            if len(held) - at < _HEAD + length:
                break
            piece = held[at + _HEAD : at + _HEAD + length]
            at += _HEAD + length
            parts = piece if kind in (1, 2) else parts + piece
            if len(parts) > MOST_RECORD:
                return
            if kind in (1, 4):
                yield parts
        offset += at
        held = held[at:]


def _wandb_history(history: bytes) -> Iterator[Metrics]:
    row: dict[str, object] = {}
    for number, item in protobuf.fields(history):
        if number == 1 and isinstance(item, bytes):
            found = dict(protobuf.fields(item))
            names = [content for part, content in protobuf.fields(item) if part in (1, 2)]
            name = "/".join(one.decode("utf-8", "replace") for one in names if isinstance(one, bytes) and one)
            row[name] = _json(found.get(16))
        elif number == 2 and isinstance(item, bytes):
            row.setdefault("_step", dict(protobuf.fields(item)).get(1, 0))
    yield from _row(row)


def _json(value: object) -> object:
    try:
        return json.loads(value) if isinstance(value, bytes) else None
    except (ValueError, RecursionError):
        return None


def _is_history(first: bytes) -> bool:
    line = first[:65536].partition(b"\n")[0]
    return line.startswith(b"{") and b'"_step"' in line and b'"_timestamp"' in line


def _of_history(chunks: Iterator[bytes]) -> Iterator[Metrics]:
    held = b""
    for chunk in chunks:
        held += chunk
        *lines, held = held.split(b"\n")
        if len(held) > MOST_RECORD:
            return
        for line in lines:
            row = _json(line)
            yield from _row(row if isinstance(row, dict) else {})
    row = _json(held)
    yield from _row(row if isinstance(row, dict) else {})


def _row(row: dict[str, object]) -> Iterator[Metrics]:
    values = {name: number for name, value in row.items() if (number := _number(value)) is not None}
    if "_step" in values and math.isfinite(values["_step"]):
        wall = values.get("_timestamp", 0.0)
        yield int(values["_step"]), wall if math.isfinite(wall) else 0.0, values


def _number(value: object) -> float | None:
    if isinstance(value, str):  # W&B writes NaN and infinity as strings
        return {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}.get(value)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if abs(value) < 1e300 or isinstance(value, float) else None


def _lines(steps: Iterator[Metrics]) -> Iterator[bytes]:
    """Joins the values of one step, which are written one by one, into one line."""
    now, known = None, dict[str, float]()
    before: tuple[int, float] | None = None
    for step, wall, values in steps:
        if now is not None and step != now and known:
            yield _line(now, known)
            known = {}
        now = step
        metrics = _metrics(values)
        if wall and "loss" in metrics:
            if "step_time" not in metrics and before and step > before[0] and wall > before[1]:
                metrics["step_time"] = (wall - before[1]) / (step - before[0])
            before = (step, wall)
        known |= metrics
    if now is not None and known:
        yield _line(now, known)


def _metrics(values: dict[str, float]) -> dict[str, float]:
    metrics: dict[str, float] = {}
    for name, value in values.items():
        if _NOT_TRAINING.search(name):
            continue
        for word, regex in (("loss", _LOSS), ("grad_norm", _NORM), ("step_time", _SECONDS)):
            if regex.search(name) and (word != "step_time" or (math.isfinite(value) and value > 0)):
                metrics.setdefault(word, value)
    return metrics


def _line(step: int, known: dict[str, float]) -> bytes:
    words = [f"{name}: {known[name]:.6g}" for name in ("loss", "grad_norm") if name in known]
    if "step_time" in known:
        words.append(f"step_time: {known['step_time']:.6f}")
    return f"step: {step} {' '.join(words)}\n".encode()
