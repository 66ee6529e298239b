"""Names of our marks on Kubernetes nodes, and tolerant access to API objects of any version.

Nothing here raises: an object that names nothing is None, and what is missing or of the wrong kind stays empty.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

UNTESTED = "holdfast/untested"  # the taint: nothing starts here until the full suite has passed
EVICT_AT = "holdfast/evict-at"  # the annotation of a pod that is to write a checkpoint and leave by then
DEGRADED = "holdfast/degraded"  # the taint and the label of a node to be chosen last
NOTE = "holdfast/cordon"  # the annotation beside a cordon of ours; a cordon without it is somebody else's
CONDITION = "HoldfastHealthy"
MANAGER = "holdfast"  # what the API server writes beside every field that we set
MIRROR = "kubernetes.io/config.mirror"
LONGEST_NOTE = 1_000

Object = Mapping[str, Any]


def table(value: object, *path: str) -> Object:
    """The object at the end of a path; an empty one where there is none."""
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


def moment(text: object) -> float | None:
    try:
        found = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return found.timestamp() if found is not None and found.tzinfo is not None else None


def stamp(at: float) -> str:
    """A time as the API server wants it: whole seconds, in UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def note(cause: str, reason: str) -> str:
    """One printable line."""
    text = " ".join((f"{cause}: {reason}" if cause else reason).split())
    return "".join(letter for letter in text if letter.isprintable())[:LONGEST_NOTE]
