"""Planned work on nodes: verdicts are recorded, and no action follows."""

from dataclasses import dataclass

from holdfast.model.lifecycle import NodeState

DAY_SECONDS = 86_400.0
WEEK_SECONDS = 7 * DAY_SECONDS
MONDAY = 4 * DAY_SECONDS  # offset of the first Monday; the epoch was a Thursday


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintenance:
    """Planned work, once or every week, on `nodes` or a `pool`; without both, on the whole fleet."""

    name: str
    nodes: frozenset[str] = frozenset()
    pool: str = ""
    start: float = 0.0  # once: seconds since the epoch; every week: seconds since Monday 00:00 UTC
    end: float = 0.0
    weekly: bool = False

    def covers(self, node: NodeState, now: float) -> bool:
        concerned = (not self.nodes or node.name in self.nodes) and self.pool in ("", node.pool)
        return concerned and self.active(now)

    def boundaries(self, since: float, until: float) -> list[float]:
        """Begins and ends of the work between two times."""
        if not self.weekly:
            return [at for at in (self.start, self.end) if since < at < until]
        first = (since - MONDAY) // WEEK_SECONDS
        weeks = range(int(first), int((until - MONDAY) // WEEK_SECONDS) + 1)
        times = (MONDAY + week * WEEK_SECONDS + at for week in weeks for at in (self.start, self.end))
        return sorted(at for at in times if since < at < until)

    def active(self, now: float) -> bool:
        if not self.weekly:
            return self.start <= now < self.end
        at = (now - MONDAY) % WEEK_SECONDS
        if self.start <= self.end:
            return self.start <= at < self.end
        return at >= self.start or at < self.end  # the work lasts over the end of the week
