"""Ledger: the use of paid time. Every second has exactly one category, so the parts sum to the total."""

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """Seconds, GPU-seconds or money. The caller chooses the unit; all parts use the same one."""

    productive: float = 0.0
    degraded: float = 0.0
    checkpoint: float = 0.0
    rework: float = 0.0
    restart: float = 0.0
    waiting: float = 0.0
    idle: float = 0.0
    unknown: float = 0.0

    @property
    def total(self) -> float:
        return sum(self.parts().values())

    def parts(self) -> dict[str, float]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def share(self, name: str) -> float:
        """The share of a part; 0 if the total is 0."""
        whole = self.total
        return self.parts()[name] / whole if whole else 0.0

    def shares(self) -> dict[str, float]:
        """Shares of the parts that are not 0."""
        return {name: self.share(name) for name, value in self.parts().items() if value}
