"""Commands of the writer for probe runs: start, show, cancel."""

from collections.abc import Sequence

from holdfast.fleet.api.access import Caller
from holdfast.fleet.api.problem import Problem
from holdfast.fleet.controller.transaction import Transaction
from holdfast.fleet.probe_sessions.runs import ProbeRun
from holdfast.fleet.probe_sessions.views import ProbeRunRequest, ProbeRunView, ProbesView, view, view_run
from holdfast.model.records import AuditEntry

MOST_NAMED = 8  # in the audit log


def begin(ask: ProbeRunRequest, caller: Caller, transaction: Transaction, fresh: Sequence[bool]) -> ProbeRunView:
    probing = transaction.fleet.probing
    if why := probing.runs.refusal(ask.nodes):
        raise Problem(409, why, code="not_idle")
    run = probing.begin_run(ask.nodes, ask.sweep, ask.reason, transaction.now)
    _note(transaction, caller, "probe run", run, ask.reason)
    return view_run(run)


def show_all(transaction: Transaction, fresh: Sequence[bool]) -> ProbesView:
    return view(transaction.fleet.probing, transaction.now)


def show(number: int, transaction: Transaction, fresh: Sequence[bool]) -> ProbeRunView:
    return view_run(_known(number, transaction))


def stop(number: int, caller: Caller, transaction: Transaction, fresh: Sequence[bool]) -> ProbeRunView:
    run = _known(number, transaction)
    if run.ended is None:
        transaction.fleet.probing.runs.stop(run, transaction.now)
        _note(transaction, caller, "probe stop", run, run.reason)
    return view_run(run)


def _known(number: int, transaction: Transaction) -> ProbeRun:
    run = transaction.fleet.probing.runs.get(number)
    if run is None:
        raise Problem(404, f"no probe run has the number {number}; a controller forgets runs when it restarts")
    return run


def _note(transaction: Transaction, caller: Caller, verb: str, run: ProbeRun, reason: str) -> None:
    more = f" and {len(run.nodes) - MOST_NAMED} more" if len(run.nodes) > MOST_NAMED else ""
    target = ",".join(run.nodes[:MOST_NAMED])[:200] + more
    who, role = caller.name, caller.role.value
    entry = AuditEntry(at=transaction.now, who=who, role=role, verb=verb, target=target, outcome="done", reason=reason)
    transaction.audit.append(entry)
