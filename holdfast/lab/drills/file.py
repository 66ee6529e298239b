"""Drill files: those that come along, and those that somebody wrote."""

from dataclasses import replace
from importlib import resources
from pathlib import Path

from holdfast.config.tables import Document
from holdfast.config.text_file import read_text
from holdfast.lab.drills import shipped as drills
from holdfast.lab.drills.drill import Drill
from holdfast.lab.drills.reader import Reader
from holdfast.model.refusal import Refusal
from holdfast.model.settings import SettingsError


def shipped() -> list[str]:
    return sorted(drills.shipped())


def load(name: str, seed: int | None = None) -> Drill:
    """A file, or the name of a drill that comes along."""
    inside = resources.files("holdfast.lab.drills").joinpath("scenarios", f"{name}.toml")
    if "/" not in name and not Path(name).exists() and inside.is_file():
        drill = understand(inside.read_text(encoding="utf-8"), f"{name}.toml")
    else:
        drill = understand(read_text(name), name)
    return drill if seed is None else replace(drill, seed=seed)


def understand(text: str, origin: str) -> Drill:
    try:
        document = Document(text, origin)
    except SettingsError as error:
        raise Refusal(str(error)) from None
    return Reader(document).drill()
