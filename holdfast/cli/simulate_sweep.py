"""Values other than the file's: one (`--set`), or many (`--sweep`)."""

import re
from typing import Any

from holdfast.cli.refusal import Refusal

SHORT = {
    "spares": "policy.spares",
    "mttr": "repair.time",
    "crews": "repair.crews",
    "interval": "checkpoint.interval",
    "write": "checkpoint.write",
    "rate": "hazard.rate",
    "detect": "restart.detect",
    "days": "cluster.days",
}
_KEY = re.compile(r"[a-z_]+(\.[a-z_]+)?")


def parse_change(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not _KEY.fullmatch(key) or not value:
        raise Refusal(f"--set: expected KEY=VALUE such as policy.spares=20, found {text!r}")
    return SHORT.get(key, key), as_toml(value)


def as_toml(value: str) -> Any:
    """A number where it is one; yes and no as TOML says them; else a text."""
    if value in ("true", "false"):
        return value == "true"
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value
