"""`holdfast plan`: what reliability is worth, before the money is spent. Closed forms; each says where it holds."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.client import AsJson, Token, Url

if TYPE_CHECKING:
    from holdfast.costs.plans.answer import Answer
    from holdfast.costs.plans.inputs import Asked

app = typer.Typer(help="What failures cost and what helps, before the money is spent.", no_args_is_help=True)

Gpus = Annotated[str | None, typer.Option("--gpus", help="GPUs of the job.", metavar="N")]
RateName = Annotated[
    str | None,
    typer.Option(
        "--rate",
        help="Failures per GPU-year: llama3, rsc1, rsc2, databricks, epoch, or a number"
        " (below 1 it is the chance that a GPU fails within a year).",
        metavar="RATE",
    ),
]
Events = Annotated[str | None, typer.Option("--events", help="Instead of a rate: failures you saw.", metavar="N")]
GpuYears = Annotated[str | None, typer.Option("--gpu-years", help="GPU-years in which you saw them.", metavar="YEARS")]
PerNode = Annotated[str | None, typer.Option("--gpus-per-node", help="GPUs in a node.  [8]", metavar="N")]
Restart = Annotated[str | None, typer.Option("--restart", help="From failure to running again.  [10m]", metavar="TIME")]
Plot = Annotated[
    str, typer.Option("--plot", help="Draw the curve: FILE.svg, FILE.png with matplotlib, - for here.", metavar="FILE")
]


FromController = Annotated[
    bool,
    typer.Option("--from-controller", help="Take failures, service and repair times from the fleet's own history."),
]


def _asked(from_controller: bool, url: str, token: str, gpus_per_node: str | None) -> "Asked":
    if from_controller:
        from holdfast.cli import plan_history

        return plan_history.asked(url, token, gpus_per_node)
    from holdfast.costs.plans.inputs import Asked

    return Asked()


def _tell(make: "Callable[[Asked], Answer]", as_json: bool, plot: str, asked: "Asked | None" = None) -> None:
    from holdfast.cli import plan_answer
    from holdfast.costs.plans.inputs import Asked

    plan_answer.tell(lambda: make(asked or Asked()), as_json, plot)


def _option(words: str, metavar: str) -> Any:
    return typer.Option(help=words, metavar=metavar)


@app.command()
def risk(
    gpus: Gpus = None,
    days: Annotated[str | None, _option("How long the run is.", "DAYS")] = None,
    rate: RateName = None,
    events: Events = None,
    gpu_years: GpuYears = None,
    shape: Annotated[str | None, _option("Weibull shape: below 1 for new parts.  [1]", "SHAPE")] = None,
    age_days: Annotated[str | None, _option("Age of the parts, for another shape than 1.  [0]", "DAYS")] = None,
    gpus_per_node: PerNode = None,
    from_controller: FromController = False,
    url: Url = "",
    token: Token = "",
    plot: Plot = "",
    as_json: AsJson = False,
) -> None:
    """How likely a run meets a failure, and how many."""
    from holdfast.costs.plans import risk as plan

    _tell(
        lambda asked: plan.answer(asked, gpus, days, rate, events, gpu_years, shape, age_days),
        as_json,
        plot,
        _asked(from_controller, url, token, gpus_per_node),
    )


@app.command()
def checkpoint(
    gpus: Gpus = None,
    rate: RateName = None,
    events: Events = None,
    gpu_years: GpuYears = None,
    write: Annotated[str | None, _option("How long a write stops the run.", "TIME")] = None,
    state: Annotated[str | None, _option("Or: the size of a checkpoint, with --bandwidth.", "SIZE")] = None,
    bandwidth: Annotated[str | None, _option("What storage takes, such as 2TB/s.", "SIZE/s")] = None,
    restart: Restart = None,
    interval: Annotated[str | None, _option("Judge this interval beside the best.", "TIME")] = None,
    memory_write: Annotated[str | None, _option("A memory tier: how long a write stops the run.", "TIME")] = None,
    memory_restart: Annotated[str | None, _option("Restart from memory.  [2m]", "TIME")] = None,
    memory_survives: Annotated[str | None, _option("Failures that memory outlives.  [0.95]", "SHARE")] = None,
    target: Annotated[str | None, _option("What storage to buy for this share.", "SHARE")] = None,
    gpus_per_node: PerNode = None,
    from_controller: FromController = False,
    url: Url = "",
    token: Token = "",
    plot: Plot = "",
    as_json: AsJson = False,
) -> None:
    """How often to write checkpoints, where, and what the run then delivers."""
    from holdfast.costs.plans import checkpoint as plan
    from holdfast.costs.plans.run import Wanted

    wanted = Wanted(
        gpus=gpus,
        rate=rate,
        events=events,
        gpu_years=gpu_years,
        write=write,
        state=state,
        bandwidth=bandwidth,
        restart=restart,
        interval=interval,
        memory_write=memory_write,
        memory_restart=memory_restart,
        memory_survives=memory_survives,
        target=target,
    )
    _tell(
        lambda asked: plan.answer(asked, wanted),
        as_json,
        plot,
        _asked(from_controller, url, token, gpus_per_node),
    )


@app.command()
def spares(
    nodes: Annotated[str | None, _option("Nodes in use.", "N")] = None,
    gpus_per_node: PerNode = None,
    rate: RateName = None,
    events: Events = None,
    gpu_years: GpuYears = None,
    repair: Annotated[str | None, _option("From failure to return.  [3d]", "TIME")] = None,
    swap: Annotated[str | None, _option("Failures that keep a node away so long.  [1]", "SHARE")] = None,
    crews: Annotated[str | None, _option("Repair crews, each on one node at a time.  [as needed]", "N")] = None,
    confidence: Annotated[str | None, _option("Share of time with enough spares.  [0.99]", "SHARE")] = None,
    from_controller: FromController = False,
    url: Url = "",
    token: Token = "",
    plot: Plot = "",
    as_json: AsJson = False,
) -> None:
    """How many spare nodes to hold."""
    from holdfast.costs.plans import spares as plan

    _tell(
        lambda asked: plan.answer(
            asked, nodes, gpus_per_node, rate, events, gpu_years, repair, swap, crews, confidence
        ),
        as_json,
        plot,
        _asked(from_controller, url, token, gpus_per_node),
    )


@app.command()
def limit(
    rate: RateName = None,
    events: Events = None,
    gpu_years: GpuYears = None,
    state: Annotated[str | None, _option("Size of a checkpoint.  [5TB]", "SIZE")] = None,
    state_gpus: Annotated[str | None, _option("At how many GPUs it has that size.  [16384]", "N")] = None,
    bandwidth: Annotated[str | None, _option("Of storage; with an exponent of one GPU.  [2TB/s]", "SIZE/s")] = None,
    network_exponent: Annotated[
        str | None, _option("Bandwidth grows with GPUs to this power: 0 storage, 1/2, 2/3, 1.  [0]", "POWER")
    ] = None,
    growing: Annotated[bool, typer.Option(help="The model grows with the cluster, as its square root.")] = False,
    restart: Restart = None,
    gpus_per_node: PerNode = None,
    from_controller: FromController = False,
    url: Url = "",
    token: Token = "",
    plot: Plot = "",
    as_json: AsJson = False,
) -> None:
    """How far a run can scale before failures stop it."""
    from holdfast.costs.plans import limit as plan

    _tell(
        lambda asked: plan.answer(
            asked, rate, events, gpu_years, state, state_gpus, bandwidth, network_exponent, growing, restart
        ),
        as_json,
        plot,
        _asked(from_controller, url, token, gpus_per_node),
    )


@app.command()
def price(
    offer: Annotated[list[str] | None, _option("A supplier: NAME=PRICE@GOODPUT; several times.", "OFFER")] = None,
    gpus: Gpus = None,
    days: Annotated[str | None, _option("Over how many days failures are counted.  [30]", "DAYS")] = None,
    rate: RateName = None,
    identify: Annotated[str | None, _option("From failure to knowing the node.  [15m]", "TIME")] = None,
    interval: Annotated[str | None, _option("Between checkpoints.  [1h]", "TIME")] = None,
    start: Annotated[str | None, _option("To start the job again.  [10m]", "TIME")] = None,
    repair: Annotated[str | None, _option("To repair or replace the node.  [1h]", "TIME")] = None,
    failover: Annotated[str | None, _option("Of a job that tolerates failures.  [1m]", "TIME")] = None,
    blast: Annotated[str | None, _option("GPUs that wait for the repair.  [8]", "N")] = None,
    sla: Annotated[str | None, _option("The agreement: 99.9%:10%,99%:25%.", "UPTIME:CREDIT,...")] = None,
    down: Annotated[str | None, _option("How long one node was down.  [2h]", "TIME")] = None,
    plot: Plot = "",
    as_json: AsJson = False,
) -> None:
    """What a productive GPU-hour costs at each supplier; with --gpus and --rate also what failures cost."""
    from holdfast.costs.plans import price as plan

    stages = {
        "identify": identify,
        "interval": interval,
        "start": start,
        "repair": repair,
        "failover": failover,
        "blast": blast,
    }
    _tell(lambda asked: plan.answer(asked, offer or [], gpus, days, rate, stages, sla, down), as_json, plot)


@app.command()
def cost(
    gpus: Gpus = None,
    price: Annotated[str | None, _option("Per GPU-hour: dollars, or h100, b200, gb300.", "PRICE")] = None,
    detect: Annotated[str | None, _option("Until somebody or something noticed.  [10m]", "TIME")] = None,
    diagnose: Annotated[str | None, _option("Until the cause was known.  [0s]", "TIME")] = None,
    restore: Annotated[str | None, _option("Until the job ran again.  [0s]", "TIME")] = None,
    rework: Annotated[str | None, _option("Work done twice.  [30m]", "TIME")] = None,
    slow: Annotated[str | None, _option("How much slower it ran, if it did.  [0]", "SHARE")] = None,
    slow_for: Annotated[str | None, _option("For how long.  [0s]", "TIME")] = None,
    blast: Annotated[str | None, _option("GPUs that waited for the repair afterwards.  [0]", "N")] = None,
    repair: Annotated[str | None, _option("For how long.  [0s]", "TIME")] = None,
    alternative: Annotated[str | None, _option("What another use would have paid.  [0]", "PRICE")] = None,
    queued: Annotated[str | None, _option("Chance that another job waited.  [0]", "SHARE")] = None,
    people: Annotated[str | None, _option("People who worked on it.  [0]", "N")] = None,
    hours: Annotated[str | None, _option("How long each did.  [0s]", "TIME")] = None,
    wage: Annotated[str | None, _option("Dollars per hour of work.  [140]", "DOLLARS")] = None,
    day_value: Annotated[
        str | None, _option("What a day of the schedule is worth; nobody else knows.", "DOLLARS")
    ] = None,
    float_days: Annotated[str | None, _option("Days of slack in the schedule.  [0]", "DAYS")] = None,
    critical: Annotated[str | None, _option("Chance that it is on the critical path.  [1]", "SHARE")] = None,
    plot: Plot = "",
    as_json: AsJson = False,
) -> None:
    """What one incident cost, in five layers."""
    from holdfast.costs.plans import cost as plan

    wanted = plan.Wanted(
        gpus=gpus,
        price=price,
        detect=detect,
        diagnose=diagnose,
        restore=restore,
        rework=rework,
        slow=slow,
        slow_for=slow_for,
        blast=blast,
        repair=repair,
        alternative=alternative,
        queued=queued,
        people=people,
        hours=hours,
        wage=wage,
        day_value=day_value,
        float_days=float_days,
        critical=critical,
    )
    _tell(lambda asked: plan.answer(asked, wanted), as_json, plot)


@app.command()
def report(
    file: Annotated[str, typer.Argument(help="A scenario: [cluster], [checkpoint], [spares].", metavar="FILE.toml")],
    out: Annotated[str, typer.Option(help="The page; FILE.html if not said.", metavar="FILE.html")] = "",
    as_json: AsJson = False,
) -> None:
    """One page for a scenario: what it will deliver, what to change first, what that is worth."""
    from holdfast.cli import plan_report

    plan_report.write(file, out, as_json)
