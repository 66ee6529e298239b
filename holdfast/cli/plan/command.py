"""`holdfast plan`: what reliability is worth, before you spend money. Closed forms with their validity ranges."""

import inspect
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.shared.options import AsJson, Token, Url
from holdfast.economics.planning.inputs import PlanInputs
from holdfast.economics.planning.options import PER_NODE, PLANS, Plan, PlanOption
from holdfast.model.refusal import Refusal

if TYPE_CHECKING:
    from holdfast.economics.planning.answer import PlanAnswer

Plot = Annotated[
    str, typer.Option("--plot", help="Draw the curve: FILE.svg, FILE.png with matplotlib, - for here.", metavar="FILE")
]
FromController = Annotated[
    bool,
    typer.Option("--from-controller", help="Take failures, service and repair times from the fleet's own history."),
]
LIFETIMES = PlanOption("lifetimes", "Lifetimes of your own parts: a CSV of device,years,died.", "FILE")
AGAINST = PlanOption("against", "A second such file: do the parts of the first fail more often?", "FILE")

app = typer.Typer(no_args_is_help=True)


def _command(plan: Plan) -> Callable[..., None]:
    """A command whose options are those of the plan."""
    own = [*plan.options, *((LIFETIMES, AGAINST) if plan.name == "risk" else ())]
    if plan.uses_history and PER_NODE not in own:
        own.append(PER_NODE)

    def command(plot: str, as_json: bool, **given: Any) -> None:
        from holdfast.cli.plan.show import show

        if given.get("lifetimes") is not None or given.get("against") is not None:
            show(lambda: _of_lifetimes(plan, given), as_json, plot)
            return
        inputs = _inputs(plan, given) if plan.uses_history else PlanInputs()
        show(lambda: plan.answer(inputs, {one.name: given[one.name] for one in plan.options}), as_json, plot)

    more: dict[str, Any] = {"from_controller": FromController, "url": Url, "token": Token} if plan.uses_history else {}
    types = {one.name: _type(one) for one in own} | more | {"plot": Plot, "as_json": AsJson}
    defaults: dict[str, Any] = {one.name: None if one.value else False for one in own}
    defaults |= {"from_controller": False, "url": "", "token": "", "plot": "", "as_json": False}
    command.__name__, command.__doc__ = plan.name, plan.summary
    command.__annotations__ = {**types, "return": None}
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=defaults[name], annotation=kind)
            for name, kind in types.items()
        ]
    )
    return command


def _type(option: PlanOption) -> Any:
    flag = "--" + option.name.replace("_", "-")
    if not option.value:
        return Annotated[bool, typer.Option(flag, help=option.help)]
    kind: Any = list[str] if option.several else str
    return Annotated[kind | None, typer.Option(flag, help=option.help, metavar=option.value)]


def _inputs(plan: Plan, given: dict[str, Any]) -> PlanInputs:
    per_node = given["gpus_per_node"]
    if given["from_controller"]:
        from holdfast.economics.studies import history

        return history.inputs(given["url"], given["token"], per_node)
    used = plan.name == "spares" or given.get("copies") is not None
    if per_node is not None and not used:
        raise Refusal("--gpus-per-node: expected --from-controller too; this converts its nodes to GPUs")
    return PlanInputs()


def _of_lifetimes(plan: Plan, given: dict[str, Any]) -> "PlanAnswer":
    from holdfast.economics.studies import lifetimes

    if given["lifetimes"] is None:
        raise Refusal("--against: expected --lifetimes too, the parts to compare")
    if given["from_controller"] or any(given[name] is not None for name in ("rate", "events", "gpu_years")):
        raise Refusal("--lifetimes says how often parts fail: expected no --rate, --events or --from-controller")
    mine = lifetimes.read(given["lifetimes"], given["against"])
    return mine.added_to(plan.answer(mine.inputs, {one.name: given[one.name] for one in plan.options}))


for _plan in PLANS:
    app.command(_plan.name)(_command(_plan))


@app.command()
def report(
    file: Annotated[str, typer.Argument(help="A scenario: [cluster], [checkpoint], [spares].", metavar="FILE.toml")],
    out: Annotated[str, typer.Option(help="The page; default: FILE.html.", metavar="FILE.html")] = "",
    as_json: AsJson = False,
) -> None:
    """Write one page for a scenario: what it will deliver, what to change first, what that is worth."""
    from holdfast.economics.reports import plan as plan_report

    made, page = plan_report.write(file, out)
    if as_json:
        typer.echo(json.dumps({**made.document(), "page": str(page)}))
    else:
        typer.echo(f"{made.headline}\n{page} written")
