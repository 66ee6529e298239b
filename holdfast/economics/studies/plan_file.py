"""Reads a scenario of `holdfast plan report` in TOML."""

import re
from dataclasses import dataclass
from pathlib import Path

from holdfast.config.tables import Document
from holdfast.config.text_file import read_text
from holdfast.economics.planning.inputs import PlanInputs

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
class PlanFile:
    name: str
    title: str
    given: dict[str, tuple[str, str]]

    def inputs(self) -> PlanInputs:
        """New inputs, because each plan records its own list."""
        return PlanInputs(known=self.given)

    def as_keys(self, sentence: str) -> str:
        """The error with keys of the file and their line instead of options."""

        def key(found: re.Match[str]) -> str:
            where = self.given.get(found[1], ("", ""))[1].rpartition(", ")[2]
            return found[1].replace("-", "_") + (f" ({where})" if where else "")

        return f"{self.name}: {_FLAG.sub(key, sentence)}"

    def text(self, name: str) -> str | None:
        return self.given[name][0] if name in self.given else None


def load(path: str) -> PlanFile:
    document = Document(read_text(path), path)
    known = (*KEYS[""], *filter(None, KEYS))
    document.only(document.raw, known, "")
    given: dict[str, tuple[str, str]] = {}
    for section, keys in KEYS.items():
        if not section:
            continue
        for key, value in document.only(document.raw.get(section, {}), keys, section).items():
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                raise document.refuse(section, key, "expected a number or a text")
            line = f"{Path(path).name}, line {document.line(section, key)}"
            given[key.replace("_", "-")] = (str(value), line)
    return PlanFile(path, str(document.raw.get("title") or Path(path).stem), given)
