"""Stored verdict changes of the last days, replayed through a policy."""

from dataclasses import dataclass

from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.policy.preview import Preview, preview
from holdfast.fleet.store import Store
from holdfast.model.lifecycle import Stage

MOST_CHANGES = 100_000  # replayed; `until` says where the rest is cut off


@dataclass(frozen=True, slots=True)
class Replay:
    """What is stored from `begin` on, and what the policy would have done with it."""

    begin: float
    until: float | None
    """Time of the last change that was replayed, where there are more than MOST_CHANGES. None: all were."""
    preview: Preview
    left_then: int
    """How often a node really left service."""

    def as_json(self) -> dict[str, object]:
        found = self.preview
        return {
            "since": self.begin,
            "cut_at": self.until,
            "verdict_changes": found.changes,
            "actions": dict(found.actions),
            "left_service": dict(found.nodes),
            "left_service_then": self.left_then,
            "held": dict(found.held),
            "promoted": found.promoted,
            "incidents": [
                {"subject": one.subject, "cause": one.cause, "reason": one.reason, "opened": one.opened}
                for one in found.incidents
            ],
        }


def replay(policy: Policy, store: Store, begin: float) -> Replay:
    changes = store.changes(begin, MOST_CHANGES + 1)
    until = changes[MOST_CHANGES - 1][1].at if len(changes) > MOST_CHANGES else None
    left = [
        one
        for one in store.transitions(begin, MOST_CHANGES)
        if one.after is Stage.DRAINING and one.before is not one.after and (until is None or one.at <= until)
    ]
    return Replay(begin, until, preview(policy, store.nodes(), changes[:MOST_CHANGES], begin), len(left))
