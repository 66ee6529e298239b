"""A scenario's text, asked key by key: a wrong one is named with its line, an unknown one with the nearest."""

import re
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from math import isfinite
from typing import Any

from holdfast.config.tables import Document
from holdfast.economics.costs.feasible import BadNumber
from holdfast.economics.planning.inputs import Asked
from holdfast.economics.simulation.spread import Kind, Spread, fixed, lognormal
from holdfast.model.settings import SettingsError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
SPREADS = "a duration such as 10m, or a table of median and p95, of mean, or of low and high"


class Table:
    """One table of the file. `done` refuses what nobody asked for."""

    def __init__(self, document: Document, values: Any, place: str) -> None:
        if not isinstance(values, dict):
            raise document.refuse("", place.partition("[")[0], f"expected a table, found {values!r}")
        self._document, self._values, self._place = document, values, place
        self._asked: set[str] = set()

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def wrong(self, key: str, why: str) -> SettingsError:
        return self._document.refuse(self._place, key, why)

    def done(self) -> None:
        self.only(self._asked)

    def only(self, known: Collection[str]) -> None:
        for key in self._values:
            if key not in known:
                near = get_close_matches(key, known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(sorted(known))}"
                raise self.wrong(key, f"unknown key; {hint}")

    def raw(self, key: str, default: Any = None) -> Any:
        self._asked.add(key)
        return self._values.get(key, default)

    def text(self, key: str, default: str | None = None, among: Collection[str] = ()) -> str:
        value = self.raw(key, default)
        if value is None:
            raise self.wrong(key, "is missing")
        if not isinstance(value, str) or (among and value not in among):
            wanted = f"one of {', '.join(among)}" if among else "a text"
            raise self.wrong(key, f"expected {wanted}, found {value!r}")
        return value

    def name(self) -> str:
        name = self.text("name")
        if not _NAME.fullmatch(name):
            raise self.wrong("name", f"expected one word, found {name!r}")
        return name

    def number(self, key: str, default: float | None = None, least: float = 0.0, most: float = 1e12) -> float:
        value = self.raw(key, default)
        if value is None:
            raise self.wrong(key, "is missing")
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
            raise self.wrong(key, f"expected a number, found {value!r}")
        if not least <= value <= most:
            raise self.wrong(key, f"expected {least:g} to {most:g}, found {value!r}")
        return float(value)

    def whole(self, key: str, default: int | None = None, least: int = 0, most: int = 10**9) -> int:
        value = self.number(key, default, least, most)
        if value != int(value):
            raise self.wrong(key, f"expected a whole number, found {value!r}")
        return int(value)

    def share(self, key: str, default: float = 0.0) -> float:
        return self.number(key, default, 0.0, 1.0)

    def yes(self, key: str, default: bool) -> bool:
        value = self.raw(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, f"expected true or false, found {value!r}")
        return value

    def seconds(self, key: str, default: str | None = None) -> float:
        value = self.raw(key, default)
        if value is None:
            raise self.wrong(key, "is missing: expected a duration such as 90s, 10m, 2h or 30d")
        return self._duration(key, value)

    def spread(self, key: str, default: Spread | None = None) -> Spread | None:
        value = self.raw(key)
        if value is None:
            return default
        if not isinstance(value, Mapping):
            return fixed(self._duration(key, value))
        parts = {name: self._duration(key, part) for name, part in value.items()}
        if parts.keys() == {"median", "p95"} and 0 < parts["median"] <= parts["p95"]:
            return lognormal(parts["median"], parts["p95"])
        if parts.keys() == {"mean"}:
            return Spread(Kind.EXPONENTIAL, parts["mean"])
        if parts.keys() == {"low", "high"} and parts["low"] <= parts["high"]:
            return Spread(Kind.UNIFORM, parts["low"], parts["high"])
        raise self.wrong(key, f"expected {SPREADS}; found {dict(value)!r}")

    def _duration(self, key: str, value: Any) -> float:
        if not isinstance(value, str):
            raise self.wrong(key, f"expected a duration such as 90s, 10m, 2h or 30d, found {value!r}")
        try:
            return Asked().duration(key, value)
        except BadNumber as error:
            raise self.wrong(key, str(error).partition(": ")[2]) from None
