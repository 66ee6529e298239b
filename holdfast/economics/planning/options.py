"""Every plan and its options, declared once; the API's routes and `holdfast plan` are made from it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.economics.planning import checkpoint, cost, limit, price, risk, spares
from holdfast.economics.planning.answer import PlanAnswer
from holdfast.economics.planning.copies import CopyTexts
from holdfast.economics.planning.inputs import PlanInputs
from holdfast.economics.planning.run import RunQuestion

Given = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PlanOption:
    name: str
    """As the API spells it; the command line has dashes."""
    help: str
    value: str = ""
    """What help calls the value; '' for a flag."""
    several: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    name: str
    summary: str
    options: tuple[PlanOption, ...]
    answer: Callable[[PlanInputs, Given], PlanAnswer]
    uses_history: bool = False
    """The rate may come from the fleet's own history."""


GPUS = PlanOption("gpus", "GPUs of the job.", "N")
PER_NODE = PlanOption("gpus_per_node", "GPUs in a node.  [default: 8]", "N")
RESTART = PlanOption("restart", "From failure to running again.  [default: 10m]", "TIME")
RATE_ALONE = PlanOption(
    "rate",
    "Failures per GPU-year: llama3, rsc1, rsc2, databricks, epoch, a count such as 0.2/y, or the chance"
    " to fail within a year such as 1% or 0.01.",
    "RATE",
)
RATE = (
    RATE_ALONE,
    PlanOption("events", "Instead of a rate: failures you saw.", "N"),
    PlanOption("gpu_years", "GPU-years in which you saw them.", "YEARS"),
)


def _risk(inputs: PlanInputs, given: Given) -> PlanAnswer:
    return risk.answer(inputs, *(given[one.name] for one in RISK.options))


def _checkpoint(inputs: PlanInputs, given: Given) -> PlanAnswer:
    copies = CopyTexts(
        copies=given["copies"],
        rebuild=given["rebuild"],
        domains=tuple(given["domain"] or ()),
        apart=given["apart"],
        gpus_per_node=given["gpus_per_node"],
    )
    apart = ("copies", "rebuild", "domain", "apart", "gpus_per_node")
    texts = {one.name: given[one.name] for one in CHECKPOINT.options if one.name not in apart}
    return checkpoint.answer(inputs, RunQuestion(**texts, copies=copies))


def _spares(inputs: PlanInputs, given: Given) -> PlanAnswer:
    return spares.answer(inputs, *(given[one.name] for one in SPARES.options))


def _limit(inputs: PlanInputs, given: Given) -> PlanAnswer:
    return limit.answer(inputs, *(given[one.name] for one in LIMIT.options))


def _price(inputs: PlanInputs, given: Given) -> PlanAnswer:
    stages = {name: given[name] for name in ("identify", "interval", "start", "repair", "failover", "blast")}
    offers = given["offer"] or []
    return price.answer(
        inputs, offers, given["gpus"], given["days"], given["rate"], stages, given["sla"], given["down"]
    )


def _cost(inputs: PlanInputs, given: Given) -> PlanAnswer:
    return cost.answer(inputs, cost.CostQuestion(**given))


RISK = Plan(
    name="risk",
    summary="How likely a run meets a failure, and how many.",
    options=(
        GPUS,
        PlanOption("days", "How long the run is.", "DAYS"),
        *RATE,
        PlanOption("shape", "Weibull shape: below 1 for new parts.  [default: 1]", "SHAPE"),
        PlanOption("age_days", "Age of the parts, if the shape is not 1.  [default: 0]", "DAYS"),
    ),
    answer=_risk,
    uses_history=True,
)
CHECKPOINT = Plan(
    name="checkpoint",
    summary="How often and where to write checkpoints, and the resulting productive share.",
    options=(
        GPUS,
        *RATE,
        PlanOption("write", "How long a write stops the run.", "TIME"),
        PlanOption("state", "Or: the size of a checkpoint, with --bandwidth.", "SIZE"),
        PlanOption("bandwidth", "Write bandwidth of storage, such as 2TB/s.", "SIZE/s"),
        RESTART,
        PlanOption("interval", "Compare this interval with the best.", "TIME"),
        PlanOption("memory_write", "A memory tier: how long a write stops the run.", "TIME"),
        PlanOption("memory_restart", "Restart from memory.  [default: 2m]", "TIME"),
        PlanOption("memory_survives", "Failures that memory survives.  [default: 0.95]", "SHARE"),
        PlanOption("target", "Productive share to reach: how fast storage must be.", "SHARE"),
        PlanOption("copies", "Nodes that hold each copy in memory; shows how often all copies are lost.", "N"),
        PlanOption("rebuild", "Time until a lost copy is replaced.  [default: 10m]", "TIME"),
        PlanOption(
            "domain",
            "Nodes that fail together: rack=8@0.2 is 8 nodes, 0.2 failures a year; repeatable.",
            "DOMAIN",
            several=True,
        ),
        PlanOption("apart", "The copies are in different domains."),
        PER_NODE,
    ),
    answer=_checkpoint,
    uses_history=True,
)
SPARES = Plan(
    name="spares",
    summary="How many spare nodes to hold.",
    options=(
        PlanOption("nodes", "Nodes in use.", "N"),
        PER_NODE,
        *RATE,
        PlanOption("repair", "From failure to return.  [default: 3d]", "TIME"),
        PlanOption("swap", "Share of failures that need this repair.  [default: 1]", "SHARE"),
        PlanOption("crews", "Repair crews, each on one node at a time.  [default: as needed]", "N"),
        PlanOption("confidence", "Share of time with enough spares.  [default: 0.99]", "SHARE"),
    ),
    answer=_spares,
    uses_history=True,
)
LIMIT = Plan(
    name="limit",
    summary="How far a run can scale before failures stop it.",
    options=(
        *RATE,
        PlanOption("state", "Size of a checkpoint.  [default: 5TB]", "SIZE"),
        PlanOption("state_gpus", "Number of GPUs for which it has that size.  [default: 16384]", "N"),
        PlanOption("bandwidth", "Of storage; with --network-exponent, of one GPU.  [default: 2TB/s]", "SIZE/s"),
        PlanOption(
            "network_exponent",
            "Bandwidth grows with GPUs to this power: 0 storage, 1/2, 2/3, 1.  [default: 0]",
            "POWER",
        ),
        PlanOption("growing", "The model grows with the cluster, as its square root."),
        RESTART,
    ),
    answer=_limit,
    uses_history=True,
)
PRICE = Plan(
    name="price",
    summary="The price of a productive GPU-hour at each supplier; with gpus and rate, the cost of failures.",
    options=(
        PlanOption(
            "offer",
            "A supplier: NAME=PRICE@GOODPUT, or NAME=PRICE+EXTRAS-CREDITS@GOODPUT; several times.",
            "OFFER",
            several=True,
        ),
        GPUS,
        PlanOption("days", "Number of days.  [default: 30]", "DAYS"),
        RATE_ALONE,
        PlanOption("identify", "From the failure until the node is known.  [default: 15m]", "TIME"),
        PlanOption("interval", "Time between checkpoints.  [default: 1h]", "TIME"),
        PlanOption("start", "Time to start the job again.  [default: 10m]", "TIME"),
        PlanOption("repair", "Time to repair or replace the node.  [default: 1h]", "TIME"),
        PlanOption("failover", "Failover time of a job that tolerates failures.  [default: 1m]", "TIME"),
        PlanOption("blast", "GPUs that wait for the repair.  [default: 8]", "N"),
        PlanOption("sla", "Service level agreement: 99.9%:10%,99%:25%.", "UPTIME:CREDIT,..."),
        PlanOption("down", "How long one node was down.  [default: 2h]", "TIME"),
    ),
    answer=_price,
)
COST = Plan(
    name="cost",
    summary="The cost of one incident in five layers.",
    options=(
        GPUS,
        PlanOption("price", "Price of a GPU-hour: dollars, or h100, b200, gb300.", "PRICE"),
        PlanOption("detect", "Time until the failure was noticed.  [default: 10m]", "TIME"),
        PlanOption("diagnose", "Time until the cause was known.  [default: 0s]", "TIME"),
        PlanOption("restore", "Time until the job ran again.  [default: 0s]", "TIME"),
        PlanOption("rework", "Work done twice.  [default: 30m]", "TIME"),
        PlanOption("slow", "Slowdown of the job, such as 0.2.  [default: 0]", "SHARE"),
        PlanOption("slow_for", "Duration of the slowdown.  [default: 0s]", "TIME"),
        PlanOption("blast", "GPUs that waited for the repair afterwards.  [default: 0]", "N"),
        PlanOption("repair", "Duration of this repair.  [default: 0s]", "TIME"),
        PlanOption("alternative", "Price of another use.  [default: 0]", "PRICE"),
        PlanOption("queued", "Probability that another job waited.  [default: 0]", "SHARE"),
        PlanOption("people", "People who worked on it.  [default: 0]", "N"),
        PlanOption("hours", "Hours that each of them worked.  [default: 0s]", "TIME"),
        PlanOption("wage", "Dollars per hour of work.  [default: 140]", "DOLLARS"),
        PlanOption("day_value", "Value of a day of the schedule.", "DOLLARS"),
        PlanOption("float_days", "Days of slack in the schedule.  [default: 0]", "DAYS"),
        PlanOption("critical", "Probability that the job is on the critical path.  [default: 1]", "SHARE"),
    ),
    answer=_cost,
)
PLANS = (RISK, CHECKPOINT, SPARES, LIMIT, PRICE, COST)
