"""Routes of the fabric probes, and of probe runs that an operator requests."""

from typing import Any

from litestar import Request, get, post
from litestar.params import FromPath, JSONBody

from holdfast.fleet.api.guard import caller_of
from holdfast.fleet.api.service import ServiceDep
from holdfast.fleet.probe_sessions.views import ProbeRunRequest, ProbeRunView, ProbesView

PATH = "/v1/probes/runs"


@get("/v1/probes", opt={"right": "read"}, tags=["fleet"])
async def show_probes(service: ServiceDep) -> ProbesView:
    """Proven pairs of leaves with time and speed, suspects, and running and next sessions."""
    return await service.probes()


@post(PATH, opt={"right": "operate"}, status_code=202, tags=["fleet"])
async def begin_probe_run(
    service: ServiceDep, request: Request[Any, Any, Any], data: JSONBody[ProbeRunRequest]
) -> ProbeRunView:
    """Start a probe session of these nodes through their agents. Refused while one of them runs work."""
    return await service.begin_run(data, caller_of(request))


@get(PATH + "/{number:int}", opt={"right": "read"}, tags=["fleet"])
async def show_probe_run(service: ServiceDep, number: FromPath[int]) -> ProbeRunView:
    """Progress of a run, and its report when it is over. Only the controller that started it has it, until it
    restarts."""
    return await service.show_run(number)


@post(PATH + "/{number:int}/stop", opt={"right": "operate"}, status_code=200, tags=["fleet"])
async def stop_probe_run(service: ServiceDep, request: Request[Any, Any, Any], number: FromPath[int]) -> ProbeRunView:
    """Cancel a run. Its nodes learn of it with their next acknowledgement."""
    return await service.stop_run(number, caller_of(request))


ROUTES = [show_probes, begin_probe_run, show_probe_run, stop_probe_run]
