"""SXid codes of NVSwitch: name, and whether they stop traffic."""

from dataclasses import dataclass
from functools import cache

from holdfast.catalog.table import rows

FATAL = "fatal"
POTENTIALLY_FATAL = "potentially_fatal"
NONFATAL = "nonfatal"
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Sxid:
    code: int
    name: str
    kind: str  # fatal, potentially_fatal, nonfatal, unknown


def find(code: int) -> Sxid:
    """The entry of a code. For an unlisted code only the severity word in its line counts."""
    return _all().get(code) or Sxid(code, "not in the catalog", UNKNOWN)


def all_codes() -> tuple[Sxid, ...]:
    return tuple(_all().values())


@cache
def _all() -> dict[int, Sxid]:
    return {int(row["code"]): Sxid(int(row["code"]), row["name"], row["class"]) for row in rows("sxid.csv")}
