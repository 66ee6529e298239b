"""`holdfast plan`: what reliability is worth, before the money is spent. Closed forms; each says where it holds."""

import json
from typing import Annotated

import typer

from holdfast.cli.plan import money as plan_money
from holdfast.cli.plan.options import (
    Events,
    FromController,
    Gpus,
    GpuYears,
    PerNode,
    Plot,
    RateName,
    Restart,
    asked_of,
    option,
    tell,
)
from holdfast.cli.shared.options import AsJson, Token, Url
from holdfast.model.refusal import Refusal

app = typer.Typer(no_args_is_help=True)


@app.command()
def risk(
    gpus: Gpus = None,
    days: Annotated[str | None, option("How long the run is.", "DAYS")] = None,
    rate: RateName = None,
    events: Events = None,
    gpu_years: GpuYears = None,
    shape: Annotated[str | None, option("Weibull shape: below 1 for new parts.  [1]", "SHAPE")] = None,
    age_days: Annotated[str | None, option("Age of the parts, for another shape than 1.  [0]", "DAYS")] = None,
    lifetimes: Annotated[str | None, option("Or: how long your parts lived, CSV of device,years,died.", "FILE")] = None,
    against: Annotated[str | None, option("Another such file: does the first fail more often?", "FILE")] = None,
    gpus_per_node: PerNode = None,
    from_controller: FromController = False,
    url: Url = "",
    token: Token = "",
    plot: Plot = "",
    as_json: AsJson = False,
) -> None:
    """How likely a run meets a failure, and how many."""
    from holdfast.economics.planning import risk as plan

    if lifetimes is not None:
        from holdfast.economics.studies import lifetimes as plan_lifetimes

        if from_controller or any(one is not None for one in (rate, events, gpu_years)):
            raise Refusal("--lifetimes says how often parts fail: expected no --rate, --events or --from-controller")
        mine = plan_lifetimes.read(lifetimes, against)
        tell(
            lambda asked: mine.added_to(plan.answer(asked, gpus, days, None, None, None, shape, age_days)),
            as_json,
            plot,
            mine.asked,
        )
        return
    if against is not None:
        raise Refusal("--against: expected --lifetimes with it, the cohort to set beside it")
    tell(
        lambda asked: plan.answer(asked, gpus, days, rate, events, gpu_years, shape, age_days),
        as_json,
        plot,
        asked_of(from_controller, url, token, gpus_per_node),
    )


@app.command()
def checkpoint(
    gpus: Gpus = None,
    rate: RateName = None,
    events: Events = None,
    gpu_years: GpuYears = None,
    write: Annotated[str | None, option("How long a write stops the run.", "TIME")] = None,
    state: Annotated[str | None, option("Or: the size of a checkpoint, with --bandwidth.", "SIZE")] = None,
    bandwidth: Annotated[str | None, option("What storage takes, such as 2TB/s.", "SIZE/s")] = None,
    restart: Restart = None,
    interval: Annotated[str | None, option("Judge this interval beside the best.", "TIME")] = None,
    memory_write: Annotated[str | None, option("A memory tier: how long a write stops the run.", "TIME")] = None,
    memory_restart: Annotated[str | None, option("Restart from memory.  [2m]", "TIME")] = None,
    memory_survives: Annotated[str | None, option("Failures that memory outlives.  [0.95]", "SHARE")] = None,
    target: Annotated[str | None, option("What storage to buy for this share.", "SHARE")] = None,
    copies: Annotated[str | None, option("Nodes that hold each copy in memory: how often all are lost.", "N")] = None,
    rebuild: Annotated[str | None, option("Until a lost copy is made again.  [10m]", "TIME")] = None,
    domain: Annotated[
        list[str] | None,
        option("What takes nodes down together: rack=8@0.2, nodes and failures a year; several times.", "DOMAIN"),
    ] = None,
    apart: Annotated[bool, typer.Option("--apart", help="The copies lie in different domains.")] = False,
    gpus_per_node: PerNode = None,
    from_controller: FromController = False,
    url: Url = "",
    token: Token = "",
    plot: Plot = "",
    as_json: AsJson = False,
) -> None:
    """How often to write checkpoints, and where; what the run then delivers."""
    from holdfast.economics.planning import checkpoint as plan
    from holdfast.economics.planning.copies import CopyTexts
    from holdfast.economics.planning.run import Wanted

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
        copies=CopyTexts(
            copies=copies, rebuild=rebuild, domains=tuple(domain or ()), apart=apart, gpus_per_node=gpus_per_node
        ),
    )
    tell(
        lambda asked: plan.answer(asked, wanted),
        as_json,
        plot,
        asked_of(from_controller, url, token, gpus_per_node, used=copies is not None),
    )


@app.command()
def spares(
    nodes: Annotated[str | None, option("Nodes in use.", "N")] = None,
    gpus_per_node: PerNode = None,
    rate: RateName = None,
    events: Events = None,
    gpu_years: GpuYears = None,
    repair: Annotated[str | None, option("From failure to return.  [3d]", "TIME")] = None,
    swap: Annotated[str | None, option("Failures that keep a node away so long.  [1]", "SHARE")] = None,
    crews: Annotated[str | None, option("Repair crews, each on one node at a time.  [as needed]", "N")] = None,
    confidence: Annotated[str | None, option("Share of time with enough spares.  [0.99]", "SHARE")] = None,
    from_controller: FromController = False,
    url: Url = "",
    token: Token = "",
    plot: Plot = "",
    as_json: AsJson = False,
) -> None:
    """How many spare nodes to hold."""
    from holdfast.economics.planning import spares as plan

    tell(
        lambda asked: plan.answer(
            asked, nodes, gpus_per_node, rate, events, gpu_years, repair, swap, crews, confidence
        ),
        as_json,
        plot,
        asked_of(from_controller, url, token, gpus_per_node, used=True),
    )


@app.command()
def limit(
    rate: RateName = None,
    events: Events = None,
    gpu_years: GpuYears = None,
    state: Annotated[str | None, option("Size of a checkpoint.  [5TB]", "SIZE")] = None,
    state_gpus: Annotated[str | None, option("At how many GPUs it has that size.  [16384]", "N")] = None,
    bandwidth: Annotated[str | None, option("Of storage; with an exponent of one GPU.  [2TB/s]", "SIZE/s")] = None,
    network_exponent: Annotated[
        str | None, option("Bandwidth grows with GPUs to this power: 0 storage, 1/2, 2/3, 1.  [0]", "POWER")
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
    from holdfast.economics.planning import limit as plan

    tell(
        lambda asked: plan.answer(
            asked, rate, events, gpu_years, state, state_gpus, bandwidth, network_exponent, growing, restart
        ),
        as_json,
        plot,
        asked_of(from_controller, url, token, gpus_per_node),
    )


app.command()(plan_money.price)
app.command()(plan_money.cost)


@app.command()
def report(
    file: Annotated[str, typer.Argument(help="A scenario: [cluster], [checkpoint], [spares].", metavar="FILE.toml")],
    out: Annotated[str, typer.Option(help="The page; FILE.html if not said.", metavar="FILE.html")] = "",
    as_json: AsJson = False,
) -> None:
    """One page for a scenario: what it will deliver, what to change first, what that is worth."""
    from holdfast.economics.reports import plan as plan_report

    made, page = plan_report.write(file, out)
    if as_json:
        typer.echo(json.dumps({**made.document(), "page": str(page)}))
    else:
        typer.echo(f"{made.headline}\n{page} written")
