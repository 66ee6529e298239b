"""The policy file: TOML with the names of lifecycle/policy.py. A wrong one is refused whole."""

from pathlib import Path

from holdfast.controller.tables import Document
from holdfast.lifecycle.policy import Policy
from holdfast.model.settings import SettingsError

_SHARES = ("breaker_share", "shared_share")
_AT_LEAST_ONE = ("automatic_rungs", "inconclusive_tests", "breaker_nodes", "shared_nodes", "degraded_repeats")
_POSITIVE = ("shared_seconds", "lemon_seconds", "silent_seconds", "blind_seconds")
_NOT_NEGATIVE = ("lemon_offences", "spares")


def load(path: str) -> Policy:
    """Raises SettingsError in one sentence with line and key."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: the policy cannot be read: {error}") from None
    return parse(text, path)


def parse(text: str, origin: str) -> Policy:
    document = Document(text, origin)
    policy = document.fill(Policy, document.raw)
    for key in document.raw:
        why = _out_of_bounds(key, getattr(policy, key))
        if why:
            raise document.refuse("", key, f"{why}, found {document.raw[key]!r}")
    return policy


def _out_of_bounds(key: str, value: float) -> str:
    if key in _SHARES and not 0 < value <= 1:
        return "expected a share, more than 0 and at most 1"
    if key in _AT_LEAST_ONE and value < 1:
        return "expected at least 1"
    if key in _POSITIVE and not 0 < value < float("inf"):
        return "expected more than 0 seconds"
    if key in _NOT_NEGATIVE and value < 0:
        return "expected 0 or more"
    if key == "suite" and not value:
        return "expected the name of a version"
    return ""
