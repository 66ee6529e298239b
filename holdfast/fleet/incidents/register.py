"""Incident register: opens one incident per parent, pool or node, and closes it when the cause is gone.

Incidents that a seam found are opened and closed by the seams alone. They explain those verdicts of their nodes that
are symptoms of their kind; any other failure of the nodes is handled as usual.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from holdfast.catalog import seam_kinds
from holdfast.fleet.decisions.shared_cause import NOT_PARENTS
from holdfast.fleet.incidents.past import past
from holdfast.model.account import Account
from holdfast.model.incident import Incident, IncidentState


def is_parent(subject: str) -> bool:
    """Whether an incident on this subject explains its nodes; an incident on a node or a pool does not."""
    return subject.partition("/")[0] not in NOT_PARENTS


class Incidents:
    """Open incidents by subject. A node belongs to at most one parent's incident."""

    def __init__(self, known: Iterable[Incident] = ()) -> None:
        self.open = {incident.subject: incident for incident in known if incident.state is IncidentState.OPEN}
        self._members = {subject: set(one.evidence) for subject, one in self.open.items()}
        self._explained: dict[str, str] = {}
        self._victims: dict[str, set[str]] = {}  # node -> seams' incidents that affect it
        for subject, nodes in self._members.items():
            self._index(subject, nodes)
        self._changed: dict[str, Incident] = {}
        self.absorbed: set[str] = set()  # ids of incidents that a better explanation replaced since the start

    @property
    def parents(self) -> list[str]:
        """Incidents on shared parents from node failures, without those of seams."""
        return [subject for subject, one in self.open.items() if is_parent(subject) and one.account is None]

    @property
    def found_by_seams(self) -> Mapping[str, Incident]:
        return {subject: one for subject, one in self.open.items() if one.account is not None}

    def members(self, subject: str) -> frozenset[str]:
        return frozenset(self._members.get(subject, ()))

    def raise_(self, subject: str, cause: str, reason: str, now: float, nodes: Collection[str] = ()) -> None:
        """Opens an incident, or updates it if its reason or its nodes changed."""
        known = self.open.get(subject)
        updated = replace(known or _new(subject, cause, now), reason=reason, evidence=tuple(sorted(nodes)))
        self._update(known, updated)

    def found(self, subject: str, account: Account, reason: str, now: float, nodes: Collection[str]) -> None:
        """Takes a seam's finding: one incident for its root. It absorbs incidents that were opened on its symptoms."""
        known = self.open.get(subject)
        updated = replace(
            known or _new(subject, account.kind, now),
            cause=account.kind,
            reason=reason,
            evidence=tuple(sorted(nodes)),
            account=account,
        )
        self._update(known, updated)
        for parent in self.parents:
            if self.members(parent) and self.members(parent) <= set(nodes):
                self.close(parent, now, f"absorbed by {subject}", absorbed=True)

    def _update(self, known: Incident | None, updated: Incident) -> None:
        if updated == known:
            return
        self._forget_members(updated.subject)
        self.open[updated.subject] = self._changed[updated.id] = updated
        self._members[updated.subject] = set(updated.evidence)
        self._index(updated.subject, updated.evidence)

    def _index(self, subject: str, nodes: Iterable[str]) -> None:
        if self.open[subject].account is not None:
            for node in nodes:
                self._victims.setdefault(node, set()).add(subject)
        elif is_parent(subject):
            self._explained.update(dict.fromkeys(nodes, subject))

    def join(self, subject: str, node: str) -> None:
        """Adds a node to an open incident. The next `raise_` stores it, because many may join at once."""
        self._members[subject].add(node)
        if is_parent(subject):
            self._explained[node] = subject

    def over(self, subject: str, now: float, why: str) -> None:
        """Closes an incident that a seam found; only the seams call it."""
        if (known := self.open.get(subject)) is not None and known.account is not None:
            sentence = past(subject, known.account)
            account = replace(known.account, sentence=sentence)
            self._close(replace(known, reason=sentence, account=account), now, why, absorbed=False)

    def close(self, subject: str, now: float, why: str = "", *, absorbed: bool = False) -> None:
        if (known := self.open.get(subject)) is not None and known.account is None:
            self._close(known, now, why, absorbed=absorbed)

    def _close(self, known: Incident, now: float, why: str, *, absorbed: bool) -> None:
        self._forget_members(known.subject)
        del self.open[known.subject]
        reason = f"{known.reason}; {why}" if why else known.reason
        if absorbed:
            self.absorbed.add(known.id)
        self._changed[known.id] = replace(known, state=IncidentState.CLOSED, closed=now, reason=reason)

    def _forget_members(self, subject: str) -> None:
        for node in self._members.pop(subject, ()):
            if self._explained.get(node) == subject:
                del self._explained[node]
            if (roots := self._victims.get(node)) is not None:
                roots.discard(subject)
                if not roots:
                    del self._victims[node]

    def explaining(self, node: str) -> str:
        """The parent whose open incident explains this node's failure, or ''."""
        return self._explained.get(node, "")

    def root_of(self, node: str, checks: Iterable[str]) -> str:
        """The seam's incident of which one of these checks' verdicts on the node is a symptom, or ''."""
        roots = self._victims.get(node)
        if not roots:
            return ""
        named = tuple(checks)
        return next((one for one in sorted(roots) if seam_kinds.absorbs(self.open[one].cause, named)), "")

    def take_changed(self) -> list[Incident]:
        """The changed incidents to store, each once."""
        changed, self._changed = self._changed, {}
        return list(changed.values())


def _new(subject: str, cause: str, now: float) -> Incident:
    return Incident(id=f"{subject}@{now:.3f}", opened=now, subject=subject, parent=subject, cause=cause)
