"""Ledger of a supervised run: every second is charged to one category."""

from collections import deque
from dataclasses import replace
from statistics import median

from holdfast.model.ledger import Ledger

_RECENT = 64
_ENOUGH = 10  # steps before their usual time is known
_SLOW = 1.35  # times the usual; what is above the usual is then degraded


class RunAccounts:
    """Receives events in order of time; `at` is any monotonic clock. docs/run.md lists the categories."""

    def __init__(self, at: float, ledger: Ledger | None = None, best_step: int = -1) -> None:
        self._began = self._at = at
        self._before = (ledger or Ledger()).total
        self._ledger = ledger or Ledger()
        self.best_step = best_step
        self._step: int | None = None  # of this attempt
        self._step_seconds: deque[float] = deque(maxlen=_RECENT)
        self._saving = False

    @property
    def ledger(self) -> Ledger:
        return self._ledger

    @property
    def wall_seconds(self) -> float:
        """Total time so far, including earlier runs."""
        return self._before + self._at - self._began

    def charge(self, at: float, name: str) -> None:
        """Charges the time since the last charge to this category."""
        self._add(name, at - self._at)
        self._at = at

    def begin(self, at: float) -> None:
        """An attempt starts. The time until now is charged as waiting."""
        self.charge(at, "waiting")
        self._step, self._saving = None, False

    def step(self, at: float, step: int) -> None:
        if self._step is None:
            self.charge(at, "restart")
        elif step <= self.best_step:
            self.charge(at, "rework")
        else:
            self._charge_steps(at, max(step - self._step, 1))
        self._step = step
        self.best_step = max(self.best_step, step)

    def _charge_steps(self, at: float, steps: int) -> None:
        seconds = at - self._at
        usual = median(self._step_seconds) * steps if len(self._step_seconds) >= _ENOUGH else seconds
        slow = seconds - usual if seconds > _SLOW * usual else 0.0
        self._step_seconds.append(seconds / steps)
        self._add("degraded", slow)
        self._add("productive", seconds - slow)
        self._at = at

    def save(self, at: float, moment: str) -> None:
        if moment == "begin":
            self.charge(at, self._name_of_work())
        elif self._saving:
            self.charge(at, "checkpoint")
        self._saving = moment == "begin"

    def end(self, at: float, *, well: bool) -> None:
        """Time after a failed attempt's last progress counts as lost; without progress its class is unknown."""
        if self._step is None:
            self.charge(at, "unknown")
        else:
            self.charge(at, self._name_of_work() if well else "restart")

    def _name_of_work(self) -> str:
        return "restart" if self._step is None else "productive" if self._step >= self.best_step else "rework"

    def _add(self, name: str, seconds: float) -> None:
        self._ledger = replace(self._ledger, **{name: getattr(self._ledger, name) + seconds})
