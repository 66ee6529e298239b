"""Inputs of a plan: numbers with units and their origin; one sentence for an invalid one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf, isfinite

from holdfast.config.quantities import BYTES, DURATION, MOST_SECONDS, duration, scaled
from holdfast.economics.costs.feasible import BadNumber

MOST_MACHINES = 1e9
MOST_DAYS = 36_500.0


@dataclass(frozen=True, slots=True)
class PlanInput:
    """One input: value, unit, text and origin."""

    name: str
    value: float | str
    unit: str
    shown: str
    source: str


@dataclass(slots=True)
class PlanInputs:
    """Collects the inputs of a plan in the order of their use."""

    known: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Values from elsewhere for options that are not given: name -> (text, source)."""
    given: list[PlanInput] = field(default_factory=list)

    def duration(self, name: str, text: str | None, default: str = "", why: str = "") -> float:
        value = self._take(name, text, default, why, "seconds", DURATION, duration)
        if value > MOST_SECONDS:
            raise BadNumber(f"--{name}: expected {DURATION}, at most 1,000 years, found {self.given[-1].shown!r}")
        return value

    def size(self, name: str, text: str | None, default: str = "", why: str = "") -> float:
        return self._take(name, text, default, why, "bytes", "a size such as 4GB, 5TB or 80GiB", scaled(BYTES))

    def bandwidth(self, name: str, text: str | None, default: str = "", why: str = "") -> float:
        units = {f"{unit}/s": scale for unit, scale in BYTES.items()}
        return self._take(
            name, text, default, why, "bytes per second", "a bandwidth such as 400GB/s or 2TB/s", scaled(units)
        )

    def number(
        self, name: str, text: str | None, unit: str, default: str = "", why: str = "", most: float = inf
    ) -> float:
        wanted = "a number not below 0, such as 1024 or 2.5"
        value = self._take(name, text, default, why, unit, wanted, scaled({"": 1.0}))
        if value > most:
            raise BadNumber(f"--{name}: expected a number from 0 to {most:,.10g}, found {self.given[-1].shown}")
        return value

    def machines(self, name: str, text: str | None) -> float:
        """A number of GPUs or nodes: at least one, and at most a plausible number."""
        value = self.number(name, text, "GPUs" if name == "gpus" else name)
        if not 1 <= value <= MOST_MACHINES or value != int(value):
            raise BadNumber(f"--{name}: expected 1 to {MOST_MACHINES:g}, a whole number, found {value:.10g}")
        return value

    def share(self, name: str, text: str | None, default: str = "", why: str = "") -> float:
        wanted = "a share such as 0.95 or 95%"
        value = self._take(name, text, default, why, "share", wanted, scaled({"": 1.0, "%": 0.01}))
        if value > 1:
            raise BadNumber(f"--{name}: expected {wanted}, at most 1, found {self.given[-1].shown}")
        return value

    def note(self, name: str, value: float | str, unit: str, shown: str, source: str) -> None:
        self.given.append(PlanInput(name, value, unit, shown, source))

    def _take(
        self,
        name: str,
        text: str | None,
        default: str,
        why: str,
        unit: str,
        wanted: str,
        parse: Callable[[str], float | None],
    ) -> float:
        source = "given" if text is not None else f"default: {why}"
        if name in self.known and text in (None, self.known[name][0]):
            text, source = self.known[name]
        given = text if text is not None else default
        if not given:
            raise BadNumber(f"--{name} is missing: expected {wanted}")
        value = parse(given.strip())
        if value is None or not isfinite(value):
            raise BadNumber(f"--{name}: expected {wanted}, found {given!r}")
        self.note(name, value, unit, given.strip(), source)
        return value
