"""Verdict: the result of a check, with one row per subject, so that GPU 3 fail and GPU 5 unknown stay separate."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from holdfast.model.health import FailureClass, Health, worst
from holdfast.model.signal import Value
from holdfast.model.subject import Subject, local_name

_BAD = (Health.FAIL, Health.DEGRADED)


@dataclass(frozen=True, slots=True)
class Row:
    subject: Subject
    health: Health
    value: Value | None = None
    limit: Value | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    check: str = ""  # filled in by Check
    rows: tuple[Row, ...]
    failure_class: FailureClass | None = None
    reason: str = ""
    remedy: str = ""
    owner: str = ""
    repair: str = ""  # the first repair step that can help: reset_gpu, reboot or inspect
    evidence: tuple[str, ...] = ()
    disabled: bool = False
    runbook: str = ""  # runbooks/NAME.md; "" if nothing needs to be done
    health: Health = field(init=False, compare=False, repr=False)
    """The worst of the rows. Stored, because the agent asks every verdict several times a second."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "health", worst(row.health for row in self.rows))

    @property
    def state(self) -> str:
        """Health, or 'disabled': a switched-off check is visible as such and never looks like a pass."""
        return "disabled" if self.disabled else self.health.value

    def summary(self) -> str:
        """One line for people: the worst rows, then rows with lesser faults."""
        worst_rows = [row for row in self.rows if row.health is self.health]
        if self.reason or not worst_rows:
            return self.reason
        if self.health is Health.PASS:
            caveats = "; ".join(list(dict.fromkeys(row.reason for row in worst_rows if row.reason))[:2])
            return f"{len(worst_rows)} of {len(self.rows)} pass" + (f" ({caveats})" if caveats else "")
        lesser = [row for row in self.rows if row.health in _BAD and row.health is not self.health and row.reason]
        return "; ".join(_join_rows(rows) for rows in (worst_rows, lesser) if rows)

    def as_json(self) -> dict[str, Any]:
        return {
            "check": self.check,
            "health": self.state,
            "class": self.failure_class.value if self.failure_class else None,
            "reason": self.summary(),
            "remedy": self.remedy,
            "owner": self.owner,
            "runbook": self.runbook,
            "subjects": [
                {
                    "subject": row.subject,
                    "health": row.health.value,
                    "value": row.value,
                    "limit": row.limit,
                    "reason": row.reason,
                }
                for row in self.rows
            ],
            "evidence": list(self.evidence),
        }


def _join_rows(rows: list[Row], most: int = 3) -> str:
    """Each reason appears once, after its subjects."""
    by_reason: dict[str, list[str]] = {}
    for row in rows:
        by_reason.setdefault(row.reason, []).append(local_name(row.subject))
    parts = [f"{_some(names)}: {reason}" for reason, names in list(by_reason.items())[:most]]
    left = len(by_reason) - len(parts)
    return "; ".join(parts) + (f"; and {left} more" if left > 0 else "")


def _some(names: list[str], most: int = 4) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def overall(verdicts: Iterable[Verdict]) -> Health:
    """A node's health: the worst of its enabled verdicts."""
    return worst(one.health for one in verdicts if not one.disabled and one.health is not Health.NOT_APPLICABLE)
