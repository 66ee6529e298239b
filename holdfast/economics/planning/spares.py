"""How many spare nodes to hold."""

from dataclasses import dataclass, field, replace

from holdfast.economics.costs.feasible import BadNumber, NoProgress, positive
from holdfast.economics.costs.spares import Crews, covered, mean_out, spares_for
from holdfast.economics.costs.survival import DAYS_PER_YEAR
from holdfast.economics.planning.answer import Figure, PlanAnswer, sensitivities
from holdfast.economics.planning.chart import ChartLine, PlanChart
from holdfast.economics.planning.formatting import percent, time
from holdfast.economics.planning.inputs import PlanInputs
from holdfast.economics.planning.rate import Rate, rate

MOST_CREWS = 100_000
LEVELS = (0.95, 0.99, 0.999)


@dataclass(frozen=True, slots=True)
class SpareFleet:
    nodes: float
    gpus_per_node: float
    rate: float
    repair: float
    swap: float = field(metadata={"share": True})

    @property
    def failures_per_node_day(self) -> float:
        return self.rate * self.gpus_per_node / DAYS_PER_YEAR

    @property
    def mean_out(self) -> float:
        return mean_out(self.nodes, self.failures_per_node_day, self.repair / 86_400, self.swap)

    def spares(self, confidence: float, crews: int) -> int:
        return Crews(crews, self.mean_out).spares_for(confidence) if crews else spares_for(confidence, self.mean_out)

    def covered(self, spares: int, crews: int) -> float:
        return Crews(crews, self.mean_out).covered(spares) if crews else covered(spares, self.mean_out)


def answer(
    inputs: PlanInputs,
    nodes: str | None,
    gpus_per_node: str | None,
    rate_text: str | None,
    events: str | None,
    gpu_years: str | None,
    repair: str | None,
    swap: str | None,
    crews: str | None,
    confidence: str | None,
) -> PlanAnswer:
    count = inputs.machines("nodes", nodes)
    per_node = inputs.number("gpus-per-node", gpus_per_node, "GPUs per node", "8", "an HGX node")
    chosen = rate(inputs, rate_text, events, gpu_years)
    fleet = SpareFleet(
        count,
        _whole("gpus-per-node", positive("--gpus-per-node", per_node)),
        chosen.per_gpu_year,
        positive("--repair", inputs.duration("repair", repair, "3d", "an assumption; yours decides most")),
        inputs.share("swap", swap, "1", "every failure takes its node out; many only need a reset: measure yours"),
    )
    people = _crews(inputs, crews)
    wanted = inputs.share("confidence", confidence, "0.99", "a node short in 1 % of the time")
    if not 0 < wanted < 1:
        raise BadNumber("--confidence: expected a share above 0 and below 1")
    _refuse_hopeless(fleet)
    needed = fleet.spares(wanted, people)
    return PlanAnswer(
        plan="spares",
        headline=f"{needed} spare nodes cover the outages of {fleet.nodes:g} nodes {percent(wanted)} of the time.",
        figures=[*_figures(fleet, people, wanted, needed), *_uncertainty(fleet, people, wanted, chosen)],
        inputs=inputs.given,
        sensitivities=sensitivities(
            fleet,
            lambda f: float(f.spares(wanted, people)),
            {name: name for name in ("nodes", "rate", "repair", "swap")},
        ),
        sensitivity_of="the number of spares",
        show=lambda value: f"{value:.0f}",
        notes=[f"{chosen.name}: {chosen.caveat}"] if chosen.caveat else [],
        chart=lambda: _chart(fleet, people, needed),
    )


def _refuse_hopeless(fleet: SpareFleet) -> None:
    if fleet.mean_out >= fleet.nodes:
        every, repair = time(86_400 / fleet.failures_per_node_day / fleet.swap), time(fleet.repair)
        raise NoProgress(f"no progress is possible: a node is out every {every} and its repair takes {repair}")


def _figures(fleet: SpareFleet, crews: int, wanted: float, needed: int) -> list[Figure]:
    table = {f"{level:g}": fleet.spares(level, crews) for level in LEVELS}
    often, out = fleet.failures_per_node_day, _out(fleet, crews)
    figures = [
        Figure("spares", needed, f"spares for {percent(wanted)}", f"{needed} ({percent(needed / fleet.nodes)})"),
        Figure("mean_nodes_out", out, "nodes out on average", f"{out:.1f}"),
        Figure("failures_per_node_day", often, "failures per 1,000 node-days", f"{1000 * often:.2f}"),
        Figure("spares_by_confidence", table, "by confidence", ", ".join(f"{k}: {v}" for k, v in table.items())),
    ]
    if crews:
        waits, more = Crews(crews, fleet.mean_out).waits, fleet.spares(wanted, crews + 1)
        figures.append(Figure("repairs_that_wait", waits, "repairs that wait for a crew", percent(waits)))
        figures.append(Figure("spares_with_one_more_crew", more, "spares with one more crew", f"{more}"))
    return figures


def _uncertainty(fleet: SpareFleet, crews: int, wanted: float, chosen: Rate) -> list[Figure]:
    if chosen.posterior is None:
        return []
    span = [_or_none(replace(fleet, rate=end), wanted, crews) for end in chosen.posterior.interval()]
    low, high = ("no number is enough" if end is None else str(end) for end in span)
    return [Figure("spares_95_percent", span, "for the rate's 95 % interval", f"{low} to {high}")]


def _or_none(fleet: SpareFleet, wanted: float, crews: int) -> int | None:
    """The result; None if nodes fail faster than the crews repair them."""
    try:
        return fleet.spares(wanted, crews)
    except NoProgress:
        return None


def _crews(inputs: PlanInputs, text: str | None) -> int:
    """The number of crews; 0: unlimited."""
    if text is None and "crews" not in inputs.known:
        inputs.note("crews", 0, "crews", "as needed", "default: as many as are needed at once")
        return 0
    value = inputs.number("crews", text, "crews", most=MOST_CREWS)
    if value < 1:
        raise BadNumber("--crews: expected 1 or more; leave it out if no repair ever waits for one")
    return int(_whole("crews", value))


def _whole(name: str, value: float) -> float:
    if value != int(value):
        raise BadNumber(f"--{name}: expected a whole number, found {value:g}")
    return value


def _out(fleet: SpareFleet, crews: int) -> float:
    return Crews(crews, fleet.mean_out).mean_out if crews else fleet.mean_out


def _chart(fleet: SpareFleet, crews: int, needed: int) -> PlanChart:
    most = max(10, int(1.4 * needed))
    step = max(1, most // 80)
    points = tuple((float(n), fleet.covered(n, crews)) for n in range(0, most + 1, step))
    line = ChartLine(f"{crews} crews" if crews else "unlimited crews", points)
    return PlanChart(
        "Share of time with enough spares",
        "spare nodes",
        "share",
        (line,),
        False,
        (float(needed), fleet.covered(needed, crews)),
    )
