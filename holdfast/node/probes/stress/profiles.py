"""Stress profiles: data that describes one iteration of a load. Importable without torch."""

import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Any

PHASES = {
    "product": {"side", "times"},
    "decode": {"side", "times"},
    "copy": {"mebibytes", "times"},
    "broadcast": {"mebibytes", "times"},
    "all_to_all": {"mebibytes", "times"},
    "lookup": {"rows", "times"},
    "unpack": {"kibibytes", "times"},
    "save": {"mebibytes"},
    "pause": {"seconds"},
}
SHARED = ("broadcast", "all_to_all")  # operations of all devices of a host together
BESIDE = "beside"  # two lists of phases at the same time


class ProfileError(ValueError):
    """One sentence with the profile and the phase it is about."""


@dataclass(frozen=True, slots=True)
class Profile:
    name: str
    about: str
    phases: list[dict[str, Any]]


def shipped() -> dict[str, Profile]:
    return read(resources.files(__package__).joinpath("profiles.toml").read_text(encoding="utf-8"), "profiles.toml")


def read(text: str, origin: str) -> dict[str, Profile]:
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProfileError(f"{origin}: not valid TOML: {error}") from None
    return {name: _profile(name, table, origin) for name, table in tables.items()}


def _profile(name: str, table: Any, origin: str) -> Profile:
    phases = table.get("phases") if isinstance(table, dict) else None
    if not isinstance(phases, list) or not phases or not all(isinstance(phase, dict) for phase in phases):
        raise ProfileError(f"{origin}: {name}: expected a table with `phases`, a list of phases")
    for number, phase in enumerate(phases, start=1):
        place = f"{origin}: {name}: phase {number}"
        for part in _parts(phase, place) if phase.get("do") == BESIDE else [phase]:
            _refuse_wrong(part, place)
    return Profile(name, str(table.get("about", "")), phases)


def _parts(phase: dict[str, Any], place: str) -> list[dict[str, Any]]:
    """Phases of two parallel lists, which each must be possible on a single device."""
    both = [phase.get("train"), phase.get("serve")]
    if set(phase) != {"do", "train", "serve"} or not all(isinstance(one, list) and one for one in both):
        raise ProfileError(f"{place}: {BESIDE} needs serve and train, each a list of phases, found {sorted(phase)}")
    parts = [part for one in both for part in one or ()]
    shared = next((part for part in parts if not isinstance(part, dict) or part.get("do") in SHARED), None)
    if shared is not None:
        raise ProfileError(f"{place}: {BESIDE}: expected phases of a single device, found {shared!r}")
    return parts


def _refuse_wrong(phase: dict[str, Any], place: str) -> None:
    needs = PHASES.get(str(phase.get("do")))
    if needs is None:
        raise ProfileError(f"{place}: expected do = one of {', '.join((*PHASES, BESIDE))}, found {phase.get('do')!r}")
    if set(phase) - {"do"} != needs:
        raise ProfileError(f"{place}: {phase['do']} needs {' and '.join(sorted(needs))}, found {sorted(phase)}")
    for key in needs:
        if isinstance(phase[key], bool) or not isinstance(phase[key], int | float) or not 0 < phase[key] <= 1e9:
            raise ProfileError(f"{place}: {key}: expected a positive number, found {phase[key]!r}")
