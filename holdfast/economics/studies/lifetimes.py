"""Lifetimes of a site's own parts, from files, as inputs of a plan."""

from dataclasses import dataclass, replace

from holdfast.economics.costs.lifetimes import Lifetime
from holdfast.economics.planning import cohorts
from holdfast.economics.planning.answer import PlanAnswer
from holdfast.economics.planning.inputs import PlanInputs
from holdfast.economics.studies.calibrate import watched
from holdfast.model.refusal import Refusal


@dataclass(frozen=True, slots=True)
class Cohorts:
    inputs: PlanInputs
    lives: tuple[Lifetime, ...]
    against: tuple[Lifetime, ...]

    def added_to(self, answer: PlanAnswer) -> PlanAnswer:
        return replace(answer, figures=[*answer.figures, *cohorts.figures(self.lives, self.against)])


def read(path: str, against: str | None) -> Cohorts:
    found = watched("--lifetimes", path)
    given = {
        "events": (str(found.events), f"{path}: {found.units:,} units"),
        "gpu-years": (f"{found.unit_years:.10g}", f"{path}: the time they were watched"),
    }
    other = _lives("--against", against) if against is not None else ()
    if against is not None and not found.lifetimes:
        raise Refusal(f"--against: {path} has stays, not lifetimes; expected columns such as device,years,died")
    return Cohorts(PlanInputs(known=given), tuple(Lifetime(*one) for one in found.lifetimes), other)


def _lives(flag: str, path: str) -> tuple[Lifetime, ...]:
    found = watched(flag, path)
    if not found.lifetimes:
        raise Refusal(f"{flag}: {path} has no lifetimes; expected columns such as device,years,died")
    return tuple(Lifetime(*one) for one in found.lifetimes)
