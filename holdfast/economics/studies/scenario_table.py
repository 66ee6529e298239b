"""Tables of a scenario file: durations that may be distributions."""

from collections.abc import Mapping

from holdfast.config.tables import ConfigTable
from holdfast.economics.simulation.spread import Spread, SpreadKind, fixed, lognormal

SPREADS = "a duration such as 10m, or a table of median and p95, of mean, or of low and high"


class ScenarioTable(ConfigTable):
    def spread(self, key: str, default: Spread | None = None) -> Spread | None:
        value = self.raw(key)
        if value is None:
            return default
        if not isinstance(value, Mapping):
            return fixed(self.duration(key, value))
        parts = {name: self.duration(key, part) for name, part in value.items()}
        if parts.keys() == {"median", "p95"} and 0 < parts["median"] <= parts["p95"]:
            return lognormal(parts["median"], parts["p95"])
        if parts.keys() == {"mean"}:
            return Spread(SpreadKind.EXPONENTIAL, parts["mean"])
        if parts.keys() == {"low", "high"} and parts["low"] <= parts["high"]:
            return Spread(SpreadKind.UNIFORM, parts["low"], parts["high"])
        raise self.wrong(key, f"expected {SPREADS}; found {dict(value)!r}")
