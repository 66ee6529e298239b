"""Incidents of the fleet: opened once per parent or node, kept while their cause lasts, closed when it is gone."""

from dataclasses import replace

from holdfast.model.incident import Incident, IncidentState


class Incidents:
    """Open incidents by what they are about. `changed` holds what must be stored."""

    def __init__(self, known: tuple[Incident, ...] = ()) -> None:
        self.open = {incident.subject: incident for incident in known if incident.state is IncidentState.OPEN}
        self.members: dict[str, frozenset[str]] = {}  # subject -> nodes it explains
        self.changed: list[Incident] = []

    def raise_(self, subject: str, cause: str, reason: str, now: float, nodes: frozenset[str] = frozenset()) -> None:
        members = self.members.get(subject, frozenset()) | nodes
        known = self.open.get(subject)
        if known is not None and members == self.members.get(subject, frozenset()):
            return
        self.members[subject] = members
        evidence = tuple(sorted(members))
        if known is None:
            identity = f"{subject}@{now:.0f}"
            known = Incident(id=identity, opened=now, subject=subject, parent=subject, cause=cause)
        self.open[subject] = replace(known, reason=reason, evidence=evidence)
        self.changed.append(self.open[subject])

    def close(self, subject: str, now: float) -> None:
        known = self.open.pop(subject, None)
        self.members.pop(subject, None)
        if known is not None:
            self.changed.append(replace(known, state=IncidentState.CLOSED, closed=now))

    def explaining(self, node: str) -> Incident | None:
        """The open incident that already accounts for this node's failure."""
        for subject, members in self.members.items():
            if node in members:
                return self.open.get(subject)
        return None

    def take_changed(self) -> list[Incident]:
        changed, self.changed = self.changed, []
        return changed
