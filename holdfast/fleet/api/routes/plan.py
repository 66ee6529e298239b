"""Routes of the calculators: the questions of `holdfast plan`, asked with the same words, answered by the same code."""

import asyncio
import re
from collections.abc import Callable
from typing import Annotated, Any

from litestar import Request, get
from litestar.params import Parameter, ParameterKwarg
from litestar.typing import FieldDefinition

from holdfast.economics.costs.feasible import BadNumber, NoProgress
from holdfast.economics.planning import checkpoint, cost, limit, price, risk, spares
from holdfast.economics.planning.answer import Answer
from holdfast.economics.planning.copies import CopyTexts
from holdfast.economics.planning.inputs import Asked
from holdfast.economics.planning.run import Wanted
from holdfast.fleet.api.problem import Problem
from holdfast.fleet.api.views.plan import PlanView, plan_view

LONGEST_TEXT = 200
MOST_SAID = 20  # of what may be said several times
_FLAG = re.compile(r"--([a-z]+(?:-[a-z]+)*)")

Asker = Request[Any, Any, Any]
Text = Annotated[str | None, Parameter(max_length=LONGEST_TEXT)]
State = Annotated[str | None, Parameter(query="state", max_length=LONGEST_TEXT)]  # the framework keeps the name
Several = Annotated[list[Annotated[str, Parameter(max_length=LONGEST_TEXT)]] | None, Parameter(max_items=MOST_SAID)]
OPEN: dict[str, Any] = {"opt": {"right": "read"}, "tags": ["plan"]}


async def _tell(request: Asker, make: Callable[[Asked], Answer]) -> PlanView:
    """In a thread: the largest question takes a while."""
    _refuse_unknown(request)
    return await asyncio.to_thread(_made, make)


def _made(make: Callable[[Asked], Answer]) -> PlanView:
    try:
        return plan_view(make(Asked()))
    except (BadNumber, NoProgress) as error:
        raise Problem(400, _FLAG.sub(lambda found: found[1].replace("-", "_"), str(error))) from None
    except ArithmeticError:
        raise Problem(400, "these inputs are too large or too small together: nothing can be computed") from None


def _refuse_unknown(request: Asker) -> None:
    known = {_said(one) for one in request.route_handler.parsed_fn_signature.parameters.values()} - {"request"}
    for name in request.query_params:
        if name not in known:
            asked = ", ".join(sorted(known))
            raise Problem(400, f"{name[:80]!r} is not asked by this plan: expected some of {asked}")


def _said(parameter: FieldDefinition) -> str:
    kind = parameter.kwarg_definition
    return (kind.query if isinstance(kind, ParameterKwarg) else None) or parameter.name


@get("/v1/plan/risk", **OPEN)
async def plan_risk(
    request: Asker,
    gpus: Text = None,
    days: Text = None,
    rate: Text = None,
    events: Text = None,
    gpu_years: Text = None,
    shape: Text = None,
    age_days: Text = None,
) -> PlanView:
    """How likely a run meets a failure, and how many."""
    return await _tell(request, lambda asked: risk.answer(asked, gpus, days, rate, events, gpu_years, shape, age_days))


@get("/v1/plan/checkpoint", **OPEN)
async def plan_checkpoint(
    request: Asker,
    gpus: Text = None,
    rate: Text = None,
    events: Text = None,
    gpu_years: Text = None,
    write: Text = None,
    size: State = None,
    bandwidth: Text = None,
    restart: Text = None,
    interval: Text = None,
    memory_write: Text = None,
    memory_restart: Text = None,
    memory_survives: Text = None,
    target: Text = None,
    copies: Text = None,
    rebuild: Text = None,
    domain: Several = None,
    apart: bool = False,
    gpus_per_node: Text = None,
) -> PlanView:
    """How often to write checkpoints, where, and what the run then delivers."""
    wanted = Wanted(
        gpus=gpus,
        rate=rate,
        events=events,
        gpu_years=gpu_years,
        write=write,
        state=size,
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
    return await _tell(request, lambda asked: checkpoint.answer(asked, wanted))


@get("/v1/plan/spares", **OPEN)
async def plan_spares(
    request: Asker,
    nodes: Text = None,
    gpus_per_node: Text = None,
    rate: Text = None,
    events: Text = None,
    gpu_years: Text = None,
    repair: Text = None,
    swap: Text = None,
    crews: Text = None,
    confidence: Text = None,
) -> PlanView:
    """How many spare nodes to hold."""
    return await _tell(
        request,
        lambda asked: spares.answer(
            asked, nodes, gpus_per_node, rate, events, gpu_years, repair, swap, crews, confidence
        ),
    )


@get("/v1/plan/limit", **OPEN)
async def plan_limit(
    request: Asker,
    rate: Text = None,
    events: Text = None,
    gpu_years: Text = None,
    size: State = None,
    state_gpus: Text = None,
    bandwidth: Text = None,
    network_exponent: Text = None,
    growing: bool = False,
    restart: Text = None,
) -> PlanView:
    """How far a run can scale before failures stop it."""
    return await _tell(
        request,
        lambda asked: limit.answer(
            asked, rate, events, gpu_years, size, state_gpus, bandwidth, network_exponent, growing, restart
        ),
    )


@get("/v1/plan/price", **OPEN)
async def plan_price(
    request: Asker,
    offer: Several = None,
    gpus: Text = None,
    days: Text = None,
    rate: Text = None,
    identify: Text = None,
    interval: Text = None,
    start: Text = None,
    repair: Text = None,
    failover: Text = None,
    blast: Text = None,
    sla: Text = None,
    down: Text = None,
) -> PlanView:
    """What a productive GPU-hour costs at each supplier (offer=NAME=PRICE@GOODPUT, several times), and its failures."""
    stages = {
        "identify": identify,
        "interval": interval,
        "start": start,
        "repair": repair,
        "failover": failover,
        "blast": blast,
    }
    return await _tell(request, lambda asked: price.answer(asked, offer or [], gpus, days, rate, stages, sla, down))


@get("/v1/plan/cost", **OPEN)
async def plan_cost(
    request: Asker,
    gpus: Text = None,
    price: Text = None,
    detect: Text = None,
    diagnose: Text = None,
    restore: Text = None,
    rework: Text = None,
    slow: Text = None,
    slow_for: Text = None,
    blast: Text = None,
    repair: Text = None,
    alternative: Text = None,
    queued: Text = None,
    people: Text = None,
    hours: Text = None,
    wage: Text = None,
    day_value: Text = None,
    float_days: Text = None,
    critical: Text = None,
) -> PlanView:
    """What one incident cost, in five layers."""
    wanted = cost.Wanted(
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
    return await _tell(request, lambda asked: cost.answer(asked, wanted))


ROUTES = [plan_risk, plan_checkpoint, plan_spares, plan_limit, plan_price, plan_cost]
