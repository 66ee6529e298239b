"""Names of our marks on Kubernetes nodes, and tolerant access to API objects of any version.

Nothing here raises: an object without a name is None, and missing fields or fields of the wrong type are empty.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

UNTESTED = "holdfast/untested"  # taint: nothing starts here until the full suite has passed
EVICT_AT = "holdfast/evict-at"  # annotation of a pod that must write a checkpoint and exit by this time
DEGRADED = "holdfast/degraded"  # taint and label of a node that should be chosen last
NOTE = "holdfast/cordon"  # annotation that marks a cordon as ours; without it the cordon belongs to others
CONDITION = "HoldfastHealthy"
MANAGER = "holdfast"  # the API server's record of each field that we set
MIRROR = "kubernetes.io/config.mirror"
LONGEST_NOTE = 1_000

Object = Mapping[str, Any]
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")  # a DNS subdomain, RFC 1123


def table(value: object, *path: str) -> Object:
    """The object at the end of a path; an empty one if it is missing."""
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def rows(value: object, *path: str) -> list[Object]:
    """The objects in the list at the end of a path."""
    found = table(value, *path[:-1]).get(path[-1])
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def text(value: Object, name: str) -> str:
    found = value.get(name)
    return found if isinstance(found, str) else ""


def name(value: Object, key: str) -> str:
    """The name of an object; '' if it is none. Users choose annotations: "../other/jobs/x" would be another address."""
    found = text(value, key)
    return found if _NAME.fullmatch(found) else ""


def moment(text: object) -> float | None:
    try:
        found = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return found.timestamp() if found is not None and found.tzinfo is not None else None


def stamp(at: float) -> str:
    """A time in the API server's format: whole seconds, in UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def note(cause: str, reason: str) -> str:
    """One printable line."""
    text = " ".join((f"{cause}: {reason}" if cause else reason).split())
    return "".join(letter for letter in text if letter.isprintable())[:LONGEST_NOTE]
