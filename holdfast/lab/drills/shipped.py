"""List of shipped drills with their descriptions."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipped:
    name: str
    title: str
    about: str
    pair: str
    """Another drill with similar symptoms."""
    nodes: int


@cache
def shipped() -> dict[str, Shipped]:
    folder = files("holdfast.lab.drills").joinpath("scenarios")
    names = sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))
    return {name: _shipped(name, folder.joinpath(f"{name}.toml").read_text(encoding="utf-8")) for name in names}


def _shipped(name: str, text: str) -> Shipped:
    document = tomllib.loads(text)
    return Shipped(
        name=name,
        title=str(document.get("title", name)),
        about=str(document.get("about", "")),
        pair=str(document.get("pair", "")),
        nodes=int(document["fleet"]["nodes"]),
    )
