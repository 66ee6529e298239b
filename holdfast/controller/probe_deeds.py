"""What the writer is asked about runs of probes: to begin one, to show it, to end it."""

from collections.abc import Sequence

from holdfast.api.access import Caller
from holdfast.api.probe_views import ProbeRunAsk, ProbeRunView
from holdfast.api.problem import Problem
from holdfast.controller.probe_runs import Run
from holdfast.controller.probe_show import view_run
from holdfast.controller.turn import Turn
from holdfast.store.words import AuditEntry

MOST_NAMED = 8  # in the audit log


def begin(ask: ProbeRunAsk, caller: Caller, turn: Turn, fresh: Sequence[bool]) -> ProbeRunView:
    probing = turn.fleet.probing
    if why := probing.runs.refusal(ask.nodes):
        raise Problem(409, why, code="not_idle")
    run = probing.begin_run(ask.nodes, ask.sweep, ask.reason, turn.now)
    _note(turn, caller, "probe run", run, ask.reason)
    return view_run(run)


def show(number: int, turn: Turn, fresh: Sequence[bool]) -> ProbeRunView:
    return view_run(_known(number, turn))


def stop(number: int, caller: Caller, turn: Turn, fresh: Sequence[bool]) -> ProbeRunView:
    run = _known(number, turn)
    if run.ended is None:
        turn.fleet.probing.runs.stop(run, turn.now)
        _note(turn, caller, "probe stop", run, run.reason)
    return view_run(run)


def _known(number: int, turn: Turn) -> Run:
    run = turn.fleet.probing.runs.get(number)
    if run is None:
        raise Problem(404, f"no run of a probe has the number {number}; a controller that restarts forgets them")
    return run


def _note(turn: Turn, caller: Caller, verb: str, run: Run, reason: str) -> None:
    more = f" and {len(run.nodes) - MOST_NAMED} more" if len(run.nodes) > MOST_NAMED else ""
    target = ",".join(run.nodes[:MOST_NAMED])[:200] + more
    who, role = caller.name, caller.role.value
    entry = AuditEntry(at=turn.now, who=who, role=role, verb=verb, target=target, outcome="done", reason=reason)
    turn.audit.append(entry)
