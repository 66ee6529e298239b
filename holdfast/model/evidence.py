"""Evidence: one event of a job's end, with the file, the host and the rank it comes from."""

from dataclasses import dataclass

from holdfast.model.signal import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One piece of evidence. All readers (logs, kernel logs, Flight Recorder dumps) pass it to the diagnosis."""

    event: Event
    file: str = ""
    host: str = ""
    rank: int | None = None
    role: str = "note"  # strong, likely, weak: may be a cause; effect: never; others: docs/diagnose.md
    cause: str = ""  # the cause that it supports, by its stable name

    @property
    def at(self) -> float:
        """Seconds since the epoch; 0.0 if unknown."""
        return self.event.at

    def number(self, name: str) -> int | None:
        """An integer of the detail; None if it is missing."""
        value = self.event.detail.get(name)
        try:
            return int(value) if value is not None else None
        except ValueError:
            return None

    def number_or_zero(self, name: str) -> int:
        return self.number(name) or 0

    def word(self, name: str) -> str:
        return str(self.event.detail.get(name, ""))
