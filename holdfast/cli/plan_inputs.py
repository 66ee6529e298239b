"""What a plan was asked with: numbers with their units, each with where it came from; one sentence for a wrong one."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite

from holdfast.catalog.economics import PublicRate, public_rates
from holdfast.cli.refusal import Refusal
from holdfast.costs.survival import DAYS_PER_YEAR, Posterior, rate_from_probability

SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0, "y": 31_536_000.0}
BYTES = {f"{prefix}B": 1000.0**power for power, prefix in enumerate(("", "k", "M", "G", "T", "P"))}
BYTES |= {f"{prefix}iB": 1024.0**power for power, prefix in enumerate(("K", "M", "G", "T", "P"), 1)} | {"KB": 1000.0}
MOST_MACHINES = 1e9
MOST_PER_YEAR = 365.0  # one failure per GPU and day
_QUANTITY = re.compile(r"([0-9][0-9_,]*\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+)\s*([A-Za-z%/]*)")


@dataclass(frozen=True, slots=True)
class Given:
    """One input: its value in its unit, as it is shown, and who says so."""

    name: str
    value: float | str
    unit: str
    shown: str
    source: str


@dataclass(slots=True)
class Asked:
    """Collects the inputs of a plan in the order they are asked for."""

    given: list[Given] = field(default_factory=list)

    def duration(self, name: str, text: str | None, default: str = "", why: str = "") -> float:
        return self._take(name, text, default, why, "seconds", "a duration such as 90s, 10m, 2h or 30d", _duration)

    def size(self, name: str, text: str | None, default: str = "", why: str = "") -> float:
        return self._take(name, text, default, why, "bytes", "a size such as 4GB, 5TB or 80GiB", _scaled(BYTES))

    def bandwidth(self, name: str, text: str | None, default: str = "", why: str = "") -> float:
        units = {f"{unit}/s": scale for unit, scale in BYTES.items()}
        return self._take(
            name, text, default, why, "bytes per second", "a bandwidth such as 400GB/s or 2TB/s", _scaled(units)
        )

    def number(self, name: str, text: str | None, unit: str, default: str = "", why: str = "") -> float:
        return self._take(name, text, default, why, unit, "a number such as 1024 or 2.5", _scaled({"": 1.0}))

    def machines(self, name: str, text: str | None) -> float:
        """GPUs or nodes: at least one, and no more than anybody could build."""
        value = self.number(name, text, "GPUs" if name == "gpus" else name)
        if not 1 <= value <= MOST_MACHINES:
            raise Refusal(f"--{name}: expected 1 to {MOST_MACHINES:g}, found {text}")
        return value

    def share(self, name: str, text: str | None, default: str = "", why: str = "") -> float:
        wanted = "a share such as 0.95 or 95%"
        value = self._take(name, text, default, why, "share", wanted, _scaled({"": 1.0, "%": 0.01}))
        if value > 1:
            raise Refusal(f"--{name}: expected {wanted}, at most 1, found {text}")
        return value

    def note(self, name: str, value: float | str, unit: str, shown: str, source: str) -> None:
        self.given.append(Given(name, value, unit, shown, source))

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
        said = text if text is not None else default
        if not said:
            raise Refusal(f"--{name} is missing: expected {wanted}")
        value = parse(said.strip())
        if value is None or not isfinite(value):
            raise Refusal(f"--{name}: expected {wanted}, found {said!r}")
        self.note(name, value, unit, said.strip(), "given" if text is not None else f"default: {why}")
        return value


def _scaled(units: Mapping[str, float]) -> Callable[[str], float | None]:
    def parse(text: str) -> float | None:
        found = _QUANTITY.fullmatch(text)
        if found is None or found[2] not in units:
            return None
        return float(found[1].replace(",", "").replace("_", "")) * units[found[2]]

    return parse


def _duration(text: str) -> float | None:
    """Several parts add up: 1h30m. A bare number is refused, for nobody knows its unit."""
    parts = _QUANTITY.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text.replace(" ", ""):
        return None
    if any(unit not in SECONDS for _, unit in parts):
        return None
    return sum(float(number.replace(",", "").replace("_", "")) * SECONDS[unit] for number, unit in parts)


@dataclass(frozen=True, slots=True)
class Rate:
    """Failures per GPU-year, how sure that is, and what was counted."""

    per_gpu_year: float
    posterior: Posterior | None
    name: str
    caveat: str


def rate(
    asked: Asked, text: str | None, events: str | None = None, gpu_years: str | None = None, name: str = "rate"
) -> Rate:
    """A public rate by name, a number, or own counts. A number below 1 is the chance that a GPU fails in a year."""
    if events is not None or gpu_years is not None:
        if events is None or gpu_years is None or text is not None:
            raise Refusal("own counts: expected both --events and --gpu-years, and no --rate")
        return _own(asked, events, gpu_years)
    offered = ", ".join(public_rates())
    if text is None:
        raise Refusal(
            f"--{name} is missing: expected failures per GPU-year as a number, or a public rate ({offered});"
            " they differ thirtyfold, so there is no default"
        )
    if known := public_rates().get(text):
        return _public(asked, known)
    value = _scaled({"": 1.0})(text)
    if value is None or not isfinite(value):
        raise Refusal(f"--{name}: expected failures per GPU-year as a number, or one of {offered}, found {text!r}")
    return _number(asked, value, text)


def _own(asked: Asked, events: str, gpu_years: str) -> Rate:
    seen = asked.number("events", events, "failures")
    years = asked.number("gpu-years", gpu_years, "GPU-years")
    if seen != int(seen) or years <= 0:
        raise Refusal("own counts: expected a whole number of --events and --gpu-years above 0")
    posterior = Posterior(int(seen), years)
    return Rate(_sane(posterior.mean), posterior, "your own counts", "")


def _public(asked: Asked, known: PublicRate) -> Rate:
    posterior = None
    value = rate_from_probability(known.per_gpu_year) if known.probability else known.per_gpu_year
    if known.events is not None and known.gpu_days is not None:
        posterior = Posterior(known.events, known.gpu_days / DAYS_PER_YEAR)
        value = known.events * DAYS_PER_YEAR / known.gpu_days
    asked.note("rate", value, "failures per GPU-year", known.name, f"{known.source}; counts {known.counts}")
    return Rate(value, posterior, known.name, known.caveat)


def _number(asked: Asked, value: float, text: str) -> Rate:
    if value <= 0:
        raise Refusal(f"--rate: expected a number above 0, found {text}")
    meant = rate_from_probability(value) if value < 1 else _sane(value)
    how = "given, as the chance to fail within a year" if value < 1 else "given, as failures per GPU-year"
    asked.note("rate", meant, "failures per GPU-year", f"{meant:.4g}", f"{how}: {text}")
    return Rate(meant, None, text, "")


def _sane(value: float) -> float:
    if value > MOST_PER_YEAR:
        raise Refusal(
            f"--rate: {value:g} per GPU-year is {value / DAYS_PER_YEAR:.3g} failures per GPU and day;"
            f" expected at most {MOST_PER_YEAR:g} per GPU-year, one a day"
        )
    return value
