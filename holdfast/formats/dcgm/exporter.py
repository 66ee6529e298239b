"""A scrape of dcgm-exporter (Prometheus text). DCGM's blank values mean absence, never a measurement."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

_SAMPLE = re.compile(r"^(?P<name>[A-Za-z_:][\w:]*)(?:\s*\{(?P<labels>.*)\})?\s+(?P<value>[^\s{}]+)(?:\s+-?\d+)?\s*$")
_LABEL = re.compile(r'(?<!\w)([A-Za-z_]\w*)\s*=\s*"((?:[^"\\]|\\.)*)"')
_ESCAPES = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}

_BLANK_KINDS = 16  # blank, not found, not supported, not permitted, and reserved values
_BLANKS = (float(0x7FFFFFF0), float(2**47))  # for 32-bit integers, for floating point
_BLANK_INT64 = float(0x7FFFFFFFFFFFFFF0)


class ExporterSample(NamedTuple):
    name: str
    labels: Mapping[str, str]
    value: float | None  # None: DCGM has no value for this field


def parse(text: str) -> Iterator[ExporterSample]:
    """Every readable sample; comments and other lines are skipped."""
    for line in text.splitlines():
        if (found := _SAMPLE.match(line)) and (number := _number(found["value"])) is not None:
            labels = {key: _plain(value) for key, value in _LABEL.findall(found["labels"] or "")}
            yield ExporterSample(found["name"], labels, None if is_blank(number) else number)


def is_blank(value: float) -> bool:
    return (
        not math.isfinite(value)
        or value >= _BLANK_INT64
        or any(blank <= value < blank + _BLANK_KINDS for blank in _BLANKS)
    )


def gpu_of(sample: ExporterSample) -> int | None:
    """The GPU of a sample; None for a switch, a CPU, or a MIG slice, which is not the whole GPU."""
    number = sample.labels.get("gpu", "")
    if not re.fullmatch(r"[0-9]{1,4}", number) or sample.labels.get("GPU_I_ID"):
        return None
    return int(number)


def _number(text: str) -> float | None:
    try:
        return float(text) if "_" not in text else None
    except ValueError:
        return None


def _plain(text: str) -> str:
    return re.sub(r'\\[n"\\]', lambda found: _ESCAPES[found[0]], text)
