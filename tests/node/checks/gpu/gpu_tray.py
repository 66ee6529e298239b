"""A tray of GPUs for tests: readings as the NVML source makes them, without NVML."""

from collections.abc import Mapping

from holdfast.model.health import Health
from holdfast.model.history import History
from holdfast.model.inventory import Inventory
from holdfast.model.signal import Event, Reading, Signal, Value
from holdfast.model.verdict import Row, Verdict
from holdfast.node.checks.check import Check, Limits

H100 = "NVIDIA H100 80GB HBM3"
A100 = "NVIDIA A100-SXM4-80GB"
L40S = "NVIDIA L40S"


class Tray:
    def __init__(self, gpus: int = 4, model: str = H100) -> None:
        self.gpus = [f"node/n1/gpu/{index}" for index in range(gpus)]
        self.history = History("n1")
        self.history.inventory = Inventory(node="n1", subjects=frozenset(self.gpus))
        self.now = 0.0
        self._model = model

    def read(self, at: float, **values: Value | Mapping[int, Value]) -> "Tray":
        """One reading: a value for all GPUs, or one per GPU number."""
        values = {"gpu_model": self._model, "gpu_lost": 0.0, **values}
        signals = []
        for name, value in values.items():
            each = value if isinstance(value, Mapping) else dict.fromkeys(range(len(self.gpus)), value)
            signals += [Signal(self.gpus[index], name, number) for index, number in each.items()]
        self.history.add(Reading(source="nvml", at=at, signals=signals))
        self.now = at
        return self

    def every(self, seconds: float, until: float, **values: Value | Mapping[int, Value]) -> "Tray":
        at = self.now
        while at <= until:
            self.read(at, **values)
            at += seconds
        return self

    def missing(self, index: int, *names: str, reason: str = "not supported by this GPU/driver") -> "Tray":
        absent = {(self.gpus[index], name): reason for name in names}
        self.history.add(Reading(source="nvml", at=self.now, absent=absent))
        return self

    def happened(self, event: Event) -> "Tray":
        self.history.add(Reading(source="kmsg", at=event.at, events=[event]))
        return self

    def ask(self, check: Check, overrides: Limits | None = None) -> Verdict:
        return check(self.history.window(self.now, check.span), overrides)

    def row(self, check: Check, index: int = 0, overrides: Limits | None = None) -> Row:
        return next(row for row in self.ask(check, overrides).rows if row.subject == self.gpus[index])

    def healths(self, check: Check, overrides: Limits | None = None) -> list[Health]:
        rows = {row.subject: row.health for row in self.ask(check, overrides).rows}
        return [rows[gpu] for gpu in self.gpus]
