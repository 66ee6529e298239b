"""The TOML reader of all files that users write. An error names the file, line, key and what was expected."""

import re
import tomllib
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields
from math import isfinite
from typing import Any, TypeVar, get_type_hints

import msgspec

from holdfast.config.quantities import DURATION, MOST_SECONDS, duration
from holdfast.config.suggest import hint
from holdfast.model.refusal import named
from holdfast.model.settings import SettingsError

T = TypeVar("T")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_CALLED = {"bool": "true or false", "int": "a whole number", "float": "a number", "str": "a text", "array": "a list"}


class Document:
    """A TOML file that remembers its text, so that a refusal can name the line."""

    def __init__(self, text: str, origin: str) -> None:
        self.origin = origin
        self._text = text
        try:
            self.raw: dict[str, Any] = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise SettingsError(f"{origin}: not valid TOML: {error}") from None

    def refuse(self, place: str, key: str, why: str) -> SettingsError:
        line = self.line(place, key) or (self.line("", place) if place else 0)
        where = f", line {line}" if line else ""
        return SettingsError(f"{self.origin}{where}: {f'{place}.{key}' if place else key}: {why}")

    def only(self, table: Any, allowed: Collection[str], place: str) -> Mapping[str, Any]:
        if not isinstance(table, dict):
            raise self.refuse(place.rpartition(".")[0], place.rpartition(".")[2], f"expected a table, found {table!r}")
        for key in table:
            if key not in allowed:
                raise self.refuse(place, key, f"unknown key; {hint(key, sorted(allowed))}")
        return table

    def fill(self, kind: type[T], table: Any, place: str = "") -> T:
        """Builds `kind` from a table and checks each value against the type of its field."""
        hints = get_type_hints(kind)
        known = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
        self.only(table, known, place)
        values = {key: self._convert(value, hints[key], place, key) for key, value in table.items()}
        for name, field in known.items():
            if name not in values and field.default is MISSING and field.default_factory is MISSING:
                raise self.refuse(place, name, "is missing")
        try:
            return kind(**values)
        except ValueError as error:
            raise SettingsError(f"{self.origin}: {error}") from None

    def _convert(self, value: Any, kind: Any, place: str, key: str) -> Any:
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            raise self.refuse(place, key, _sentence(str(error), kind, value)) from None

    def line(self, place: str, key: str) -> int:
        """The line of a key in its table; 0 for TOML notation that this search does not cover."""
        table = ""
        met: Counter[str] = Counter()
        for number, line in enumerate(self._text.splitlines(), start=1):
            header = re.match(r"\s*(\[{1,2})\s*([^\]]{1,200}?)\s*\]", line)
            if header and "=" not in line.partition("]")[0]:
                table = header[2].replace('"', "").replace("'", "")
                if header[1] == "[[":  # an array of tables: maintenance[0], maintenance[1]
                    met[table] += 1
                    table = f"{table}[{met[table] - 1}]"
                if table == f"{place}.{key}".lstrip("."):
                    return number
            elif table == place and re.match(rf"""\s*["']?{re.escape(key)}["']?\s*[=.]""", line):
                return number
        return 0


class ConfigTable:
    """One table of a file. `done` refuses keys that were not read."""

    def __init__(self, document: Document, values: Any, place: str) -> None:
        if not isinstance(values, dict):
            raise document.refuse("", place.partition("[")[0], f"expected a table, found {values!r}")
        self._document, self._values, self._place = document, values, place
        self._read: set[str] = set()

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def wrong(self, key: str, why: str) -> SettingsError:
        return self._document.refuse(self._place, key, why)

    def done(self) -> None:
        self.only(self._read)

    def only(self, known: Collection[str]) -> None:
        self._document.only(self._values, known, self._place)

    def raw(self, key: str, default: Any = None) -> Any:
        self._read.add(key)
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

    def integer(self, key: str, default: int | None = None, least: int = 0, most: int = 10**9) -> int:
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
            raise self.wrong(key, f"is missing: expected {DURATION}")
        return self.duration(key, value)

    def duration(self, key: str, value: Any) -> float:
        seconds = duration(value.strip()) if isinstance(value, str) else None
        if seconds is None or not isfinite(seconds):
            raise self.wrong(key, f"expected {DURATION}, found {value!r}")
        if seconds > MOST_SECONDS:
            raise self.wrong(key, f"expected {DURATION}, at most 1,000 years, found {value!r}")
        return seconds


def _sentence(error: str, kind: Any, value: Any) -> str:
    """The error of msgspec in plain words."""
    text = error.partition(" - at ")[0]
    if (sentence := named(text, kind)) != text:
        return sentence
    if mismatch := re.fullmatch(r"Expected `([^`]+)`, got `[^`]+`", text):
        return f"expected {_CALLED.get(mismatch[1], mismatch[1])}, found {value!r}"
    return f"{text}, found {value!r}"
