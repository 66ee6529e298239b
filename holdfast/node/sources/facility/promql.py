"""Any metric that a Prometheus, or one that speaks like it, holds already: a query, and what its series stand for."""

import json
import string
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from holdfast.catalog import plausible
from holdfast.model.signal import Reading
from holdfast.node.sources.notes import Notes
from holdfast.node.sources.plain_http import Trouble, get

MOST_SERIES = 50_000
MOST_SKEW_SECONDS = 60.0


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
        if not plausible.known(self.signal):
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
        notes = Notes()
        for one in self.settings.query:
            try:
                self._ask(one, notes, now)
            except Trouble as trouble:
                if trouble.nobody_there:  # the other queries would wait as long for nothing
                    return Reading(source=self.name, at=now, blind=f"{self.settings.url}: {trouble}")
                notes.miss(one.subject, f"query {one.query[:80]!r}: {trouble}", one.signal)
        return notes.reading(self.name, now)

    def _ask(self, one: PromqlQuery, notes: Notes, now: float) -> None:
        url = f"{self.settings.url.rstrip('/')}/api/v1/query?{urlencode({'query': one.query})}"
        answer = _decoded(get(url, self.settings.timeout, token_file=self.settings.token_file, refusals=True))
        if answer.get("status") != "success":
            raise Trouble(str(answer.get("error", "it says neither success nor why not"))[:200])
        for labels, at, value in samples(answer):
            about = one.subject.format_map(_Labels(labels))
            told = value * one.scale + one.offset
            if abs(at - now) > MOST_SKEW_SECONDS:
                notes.miss(about, f"its clock is {now - at:.0f} s from ours: not used", one.signal)
            elif why := plausible.absurd(one.signal, told, one.least, one.most):
                notes.miss(about, why, one.signal)
            else:
                notes.say(about, one.signal, told)


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
            raise ValueError(f"subject: {label!r} is no label, in {subject!r}")


def _decoded(body: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise Trouble("the answer is not JSON") from None
    if not isinstance(found, dict):
        raise Trouble("the answer is no JSON object")
    return found


def samples(answer: Mapping[str, Any]) -> list[tuple[dict[str, str], float, float]]:
    """(labels, time, value) of a vector or a scalar; Trouble for any other result."""
    data = answer.get("data")
    kind, result = (data.get("resultType"), data.get("result")) if isinstance(data, dict) else (None, None)
    if kind == "scalar":
        result = [{"metric": {}, "value": result}]
    if kind not in ("vector", "scalar") or not isinstance(result, list):
        raise Trouble(f"expected one value per series, found a result of type {kind!r}; a range needs an aggregate")
    if len(result) > MOST_SERIES:
        raise Trouble(f"it answers with {len(result)} series, more than {MOST_SERIES}")
    try:
        return [
            (
                {str(name): str(label) for name, label in one["metric"].items()},
                float(one["value"][0]),
                float(one["value"][1]),
            )
            for one in result
        ]
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        raise Trouble("a series without a value and its time") from None
