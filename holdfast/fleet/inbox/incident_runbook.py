"""The runbook of an incident, by its subject and cause."""

from holdfast.catalog import seam_kinds
from holdfast.model.incident import Incident

SHARED, SLOW_PATH = "fleet.shared_cause", "fleet.slow_path"
_OWN_CAUSE = ("node", "pool", "fabric")  # kinds of subjects whose incidents are not about a shared parent


def runbook_of(incident: Incident) -> str:
    """The runbook of an incident. For nodes that fail together, and for a path that probes find slow, the shared part
    decides, not the check."""
    if incident.subject.startswith("fabric/trunk/"):
        return SLOW_PATH
    own = incident.cause in seam_kinds.kinds() or incident.subject.partition("/")[0] in _OWN_CAUSE
    return incident.cause if own else SHARED
