"""Incidents of the fleet: opened once per parent, pool or node, kept while the cause lasts, closed when it is gone."""

from collections.abc import Collection, Iterable
from dataclasses import replace

from holdfast.lifecycle.shared import NOT_PARENTS
from holdfast.model.incident import Incident, IncidentState


def is_parent(subject: str) -> bool:
    """Whether an incident on this explains the nodes it names; one on a node or a pool does not."""
    return subject.partition("/")[0] not in NOT_PARENTS


class Incidents:
    """Open incidents by what they are about. No node is a member of two parents' incidents."""

    def __init__(self, known: Iterable[Incident] = ()) -> None:
        self.open = {incident.subject: incident for incident in known if incident.state is IncidentState.OPEN}
        self._members = {subject: set(one.evidence) for subject, one in self.open.items()}
        self._explained = {
            node: subject for subject, nodes in self._members.items() if is_parent(subject) for node in nodes
        }
        self._changed: dict[str, Incident] = {}
        self.absorbed: set[str] = set()  # ids of those that a better explanation made needless since we began

    @property
    def parents(self) -> list[str]:
        return [subject for subject in self.open if is_parent(subject)]

    def members(self, subject: str) -> frozenset[str]:
        return frozenset(self._members.get(subject, ()))

    def raise_(self, subject: str, cause: str, reason: str, now: float, nodes: Collection[str] = ()) -> None:
        """Opened, or told anew if its words or its nodes are others."""
        known = self.open.get(subject)
        told = replace(known or _new(subject, cause, now), reason=reason, evidence=tuple(sorted(nodes)))
        if told == known:
            return
        self._forget_members(subject)
        self._members[subject] = set(nodes)
        if is_parent(subject):
            self._explained.update(dict.fromkeys(nodes, subject))
        self.open[subject] = self._changed[told.id] = told

    def join(self, subject: str, node: str) -> None:
        """One more node of an open incident; it is told with the next `raise_`, for many may join at once."""
        self._members[subject].add(node)
        if is_parent(subject):
            self._explained[node] = subject

    def close(self, subject: str, now: float, why: str = "", *, absorbed: bool = False) -> None:
        known = self.open.pop(subject, None)
        self._forget_members(subject)
        if known is not None:
            reason = f"{known.reason}; {why}" if why else known.reason
            if absorbed:
                self.absorbed.add(known.id)
            self._changed[known.id] = replace(known, state=IncidentState.CLOSED, closed=now, reason=reason)

    def _forget_members(self, subject: str) -> None:
        for node in self._members.pop(subject, ()):
            if self._explained.get(node) == subject:
                del self._explained[node]

    def explaining(self, node: str) -> str:
        """The parent whose open incident accounts for this node's failure, or ''."""
        return self._explained.get(node, "")

    def take_changed(self) -> list[Incident]:
        """What must be stored: each incident once, as it is now."""
        changed, self._changed = self._changed, {}
        return list(changed.values())


def _new(subject: str, cause: str, now: float) -> Incident:
    return Incident(id=f"{subject}@{now:.3f}", opened=now, subject=subject, parent=subject, cause=cause)
