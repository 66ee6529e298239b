"""A scenario file: what a cluster is to be, in TOML. An unknown key is named with its line and the nearest one."""

import re
import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from holdfast.config.text_file import read_text
from holdfast.economics.planning.inputs import Asked
from holdfast.model.refusal import Refusal

_FLAG = re.compile(r"--([a-z]+(?:-[a-z]+)*)")
KEYS: dict[str, tuple[str, ...]] = {
    "": ("title",),
    "cluster": ("gpus", "gpus_per_node", "days", "rate", "events", "gpu_years", "price"),
    "checkpoint": (
        "write",
        "state",
        "bandwidth",
        "restart",
        "interval",
        "memory_write",
        "memory_restart",
        "memory_survives",
    ),
    "spares": ("repair", "swap", "crews", "confidence"),
}


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    title: str
    told: dict[str, tuple[str, str]]

    def asked(self) -> Asked:
        """Somebody to ask afresh: each plan keeps its own list of what it rests on."""
        return Asked(told=self.told)

    def in_its_words(self, sentence: str) -> str:
        """A refusal names flags; here they are keys of the file, each with its line."""

        def key(found: re.Match[str]) -> str:
            where = self.told.get(found[1], ("", ""))[1].rpartition(", ")[2]
            return found[1].replace("-", "_") + (f" ({where})" if where else "")

        return f"{self.name}: {_FLAG.sub(key, sentence)}"

    def text(self, name: str) -> str | None:
        return self.told[name][0] if name in self.told else None


def load(path: str) -> Scenario:
    text = read_text(path)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Refusal(f"{path}: {error}") from None
    told: dict[str, tuple[str, str]] = {}
    title = ""
    for key, value in document.items():
        if isinstance(value, dict):
            _section(path, text, key, value, told)
        elif key == "title":
            title = str(value)
        elif key in KEYS:
            raise Refusal(f"{path}, line {_line(text, '', key)}: {key}: expected a table headed [{key}]")
        else:
            _unknown(path, text, "", key, (*KEYS[""], *filter(None, KEYS)))
    return Scenario(path, title or Path(path).stem, told)


def _section(path: str, text: str, section: str, table: dict[str, Any], told: dict[str, tuple[str, str]]) -> None:
    if section not in KEYS or not section:
        _unknown(path, text, "", section, tuple(filter(None, KEYS)))
    for key, value in table.items():
        if key not in KEYS[section]:
            _unknown(path, text, section, key, KEYS[section])
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise Refusal(f"{path}, line {_line(text, section, key)}: {key}: expected a number or a text")
        told[key.replace("_", "-")] = (str(value), f"{Path(path).name}, line {_line(text, section, key)}")


def _unknown(path: str, text: str, section: str, key: str, known: tuple[str, ...]) -> None:
    near = get_close_matches(key, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(known)}"
    where = f"[{section}] {key}" if section else key
    raise Refusal(f"{path}, line {_line(text, section, key)}: unknown key {where}; {hint}")


def _line(text: str, section: str, key: str) -> int:
    """Where a key stands; the section's own line for a header, 1 if it is written in a way not looked for."""
    here = ""
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if bare.startswith("["):
            here = bare.strip("[]# ").split("]")[0].strip()
            if not section and here == key:
                return number
        elif here == section and bare.split("=")[0].strip().strip("\"'") == key:
            return number
    return 1
