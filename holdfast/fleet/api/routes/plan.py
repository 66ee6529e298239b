"""Routes of the calculators: same options and answers as `holdfast plan`."""

import inspect
import re
from functools import partial
from typing import Annotated, Any

from litestar import Request, get
from litestar.handlers import HTTPRouteHandler
from litestar.params import QueryParameter

from holdfast.economics.costs.feasible import BadNumber, NoProgress
from holdfast.economics.planning.inputs import PlanInputs
from holdfast.economics.planning.options import PLANS, Plan, PlanOption
from holdfast.fleet.api.problem import Problem, busy
from holdfast.fleet.api.slow_calls import SlowCalls, TooManyCalls
from holdfast.fleet.api.views.plan import PlanView, plan_view

LONGEST_TEXT = 200
MOST_VALUES = 20  # values of an option that may be repeated
PLANNING = SlowCalls("plan", threads=2, most=64)
_FLAG = re.compile(r"--([a-z]+(?:-[a-z]+)*)")

PlanRequest = Request[Any, Any, Any]


def _route(plan: Plan) -> HTTPRouteHandler:
    """A handler with the plan's options as its signature, so that the schema lists them."""

    async def handler(request: PlanRequest, **given: Any) -> PlanView:
        known = {one.name for one in plan.options}
        for name in request.query_params:
            if name not in known:
                names = ", ".join(sorted(known))
                raise Problem(400, f"{name[:80]!r} is not an option of this plan: expected some of {names}")
        known_options = {name.removesuffix("_option"): one for name, one in given.items()}
        try:
            return await PLANNING.run(partial(_answer, plan, known_options))
        except TooManyCalls as error:
            raise busy(str(error), 5) from None

    types: dict[str, Any] = {f"{one.name}_option": _type(one) for one in plan.options}
    defaults: dict[str, Any] = {f"{one.name}_option": None if one.value else False for one in plan.options}
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=PlanRequest)]
    parameters += [
        inspect.Parameter(name, keyword, default=defaults[name], annotation=kind) for name, kind in types.items()
    ]
    handler.__name__ = f"plan_{plan.name}"
    handler.__doc__ = plan.summary
    handler.__annotations__ = {"request": PlanRequest, **types, "return": PlanView}
    handler.__signature__ = inspect.Signature(parameters, return_annotation=PlanView)  # type: ignore[attr-defined]
    return get(f"/v1/plan/{plan.name}", opt={"right": "read"}, tags=["plan"])(handler)


def _type(option: PlanOption) -> Any:
    """The type of a parameter. `query` gives its name, because the framework reserves some names, such as state."""
    if not option.value:
        return Annotated[bool, QueryParameter(name=option.name)]
    if option.several:
        text = Annotated[str, QueryParameter(max_length=LONGEST_TEXT)]
        return Annotated[list[text] | None, QueryParameter(name=option.name, max_items=MOST_VALUES)]
    return Annotated[str | None, QueryParameter(name=option.name, max_length=LONGEST_TEXT)]


def _answer(plan: Plan, given: dict[str, Any]) -> PlanView:
    """Computes the plan in a thread, because the largest takes a while."""
    try:
        return plan_view(plan.answer(PlanInputs(), given))
    except (BadNumber, NoProgress) as error:
        raise Problem(400, _FLAG.sub(lambda found: found[1].replace("-", "_"), str(error))) from None
    except ArithmeticError:
        raise Problem(400, "these inputs are too large or too small together: nothing can be computed") from None


ROUTES = [_route(plan) for plan in PLANS]
