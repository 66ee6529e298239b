"""Policy file: TOML with the field names of lifecycle/policy.py. An invalid file is refused as a whole."""

from collections.abc import Collection
from dataclasses import fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from holdfast.config.tables import Document
from holdfast.fleet.decisions.lifecycle.policy import REPAIR_STRENGTH, Policy
from holdfast.fleet.policy import maintenance_file
from holdfast.model.lifecycle import Verb
from holdfast.model.settings import SettingsError
from holdfast.model.wire.probe import LARGEST_BYTES, LONGEST_SECONDS, ProbePolicy
from holdfast.node import checks

_SHARES = ("breaker_share", "shared_share")
_AT_LEAST_ONE = ("automatic_repair_steps", "inconclusive_tests", "breaker_nodes", "shared_nodes", "degraded_repeats")
_POSITIVE = (
    "drain_seconds",
    "checkpoint_seconds",
    "shared_seconds",
    "offence_seconds",
    "silent_seconds",
    "unknown_seconds",
    "suite_seconds",
    "reset_seconds",
)
_WAITS = ("shared_first_seconds", "shared_wait_seconds", "flush_seconds")
_NOT_NEGATIVE = ("repeat_offences", "repeat_offender_score", "spares", *_WAITS)
_TABLES = ("pool", "maintenance", "probes")
_KEYS = frozenset(field.name for field in fields(Policy)) - {"pools", "maintenance", "probes"}
_PROBE_BOUNDS = (
    ("share", 0, 1),
    ("minutes_per_day", 0, 1440),
    ("period_hours", 0, 24 * 366),
    ("bytes", 0, LARGEST_BYTES),
    ("timeout_seconds", 0, LONGEST_SECONDS),
    ("port", 0, 65_535),
)
# A parent may have nodes of several pools behind it, and agents get one suite.
_FLEET_WIDE = frozenset(key for key in _KEYS if key.startswith("shared_")) | {"suite", "silent_seconds"}


def load(path: str) -> Policy:
    """Loads a policy. Raises SettingsError with line and key."""
    return parse(_text(path), path)


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: the policy cannot be read: {error}") from None


def strange_pools(path: str, known: Collection[str]) -> list[str]:
    """A sentence with line and key for each pool of a valid policy that has no nodes."""
    document = Document(_text(path), path)
    named = [("pool", name, name) for name in document.raw.get("pool", {})]
    windows = enumerate(document.raw.get("maintenance", []))
    named += [(f"maintenance[{number}]", "pool", window["pool"]) for number, window in windows if window.get("pool")]
    return [
        str(document.refuse(place, key, f"no node is in a pool called {name!r}{_nearest(name, known)}"))
        for place, key, name in named
        if name not in known
    ]


def parse(text: str, origin: str) -> Policy:
    document = Document(text, origin)
    document.only(document.raw, {*_KEYS, *_TABLES}, "")
    own = {key: value for key, value in document.raw.items() if key not in _TABLES}
    fleet = replace(
        Policy(**_values(document, own, "")),
        maintenance=maintenance_file.read(document, document.raw.get("maintenance", [])),
        probes=_probes(document),
    )
    tables = document.only(document.raw.get("pool", {}), document.raw.get("pool", {}), "pool")
    pools = {name: replace(fleet, **_values_of_pool(document, name, table)) for name, table in tables.items()}
    return replace(fleet, pools=pools)


def _probes(document: Document) -> ProbePolicy:
    made = document.fill(ProbePolicy, document.raw.get("probes", {}), "probes")
    for key, low, high in _PROBE_BOUNDS:
        value = getattr(made, key)
        if not low < value <= high:
            raise document.refuse("probes", key, f"expected more than {low:g} and at most {high:g}, found {value!r}")
    return made


def _values_of_pool(document: Document, name: str, table: Any) -> dict[str, Any]:
    place = f"pool.{name}"
    for key in document.only(table, _KEYS, place):
        if key in _FLEET_WIDE:
            raise document.refuse(place, key, "is one for the whole fleet, not for a pool")
    return _values(document, table, place)


def _values(document: Document, table: Any, place: str) -> dict[str, Any]:
    """The values of the table, each checked against its field's type and bounds."""
    filled = document.fill(Policy, table, place)
    for key, value in table.items():
        why = _out_of_bounds(key, getattr(filled, key))
        if why:
            raise document.refuse(place, key, f"{why}, found {value!r}")
    return {key: getattr(filled, key) for key in table}


def _out_of_bounds(key: str, value: Any) -> str:
    if key == "repair_steps":
        return _senseless(value)
    if key in _SHARES and not 0 < value <= 1:
        return "expected a share, more than 0 and at most 1"
    if key in _AT_LEAST_ONE and value < 1:
        return "expected at least 1"
    if key in _POSITIVE and not 0 < value < float("inf"):
        return "expected more than 0 seconds"
    if key in _NOT_NEGATIVE and not 0 <= value < float("inf"):
        return "expected 0 or more"
    if key == "suite" and not value:
        return "expected the name of a version"
    if key == "shadow_checks":
        return _unknown_check(value)
    return ""


def _unknown_check(named: Collection[str]) -> str:
    known = {check.name for check in checks.ALL}
    strange = next(iter(sorted(set(named) - known)), "")
    return f"no check is called {strange!r}{_nearest(strange, known)}" if strange else ""


def _nearest(name: str, known: Collection[str]) -> str:
    close = get_close_matches(name, sorted(known), 1, 0.5)
    return f"; the nearest is {close[0]!r}" if close else ""


def _senseless(steps: tuple[Verb, ...]) -> str:
    """Checks the repair steps: each must be able to repair a node, and none follows a harsher one."""
    in_order = [step for step in REPAIR_STRENGTH if step in steps]
    if steps and list(steps) == in_order:
        return ""
    return f"expected some of {', '.join(step.value for step in REPAIR_STRENGTH)}, each once and in this order"
