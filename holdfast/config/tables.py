"""TOML tables into dataclasses: a wrong key or value is refused with its file, line, place and what was expected."""

import re
import tomllib
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar, get_type_hints

import msgspec

from holdfast.model.refusal import named
from holdfast.model.settings import SettingsError

T = TypeVar("T")
_CALLED = {"bool": "true or false", "int": "a whole number", "float": "a number", "str": "a text", "array": "a list"}


class Document:
    """A TOML file that remembers its text, so that a refusal can name the line."""

    def __init__(self, text: str, origin: str) -> None:
        self.origin = origin
        self._text = text
        try:
            self.raw: dict[str, Any] = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise SettingsError(f"{origin}: not valid TOML: {error}") from None

    def refuse(self, place: str, key: str, why: str) -> SettingsError:
        line = self._line(place, key) or (self._line("", place) if place else 0)
        where = f", line {line}" if line else ""
        return SettingsError(f"{self.origin}{where}: {f'{place}.{key}' if place else key}: {why}")

    def only(self, table: Any, allowed: Collection[str], place: str) -> Mapping[str, Any]:
        if not isinstance(table, dict):
            raise self.refuse(place.rpartition(".")[0], place.rpartition(".")[2], f"expected a table, found {table!r}")
        for key in table:
            if key not in allowed:
                raise self.refuse(place, key, f"unknown key; expected one of {', '.join(sorted(allowed))}")
        return table

    def fill(self, kind: type[T], table: Any, place: str = "") -> T:
        """`kind` from a table, each value checked against the type of its field."""
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

    def _line(self, place: str, key: str) -> int:
        """The line of a key in its table; 0 where it is written in a way that we do not follow."""
        table = ""
        met: Counter[str] = Counter()
        for number, line in enumerate(self._text.splitlines(), start=1):
            header = re.match(r"\s*(\[+)\s*([^\]]+?)\s*\]+", line)
            if header and "=" not in line.partition("]")[0]:
                table = header[2].replace('"', "").replace("'", "")
                if header[1] == "[[":  # one of several: maintenance[0], maintenance[1]
                    met[table] += 1
                    table = f"{table}[{met[table] - 1}]"
                if table == f"{place}.{key}".lstrip("."):
                    return number
            elif table == place and re.match(rf"""\s*["']?{re.escape(key)}["']?\s*[=.]""", line):
                return number
        return 0


def _sentence(error: str, kind: Any, value: Any) -> str:
    """What msgspec found, in the words of a person who writes a file."""
    told = error.partition(" - at ")[0]
    if (sentence := named(told, kind)) != told:
        return sentence
    if mismatch := re.fullmatch(r"Expected `([^`]+)`, got `[^`]+`", told):
        return f"expected {_CALLED.get(mismatch[1], mismatch[1])}, found {value!r}"
    return f"{told}, found {value!r}"
