"""Guards between a failure and a quarantine: planned work, a shared cause, a suspected one, the breaker."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from holdfast.fleet.decisions.breaker import Tally, breaker_of
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.decisions.shared_cause import Places, SharedCause, enough, explain, kinds_for, suspect
from holdfast.fleet.incidents.register import Incidents
from holdfast.model.lifecycle import NodeState, Stage

SILENT = "agent.silent"


@dataclass(frozen=True, slots=True)
class Hold:
    """The reason that a failure has no effect now."""

    holder: str  # 'maintenance/winter', 'loop/c2', 'loop/c2?' (only suspected), 'pool/train'
    reason: str
    # an incident on another subject explains the failure: the node keeps its scheduling preference
    victim: bool = False


def planned(node: NodeState, now: float, policy: Policy) -> Hold | None:
    for window in policy.maintenance:
        if window.covers(node, now):
            return Hold(f"maintenance/{window.name}", f"maintenance {window.name}: recorded, nothing is done")
    return None


class Guards:
    def __init__(self, nodes: Iterable[NodeState], incidents: Incidents) -> None:
        self.places = Places()
        self.tallies: defaultdict[str, Tally] = defaultdict(Tally)  # pool -> its counts
        self.incidents = incidents
        self._failing: dict[str, tuple[float, str]] = {}  # failing node -> (since, check)
        self._degraded: dict[str, float] = {}  # degraded node that does not fail -> since
        self._waning: dict[str, float] = {}  # shared cause -> time since which too few of its nodes fail
        self._recent: tuple[float, set[str]] = (float("-inf"), set())  # nodes that recently began to fail
        self._explain_again = True
        for node in nodes:
            self.moved(None, node)

    def moved(self, before: NodeState | None, after: NodeState) -> None:
        """Update the counts after a change of a node."""
        if before is not None:
            self.tallies[before.pool].count(before, -1)
        self.tallies[after.pool].count(after, 1)
        if before is None or before.place != after.place or Stage.REMOVED in (before.stage, after.stage):
            self.places.put(after)

    def failed_by(self, name: str, cause: str, now: float, policy: Policy) -> None:
        """Takes a new failure.

        The node joins the open incident of a parent; otherwise shared causes are computed again.
        """
        self.failed_together((name,), cause, now, policy)

    def failed_together(self, names: Iterable[str], cause: str, now: float, policy: Policy) -> None:
        """Takes failures of many nodes at once, such as a silent fleet, and computes shared causes once."""
        new = [name for name in names if name not in self._failing]
        for name in new:
            self._failing[name] = (now, cause)
            self._recent[1].add(name)
            self._explain_again = True
        # parent -> whether it explains them; cached, because a whole fleet may fall silent at once
        explains: dict[str, bool] = {}
        if any([self._unexplained(name, policy, explains) for name in new]):
            self.explain_failures(now, policy)

    def degraded(self, name: str, now: float) -> None:
        """Takes a degradation. It is evidence together with failing neighbours, but names no parent alone."""
        if name not in self._failing and name not in self._degraded:
            self._degraded[name] = now
            self._recent[1].add(name)
            self._explain_again = True

    def _unexplained(self, name: str, policy: Policy, explains: dict[str, bool]) -> bool:
        """Whether a parent without an incident may explain the failure.

        A parent with an open incident adds the node.
        """
        if self.incidents.explaining(name) or self._root(name):
            return False
        parents = self.places.parents(name)
        known = next((parent for parent in parents if parent in self.incidents.open), "")
        if known:
            self.incidents.join(known, name)
        for parent in parents:
            if parent not in explains:
                explains[parent] = self._may_explain(parent, policy)
        return not known and any(explains[parent] for parent in parents)

    def remember(self, name: str, cause: str, at: float) -> None:
        """Restores a node that was failing before this process started."""
        self._failing[name] = (at, cause)

    def recovered(self, name: str, cause: str = "") -> None:
        """Takes the end of this failure, or of any."""
        if name in self._failing and cause in ("", self._failing[name][1]):
            del self._failing[name]
            if name not in self._degraded:
                self._recent[1].discard(name)

    def no_longer_degraded(self, name: str) -> None:
        if self._degraded.pop(name, None) is not None and name not in self._failing:
            self._recent[1].discard(name)

    def forget(self, node: NodeState) -> None:
        self.tallies[node.pool].count(node, -1)
        self._failing.pop(node.name, None)
        self._degraded.pop(node.name, None)
        self._recent[1].discard(node.name)

    def failing_by(self, name: str) -> str | None:
        """The check that the node fails; None if it is healthy."""
        return self._failing[name][1] if name in self._failing else None

    def _may_explain(self, parent: str, policy: Policy) -> bool:
        below = self.places.below(parent)
        bad = sum(name in self._failing or name in self._degraded for name in below)
        return len(below) >= policy.shared_nodes and enough(bad, len(below), policy)

    def explain_failures(self, now: float, policy: Policy) -> None:
        """Finds the parents that explain the current failures. A better explanation absorbs the ones it replaces."""
        self._explain_again = False
        known = self.incidents.parents
        evidence = self._lately(now, policy).union(*(self.incidents.members(parent) for parent in known))
        unexplained = {name for name in evidence if not self._root(name)}
        causes = [self._failing[name][1] for name in unexplained if name in self._failing]
        prefer = kinds_for(max(sorted(set(causes)), key=causes.count, default=""))
        degraded = self._degraded.keys() - self._failing.keys()
        found = explain(unexplained, self.places, policy, known, degraded, prefer)
        for parent in known:
            if all(cause.parent != parent for cause in found):
                heir = _heir(self.incidents.members(parent), found)
                why = f"absorbed by {heir}" if heir else "it no longer explains enough of them"
                self._close(parent, now, why, absorbed=bool(heir))
        for cause in found:
            self.incidents.raise_(cause.parent, self._main_cause(cause), cause.reason, now, cause.nodes)

    def _lately(self, now: float, policy: Policy) -> set[str]:
        """Nodes that recently began to fail, cached for one moment."""
        if self._recent[0] != now:
            since = now - policy.shared_seconds
            failing = {name for name, (at, _) in self._failing.items() if at >= since}
            self._recent = (now, failing.union(name for name, at in self._degraded.items() if at >= since))
        return self._recent[1]

    def _main_cause(self, cause: SharedCause) -> str:
        """The check that most nodes of the parent fail."""
        causes = [self._failing[name][1] for name in cause.nodes if name in self._failing]
        return max(sorted(set(causes)), key=causes.count, default="")

    def end_what_is_over(self, now: float, policy: Policy, fails: Callable[[str], bool]) -> None:
        """Ends shared causes of which no node fails, or for a while too few nodes to be explained by them."""
        if self._explain_again:
            self.explain_failures(now, policy)
        for parent in self.incidents.parents:
            members = self.incidents.members(parent)
            still = sum(map(fails, members))
            if not still:
                self._close(parent, now, "none of its nodes fails now")
            elif enough(still, len(members), policy):
                self._waning.pop(parent, None)
            elif now - self._waning.setdefault(parent, now) >= policy.shared_seconds:
                self._close(parent, now, f"{still} nodes still fail and are handled one by one")

    def _close(self, parent: str, now: float, why: str, *, absorbed: bool = False) -> None:
        """Closes a shared cause. Its nodes that still fail are no evidence for another one."""
        self._waning.pop(parent, None)
        if not absorbed:
            for name in self.incidents.members(parent):
                if name in self._failing:
                    self._failing[name] = (float("-inf"), self._failing[name][1])
                    self._recent[1].discard(name)
        self.incidents.close(parent, now, why, absorbed=absorbed)

    def _root(self, name: str) -> str:
        """The seam's incident that explains the failing check of a node, or ''."""
        return self.incidents.root_of(name, (self.failing_by(name) or "",))

    def hold(
        self, node: NodeState, now: float, policy: Policy, *, out: bool, checks: Collection[str] = ()
    ) -> Hold | None:
        """Why a failure of this node by these checks has no effect now; `out`: the node would leave service."""
        if (work := planned(node, now, policy)) is not None:
            return work
        if root := self.incidents.root_of(node.name, checks):
            kind = self.incidents.open[root].cause
            return Hold(root, f"a symptom of {kind} on {root}: left in service, the cause is repaired there", True)
        if parent := self.incidents.explaining(node.name):
            return Hold(parent, f"part of the incident on {parent}, not quarantined separately", True)
        if not out:
            return None
        if (pattern := self.pattern(node, now, policy)) is not None:
            return pattern
        guard = breaker_of(self.tallies[node.pool], node.pool, policy)
        return Hold(f"pool/{node.pool}", guard.reason) if guard.open else None

    def pattern(self, node: NodeState, now: float, policy: Policy) -> Hold | None:
        """Delays a failure for a short time, longer if other nodes behind the same parent fail.
        The node takes no new work during the wait, so the only cost is a later repair.
        """
        waited = now - self._failing.get(node.name, (node.since, ""))[0]
        if waited >= max(policy.shared_wait_seconds, policy.shared_first_seconds):
            return None
        parent, others = suspect(node.name, self._lately(now, policy), self.places, policy)
        if not parent or waited >= (policy.shared_wait_seconds if others else policy.shared_first_seconds):
            return None
        if node.held.endswith("?"):
            return Hold(node.held, node.reason)  # the first suspected parent stays, which keeps the history short
        if not others:
            return Hold(f"{parent}?", f"takes no new work; waiting to see whether others behind {parent} fail too")
        return Hold(f"{parent}?", f"{others} more behind {parent} fail: waiting to see whether it is the cause")


def _heir(members: frozenset[str], found: list[SharedCause]) -> str:
    """The parent that explains most of these nodes now, or ''."""
    best = max(found, key=lambda cause: len(cause.nodes & members), default=None)
    return best.parent if best is not None and best.nodes & members else ""
