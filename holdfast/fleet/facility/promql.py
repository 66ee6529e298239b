"""PromQL source: a query against Prometheus or a compatible server, with labels mapped to subjects."""

import string
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from holdfast.catalog import seam_signals
from holdfast.fleet.facility.json_api import CannotRead, get_object
from holdfast.model.signal import Reading
from holdfast.runtime.source import ReadingBuilder

MOST_SERIES = 50_000
MOST_SKEW_SECONDS = 60.0
LONGEST_SUBJECT = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class PromqlQuery:
    signal: str
    query: str
    subject: str
    """With labels in braces: 'storage/{cluster}', 'path/{src}-{dst}'."""
    scale: float = 1.0
    offset: float = 0.0
    least: float | None = None
    most: float | None = None

    def __post_init__(self) -> None:
        if not seam_signals.known(self.signal):
            raise ValueError(f"signal: {self.signal!r} is not one of the signals in docs/facility.md")
        if not self.query.strip():
            raise ValueError("query: expected PromQL")
        if "/" not in self.subject:
            raise ValueError(f"subject: expected an address such as storage/{{cluster}}, found {self.subject!r}")
        _check_labels(self.subject)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromqlSettings:
    url: str
    query: tuple[PromqlQuery, ...]
    name: str = "prometheus"
    every: float = 15.0
    timeout: float = 10.0
    token_file: str = ""
    """Sent as 'Authorization: Bearer ...'."""

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"url: expected an http or https address, found {self.url!r}")
        if not self.query:
            raise ValueError("query: expected at least one")


class PromqlSource:
    def __init__(self, settings: PromqlSettings) -> None:
        self.settings = settings
        self.name = f"promql {settings.name}"
        self.every = settings.every
        self.deadline = settings.timeout * len(settings.query) + 1.0
        self.carries = tuple(dict.fromkeys(one.signal for one in settings.query))

    def read(self, now: float) -> Reading:
        builder = ReadingBuilder()
        for one in self.settings.query:
            try:
                self._ask(one, builder, now)
            except CannotRead as error:
                if error.unreachable:  # other queries would time out too
                    return Reading(source=self.name, at=now, blind=str(error))
                builder.miss(one.subject, f"query {one.query[:80]!r}: {error}", one.signal)
        return builder.build(self.name, now)

    def _ask(self, one: PromqlQuery, builder: ReadingBuilder, now: float) -> None:
        url = f"{self.settings.url.rstrip('/')}/api/v1/query?{urlencode({'query': one.query})}"
        answer = get_object(url, self.settings.timeout, token_file=self.settings.token_file, error_statuses=(400, 422))
        if answer.get("status") != "success":
            raise CannotRead(str(answer.get("error", "the answer has neither a result nor an error"))[:200])
        for labels, at, value in samples(answer):
            about = one.subject.format_map(_Labels(labels))[:LONGEST_SUBJECT]
            scaled = value * one.scale + one.offset
            if abs(at - now) > MOST_SKEW_SECONDS:
                builder.miss(about, f"its clock is {now - at:.0f} s from ours; the value is not used", one.signal)
            elif why := seam_signals.implausible(one.signal, scaled, one.least, one.most):
                builder.miss(about, why, one.signal)
            else:
                builder.add(about, one.signal, scaled)


class _Labels(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "unlabelled"


def _check_labels(subject: str) -> None:
    try:
        parts = list(string.Formatter().parse(subject))
    except ValueError as error:
        raise ValueError(f"subject: {error} in {subject!r}") from None
    for _, label, spec, conversion in parts:
        if label is not None and (not label.isidentifier() or spec or conversion):
            raise ValueError(f"subject: {label!r} is not a label, in {subject!r}")


def samples(answer: Mapping[str, Any]) -> list[tuple[dict[str, str], float, float]]:
    """(labels, time, value) of a vector or a scalar; CannotRead for any other result."""
    data = answer.get("data")
    kind, result = (data.get("resultType"), data.get("result")) if isinstance(data, dict) else (None, None)
    if kind == "scalar":
        result = [{"metric": {}, "value": result}]
    if kind not in ("vector", "scalar") or not isinstance(result, list):
        raise CannotRead(f"expected one value per series, found a result of type {kind!r}; a range needs an aggregate")
    if len(result) > MOST_SERIES:
        raise CannotRead(f"{len(result)} series, more than {MOST_SERIES}")
    try:
        return [
            (
                {str(name): str(label) for name, label in one["metric"].items()},
                float(one["value"][0]),
                float(one["value"][1]),
            )
            for one in result
        ]
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError):
        raise CannotRead("a series without a value and its time") from None
