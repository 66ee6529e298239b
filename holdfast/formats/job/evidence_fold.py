"""Merges repeated evidence into one with a count, so that a million equal lines take little memory."""

from dataclasses import replace

from holdfast.model.evidence import Evidence

MAX_DISTINCT = 20_000
_DISTINGUISHING = (
    "seq",
    "op",
    "status",
    "peer",
    "pid",
    "exit",
    "signal",
    "where",
    "step",
    "network",
    "ranks",
    "enqueued",
    "problem",
)

Key = tuple[object, ...]


class EvidenceFold:
    def __init__(self) -> None:
        self._kept: dict[Key, Evidence] = {}
        self._last: dict[Key, tuple[int, float]] = {}

    def add(self, evidence: Evidence) -> Key:
        event = evidence.event
        reported = tuple(event.detail.get(name) for name in _DISTINGUISHING)
        key: Key = (
            event.kind,
            event.code,
            evidence.role,
            evidence.cause,
            evidence.rank,
            evidence.host,
            event.device,
            reported,
        )
        if key not in self._kept and len(self._kept) >= MAX_DISTINCT:
            key = key[:4]
        kept = self._kept.get(key)
        self._kept[key] = (
            replace(kept, event=replace(kept.event, count=kept.event.count + event.count)) if kept else evidence
        )
        self._last[key] = (event.line, event.at)
        return key

    def again(self, key: Key, line: int) -> None:
        """Counts one more line of known evidence without reading it."""
        kept = self._kept[key]
        self._kept[key] = replace(kept, event=replace(kept.event, count=kept.event.count + 1))
        self._last[key] = (line, self._last[key][1])

    def take(self) -> list[Evidence]:
        """The evidence in order of first occurrence; `last_line` is the last occurrence."""
        return [self._with_end(key, evidence) for key, evidence in self._kept.items()]

    def _with_end(self, key: Key, evidence: Evidence) -> Evidence:
        line, at = self._last[key]
        if line == evidence.event.line:
            return evidence
        detail = {**evidence.event.detail, "last_line": float(line), "last_at": at}
        return replace(evidence, event=replace(evidence.event, detail=detail))
