"""Finds drill files: shipped ones and the user's."""

from dataclasses import replace
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from holdfast.config.tables import Document
from holdfast.config.text_file import read_text
from holdfast.lab.drills import shipped as drills
from holdfast.lab.drills.drill import Drill
from holdfast.lab.drills.reader import DrillReader
from holdfast.lab.drills.recorded import Recorded, read_recorded
from holdfast.model.refusal import Refusal
from holdfast.model.settings import SettingsError


def shipped() -> list[str]:
    return sorted(drills.shipped())


def load_any(name: str, seed: int | None = None) -> Drill | Recorded:
    """Loads a file (a plant or recorded signals), or a shipped drill by name."""
    if not _inside(name).is_file() or Path(name).exists():
        document = _document(read_text(name), name)
        if "recording" in document.raw:
            try:
                return read_recorded(document)
            except SettingsError as error:
                raise Refusal(str(error)) from None
    return load(name, seed)


def load(name: str, seed: int | None = None) -> Drill:
    """Loads a file with a plant, or a shipped drill by name."""
    inside = _inside(name)
    if "/" not in name and not Path(name).exists() and inside.is_file():
        drill = understand(inside.read_text(encoding="utf-8"), f"{name}.toml")
    else:
        drill = understand(read_text(name), name)
    return drill if seed is None else replace(drill, seed=seed)


def understand(text: str, origin: str) -> Drill:
    document = _document(text, origin)
    if "recording" in document.raw:
        raise Refusal(f"{origin}: expected a drill with a plant, found one of recorded signals")
    return DrillReader(document).drill()


def _inside(name: str) -> Traversable:
    return resources.files("holdfast.lab.drills").joinpath("scenarios", f"{name}.toml")


def _document(text: str, origin: str) -> Document:
    try:
        return Document(text, origin)
    except SettingsError as error:
        raise Refusal(str(error)) from None
