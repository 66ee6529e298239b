"""The options that several plans share, and how their answers are told."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.model.refusal import Refusal

if TYPE_CHECKING:
    from holdfast.economics.planning.answer import Answer
    from holdfast.economics.planning.inputs import Asked

Gpus = Annotated[str | None, typer.Option("--gpus", help="GPUs of the job.", metavar="N")]
RateName = Annotated[
    str | None,
    typer.Option(
        "--rate",
        help="Failures per GPU-year: llama3, rsc1, rsc2, databricks, epoch, a count such as 0.2/y, or the chance"
        " to fail within a year such as 1% or 0.01.",
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


def asked_of(from_controller: bool, url: str, token: str, gpus_per_node: str | None, used: bool = False) -> "Asked":
    """`used` says that the plan asks for the GPUs of a node itself."""
    if gpus_per_node is not None and not from_controller and not used:
        raise Refusal("--gpus-per-node: expected --from-controller with it, whose nodes it turns into GPUs")
    if from_controller:
        from holdfast.economics.studies import history as plan_history

        return plan_history.asked(url, token, gpus_per_node)
    from holdfast.economics.planning.inputs import Asked

    return Asked()


def tell(make: "Callable[[Asked], Answer]", as_json: bool, plot: str, asked: "Asked | None" = None) -> None:
    from holdfast.cli.plan import answer as plan_answer
    from holdfast.economics.planning.inputs import Asked

    plan_answer.tell(lambda: make(asked or Asked()), as_json, plot)


def option(words: str, metavar: str) -> Any:
    return typer.Option(help=words, metavar=metavar)
