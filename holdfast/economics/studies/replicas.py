"""Runs enough replicas of one setting, or of two side by side, and combines them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf

from holdfast.economics.simulation.estimate import Estimate, estimate
from holdfast.economics.simulation.outcome import SimulationOutcome
from holdfast.economics.studies.tasks import Setting, Task, Workers

SHARES = ("productive", "ettr")  # figures that are shares of one
BATCH = 10  # replicas between two tests of the precision: a fixed number, so that a seed always gives the same answer


@dataclass(slots=True)
class Results:
    setting: Setting
    outcomes: list[SimulationOutcome] = field(default_factory=list)

    def values(self, figure: str) -> list[float]:
        return [outcome.figures[figure] for outcome in self.outcomes]

    def figure(self, name: str) -> Estimate:
        return estimate(self.values(name), least=0.0, most=1.0 if name in SHARES else inf)

    def share(self, part: str) -> Estimate:
        """A share of the paid GPU-time."""
        return estimate([outcome.ledger.share(part) for outcome in self.outcomes], least=0.0, most=1.0)

    def gpu_hours(self, part: str) -> Estimate:
        return estimate([outcome.ledger.parts()[part] / 3600 for outcome in self.outcomes], least=0.0)

    @property
    def figures(self) -> list[str]:
        return list(self.outcomes[0].figures)

    @property
    def parts(self) -> list[str]:
        """The categories of the ledger that occur."""
        return [part for part in self.outcomes[0].ledger.parts() if self.share(part).mean]


def replicate(
    settings: Sequence[Setting],
    replicas: int,
    seed: int,
    precision: float,
    work: Workers,
    advanced: Callable[[int], None],
) -> list[Results]:
    """Runs the same replicas of every setting, until the productive share reaches the wanted precision, if any."""
    found = [Results(setting) for setting in settings]
    batch = BATCH if precision else replicas
    for begin in range(0, replicas, batch):
        numbers = range(begin, min(begin + batch, replicas))
        tasks = [Task(one.setting, seed, number) for one in found for number in numbers]
        for number, outcome in enumerate(work(tasks)):
            found[number // len(numbers)].outcomes.append(outcome)
            advanced(1)
        if precision and all(one.figure("productive").half_width <= precision for one in found):
            break
    return found
