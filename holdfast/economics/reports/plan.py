"""One page for a whole scenario: expected goodput, the best improvements, and their value."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any

from holdfast.economics.costs import checkpointing as c
from holdfast.economics.costs.feasible import BadNumber, NoProgress, positive
from holdfast.economics.costs.levels import memory_or_storage
from holdfast.economics.planning import checkpoint, cost, risk, spares
from holdfast.economics.planning.answer import PlanAnswer
from holdfast.economics.planning.formatting import money, percent, time
from holdfast.economics.planning.inputs import PlanInput, PlanInputs
from holdfast.economics.planning.rate import rate
from holdfast.economics.planning.run import (
    MemoryTier,
    PlannedRun,
    RunQuestion,
    levels,
    memory_of,
    refuse_standstill,
    run_of,
)
from holdfast.economics.reports import plan_page
from holdfast.economics.studies import plan_file as plan_scenario
from holdfast.model.ledger import Ledger
from holdfast.model.refusal import Refusal

SILENT = RunQuestion(
    gpus=None, rate=None, events=None, gpu_years=None, write=None, state=None, bandwidth=None, restart=None,
    interval=None, memory_write=None, memory_restart=None, memory_survives=None, target=None,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Improvement:
    """One improvement, and the productive share with it."""

    what: str
    share: float
    note: str = ""
    saved_gpu_hours: float = 0.0  # paid time that is no longer needed


@dataclass(frozen=True, slots=True)
class PlanReport:
    title: str
    paid_gpu_hours: float
    price: float
    ledger: Ledger  # shares of the wall clock
    changes: tuple[Improvement, ...]
    answers: tuple[PlanAnswer, ...]
    inputs: tuple[PlanInput, ...]

    @property
    def productive(self) -> float:
        return self.ledger.share("productive")

    def worth(self, change: Improvement) -> float:
        """The value in dollars: paid hours that become productive, and hours that are no longer paid."""
        return self.gpu_hours(change) * self.price

    def gpu_hours(self, change: Improvement) -> float:
        return (change.share - self.productive) * self.paid_gpu_hours + change.saved_gpu_hours

    @property
    def headline(self) -> str:
        paid = self.paid_gpu_hours * self.price
        return (
            f"{money(paid)} buy {self.paid_gpu_hours:,.0f} GPU-hours; {percent(self.productive)} of them are"
            f" productive, {money(self.price / self.productive)} each."
        )

    def document(self) -> dict[str, object]:
        return {
            "report": self.title,
            "headline": self.headline,
            "paid_gpu_hours": self.paid_gpu_hours,
            "price": self.price,
            "productive": self.productive,
            "ledger": self.ledger.shares(),
            "changes": [
                {"what": one.what, "productive": one.share, "worth": self.worth(one), "note": one.note}
                for one in self.changes
            ],
            "plans": [answer.document() for answer in self.answers],
        }


def write(file: str, out: str) -> tuple[PlanReport, Path]:
    """The report of a scenario file, and the page that was written."""
    scenario = plan_scenario.load(file)
    try:
        report = make(scenario)
    except (NoProgress, BadNumber) as error:
        raise Refusal(scenario.as_keys(str(error))) from None
    except ArithmeticError:
        raise Refusal(f"{file}: its numbers are too large or too small together to compute anything") from None
    target = Path(out) if out else Path(file).with_suffix(".html")
    try:
        target.write_text(plan_page.written(report), encoding="utf-8")
    except OSError as error:
        raise Refusal(f"cannot write {target}: {error.strerror}") from None
    return report, target


def make(scenario: plan_scenario.PlanFile) -> PlanReport:
    inputs = scenario.inputs()
    gpus = inputs.machines("gpus", None)
    days = inputs.number("days", None, "days")
    price = cost.price(inputs, scenario.text("price"))
    chosen = rate(inputs, None)
    wanted = replace(SILENT, **_texts(scenario))
    run = run_of(inputs, wanted, gpus, chosen)
    interval = inputs.duration("interval", None) if "interval" in scenario.given else run.best_interval
    memory = memory_of(inputs, wanted, run, None)
    ledger = c.expected_ledger(interval, run.write, run.between, run.restart)
    refuse_standstill(ledger.share("productive"), run, f" every {time(interval)}")
    per_node = positive("--gpus-per-node", inputs.number("gpus-per-node", None, "GPUs per node", "8", "an HGX node"))
    nodes = str(ceil(gpus / per_node))
    answers = (
        risk.answer(scenario.inputs(), None, None, None, None, None, None, None),
        checkpoint.answer(scenario.inputs(), wanted),
        spares.answer(scenario.inputs(), nodes, None, None, None, None, None, None, None, None),
    )
    return PlanReport(
        scenario.title,
        gpus * days * 24,
        price,
        ledger,
        _changes(run, memory, ledger.share("productive"), _quicker_repair(answers[-1], per_node * days * 24), days),
        answers,
        _together(inputs, answers),
    )


def _texts(scenario: plan_scenario.PlanFile) -> dict[str, Any]:
    """Options that select the computed figures, as texts of the command line."""
    names = ("write", "state", "bandwidth", "interval", "memory-write", "memory-restart", "memory-survives")
    return {name.replace("-", "_"): text for name in names if (text := scenario.text(name)) is not None}


def _quicker_repair(spares: PlanAnswer, hours_of_a_node: float) -> float:
    """GPU-hours of the spares that are not needed if repairs take half as long."""
    needed = next(figure.value for figure in spares.figures if figure.key == "spares")
    halved = next((sensitivity.halved for sensitivity in spares.sensitivities if sensitivity.name == "repair"), None)
    return 0.0 if halved is None else max(0.0, needed - halved) * hours_of_a_node


def _changes(
    run: PlannedRun, memory: MemoryTier | None, now: float, fewer_spares: float, days: float
) -> tuple[Improvement, ...]:
    """The improvements, each with its own best interval, the best first."""
    asks: list[tuple[str, Callable[[], float], str]] = [
        ("the best checkpoint interval", lambda: run.ettr, "costs nothing"),
        ("half the restart time", lambda: replace(run, restart=run.restart / 2).ettr, ""),
        ("half the time of a write", lambda: replace(run, write=run.write / 2).ettr, ""),
        ("half the failures", lambda: replace(run, rate=run.rate / 2).ettr, ""),
    ]
    if memory is not None:
        tiers = levels(run, memory)
        asks.append(("a memory tier", lambda: 1 - memory_or_storage(*tiers).with_memory, "to first order"))
    found = []
    for what, share, note in asks:
        try:
            found.append(Improvement(what, share(), note))
        except NoProgress:
            continue
    better = [one for one in found if one.share > now + 1e-6]
    if fewer_spares:
        better.append(Improvement("half the repair time", now, "fewer spares to hold", fewer_spares))
    paid = run.gpus * days * 24
    return tuple(sorted(better, key=lambda one: -((one.share - now) * paid + one.saved_gpu_hours)))


def _together(inputs: PlanInputs, answers: tuple[PlanAnswer, ...]) -> tuple[PlanInput, ...]:
    """All inputs, each once."""
    every = {given.name: given for given in (*inputs.given, *(g for answer in answers for g in answer.inputs))}
    return tuple(every.values())
