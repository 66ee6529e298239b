"""Commands of the writer, each a function of its transaction: reports, enrolments, operator requests, tokens."""

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import msgspec

from holdfast.fleet.api.access import Caller
from holdfast.fleet.api.problem import Problem
from holdfast.fleet.api.views.common import (
    EnrolRequest,
    OperatorRequest,
    RevokeRequest,
    TicketRequest,
    TokenMade,
    TokenRequest,
)
from holdfast.fleet.controller.transaction import Transaction
from holdfast.fleet.decisions import assets
from holdfast.fleet.decisions.fleet import RESETS
from holdfast.fleet.decisions.lifecycle.memory import OPERATOR
from holdfast.fleet.incidents.views import PlannedWorkView
from holdfast.fleet.jobs.agent_jobs import AgentJobs
from holdfast.fleet.jobs.service import JobService, SeveralJobs, UnknownJob
from holdfast.fleet.jobs.views import TrainingDetail
from holdfast.fleet.probe_sessions import sessions as probe_sessions
from holdfast.fleet.store.credentials import bound_hash, new_token, token_hash
from holdfast.formats.slurm import hostlist
from holdfast.model.assets import TICKET_STATES, AssetRecord, PartTicket
from holdfast.model.lifecycle import EventKind, NodeEvent, Stage
from holdfast.model.records import (
    AuditEntry,
    Credential,
    CredentialKind,
    JoinToken,
    LifecycleStep,
    Outcome,
    Role,
    Transition,
)
from holdfast.model.wire.order import Ack
from holdfast.model.wire.report import OrderOutcome, Report

SESSION_SECONDS = 12 * 3_600.0
MOST_SESSIONS = 20  # sessions of one user; with more, the oldest end
OIDC = ":oidc"  # the opener of a session without a token; neither a name nor a hash
PLANNED = "planned"  # the kind of document that announced work is stored as
MOST_PLACES = 16
MOST_HOURS = 24 * 366 * 5
MOST_USES = 1_000_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,63}")
_PLACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/,-]{0,255}")  # addresses, one per rail, with commas between
LONGEST_REASON = 1_000
LONGEST_HOSTLIST = 16_384
LONGEST_JOB = 255
TAKING_OUT = (EventKind.QUARANTINE, EventKind.REMOVE)


def take(
    reports: Sequence[Report],
    jobs: AgentJobs | None,
    trainings: JobService,
    transaction: Transaction,
    fresh: Sequence[bool],
) -> Ack:
    """Takes one or more reports of one node. Only new ones are evaluated, because a report that was sent twice must not
    count twice."""
    for report, is_new in zip(reports, fresh, strict=True):
        transaction.reported.add(report.node)
        if not is_new:
            continue
        transaction.touched.add(report.node)
        transaction.decide(transaction.fleet.take(_answers_alone(transaction, report), transaction.now))
        if jobs is not None:
            jobs.take(report, transaction)
        trainings.take(report, transaction)
        if report.parts:
            _take_parts(report, transaction)
    life = transaction.fleet.nodes.get(reports[0].node)
    if life is None:
        return Ack(accepted=tuple(fresh))
    orders = transaction.orders.handed_over(
        life,
        transaction.now,
        transaction.fleet.policy.suite,
        partial(_finish, transaction),
        lambda verb: verb in RESETS and not transaction.fleet.may_reset(life.name, transaction.now),
    )
    probes, cancelled = transaction.fleet.probing.orders_for(life, transaction.now)
    resend_all = transaction.orders.continuity.broken(reports, transaction.store.has_all_before)
    return Ack(
        accepted=tuple(fresh),
        orders=(*orders, *probes),
        resend_all=resend_all,
        cancel=cancelled,
        closed=transaction.fleet.closed(life.name),
        flush_seconds=transaction.fleet.unsaved.flush_seconds(life, transaction.now, transaction.fleet.policy),
    )


def _take_parts(report: Report, transaction: Transaction) -> None:
    node, now = report.node, transaction.now
    if node not in transaction.fleet.nodes:
        return
    before = transaction.store.asset_record_in_batch(node)
    record, swaps = assets.take_parts(before, report.parts, now)
    if record != before:
        transaction.store.save_asset_record(node, record, now)
    for swap in swaps:
        transaction.decide(transaction.fleet.part_replaced(node, swap.after.kind, swap.text, now))
    if swaps:  # one row, however many parts a report invents
        words = "; ".join(swap.text for swap in swaps)[:LONGEST_REASON]
        transaction.audit.append(_entry(transaction, node, Role.AGENT, "part_replaced", node, "done", words))


def note_ticket(
    node: str, ask: TicketRequest, caller: Caller, transaction: Transaction, fresh: Sequence[bool]
) -> AssetRecord:
    if node not in transaction.fleet.nodes:
        raise Problem(404, f"no node is called {node[:80]!r}")
    ticket = PartTicket(ask.ticket, ask.state, ask.part, by=caller.name, at=transaction.now, note=ask.note)
    record = assets.note_ticket(transaction.store.asset_record_in_batch(node), ticket)
    transaction.store.save_asset_record(node, record, transaction.now)
    text = f"{ask.ticket} {ask.state}{f' for {ask.part}' if ask.part else ''}{f': {ask.note}' if ask.note else ''}"
    transaction.audit.append(_entry(transaction, caller.name, caller.role, "ticket", node, "done", text))
    return record


def check_ticket(ask: TicketRequest) -> None:
    if not ask.ticket.strip() or len(ask.ticket) > LONGEST_JOB:
        raise Problem(400, f"ticket: expected 1 to {LONGEST_JOB} characters")
    if ask.state not in TICKET_STATES:
        raise Problem(400, f"state: expected one of {', '.join(TICKET_STATES)}, not {ask.state[:40]!r}")
    if len(ask.note) > LONGEST_REASON or len(ask.part) > LONGEST_JOB:
        raise Problem(400, f"note and part: expected at most {LONGEST_REASON} and {LONGEST_JOB} characters")


def show_training(trainings: JobService, name: str, transaction: Transaction, fresh: Sequence[bool]) -> TrainingDetail:
    try:
        return trainings.show(name, transaction)
    except UnknownJob as error:
        raise Problem(404, str(error)) from None
    except SeveralJobs as error:
        raise Problem(409, str(error), code="several_jobs") from None


def _answers_alone(transaction: Transaction, report: Report) -> Report:
    """Outcomes that answer an open order. Late, repeated and invented ones have no effect."""
    if not report.outcomes:
        return report
    ended = (_end_order(transaction, report.node, outcome) for outcome in report.outcomes)
    return replace(report, outcomes=tuple(outcome for outcome in ended if outcome is not None))


def _end_order(transaction: Transaction, node: str, outcome: OrderOutcome) -> OrderOutcome | None:
    """A node can answer only its own order, and only once. The work began no earlier than the order was handed over.
    This moment and the end of the last workload are on the controller's clock; the clock of the agent may be an hour
    ahead. A probe has no stored action: its session knows whether the answer is still expected."""
    if outcome.verb == probe_sessions.VERB:
        return outcome
    if transaction.orders.is_of_another(node, outcome.order, outcome.key):
        return None
    given = transaction.orders.answered(node, outcome.order)
    stored = given.stored if given else transaction.store.take_over(outcome.order, node, transaction.epoch)
    if stored is None or outcome.key not in ("", stored.action.key):
        return None
    words = f"{outcome.health}: {outcome.reason}" if outcome.health else outcome.reason
    ended = Outcome.DONE if outcome.ok else Outcome.FAILED
    if _finish(transaction, outcome.order, ended, words):
        transaction.ended.append((stored.action.verb.value, ended.value))
    handed_over = given.handed_over if given else None
    began = stored.action.at if handed_over is None else handed_over
    return replace(outcome, verb=stored.action.verb.value, began=began)


def _finish(transaction: Transaction, number: int, outcome: Outcome, detail: str) -> bool:
    return transaction.store.finish(number, outcome, detail, transaction.epoch, transaction.now)


def check_enrolment(ask: EnrolRequest) -> None:
    if not _NAME.fullmatch(ask.node):
        raise Problem(400, "node: expected a host name of letters, digits, dots, dashes and underscores")
    if not _WORD.fullmatch(ask.pool):
        raise Problem(400, "pool: expected one word of at most 64 letters, digits and . _ : / -")
    words_fit = all(_WORD.fullmatch(key) and _PLACE.fullmatch(value) for key, value in ask.place.items())
    if len(ask.place) > MOST_PLACES or not words_fit:
        raise Problem(400, f"place: expected at most {MOST_PLACES} pairs of words such as rack = r1")
    if not 0 < len(ask.join_token) <= 512:
        raise Problem(400, "join_token: expected 1 to 512 characters")


def operator_request(
    node: str,
    kind: EventKind,
    request: OperatorRequest,
    caller: Caller,
    transaction: Transaction,
    fresh: Sequence[bool],
) -> None:
    """A request of an operator. It is refused if the stage of the node does not allow it. It is also refused if more of
    a pool would leave service than the policy allows, unless the operator forces it: a list of names is easily
    mistyped."""
    life = transaction.fleet.nodes.get(node)
    if life is None:
        raise Problem(404, f"no node is called {node[:80]!r}")
    if caller.role is Role.JOB:
        _retest_for_job(node, request, caller, transaction)
        return
    brake = transaction.fleet.brake(node) if kind in TAKING_OUT else ""
    if brake and not request.force:
        words = f"{kind.value} of {node} is refused: {brake}; repeat with force to proceed"
        raise Problem(409, words, code="breaker")
    steps = transaction.fleet.operator(node, kind, request.reason, caller.name, transaction.now)
    if not steps:
        theirs = kind is EventKind.RETEST and life.stage is Stage.QUARANTINED and life.cause == OPERATOR
        why = f"{life.stage.value} by an operator: release it" if theirs else life.stage.value
        raise Problem(409, f"{kind.value} changes nothing while {node} is {why}", code="no_change")
    transaction.decide(steps)
    words = f"{request.reason} (with force: {brake})" if brake else request.reason
    transaction.audit.append(_entry(transaction, caller.name, caller.role, kind.value, node, "done", words))


def _retest_for_job(node: str, request: OperatorRequest, caller: Caller, transaction: Transaction) -> None:
    """The only request that the token of a job may make. It cannot be forced."""
    if why := transaction.fleet.refuses_job(node, transaction.now):
        raise Problem(409, f"retest of {node} is refused: {why}", code="job_limit")
    transaction.decide(transaction.fleet.retest_for_job(node, request.reason, caller.name, transaction.now))
    transaction.audit.append(_entry(transaction, caller.name, caller.role, "retest", node, "done", request.reason))


def forget_node(
    node: str, request: OperatorRequest, caller: Caller, transaction: Transaction, fresh: Sequence[bool]
) -> None:
    """Deletes a node. It must be in the stage `removed`, so that nothing else in the fleet refers to it."""
    life = transaction.fleet.nodes.get(node)
    if life is None:
        raise Problem(404, f"no node is called {node[:80]!r}")
    if life.stage is not Stage.REMOVED:
        raise Problem(409, f"{node} is {life.stage.value}: remove it first, then forget it", code="not_removed")
    event = NodeEvent(kind=EventKind.REMOVE, cause="operator", reason=request.reason, by=caller.name)
    text = f"forgotten: {request.reason}"
    transition = Transition(
        node=node, at=transaction.now, before=life.stage, after=life.stage, event=event, reason=text
    )
    transaction.decide([LifecycleStep(node=life, transition=transition)])
    transaction.fleet.forget(node, transaction.now)
    transaction.forgotten.add(node)
    transaction.audit.append(_entry(transaction, caller.name, caller.role, "forget", node, "done", request.reason))


def make_token(ask: TokenRequest, caller: Caller, transaction: Transaction, fresh: Sequence[bool]) -> TokenMade:
    token = new_token()
    hashed = bound_hash(ask.node, token) if ask.node else token_hash(token)
    expires = transaction.now + ask.hours * 3600
    if ask.role is None:
        joining = JoinToken(
            token_hash=hashed,
            created=transaction.now,
            expires=expires,
            uses_left=ask.uses,
            created_by=caller.name,
            nodes=ask.nodes,
            network=ask.network,
            vouches=ask.vouch or ask.uses == 1,
        )
        transaction.store.add_join_token(joining)
    else:
        made = Credential(token_hash=hashed, name=ask.name, role=ask.role, created=transaction.now, expires=expires)
        transaction.store.add_credential(replace(made, nodes=ask.nodes, job=ask.job))
    kind = ask.role.value if ask.role else "join"
    what = f"{kind} token for {ask.hours:g} h" + (f", {ask.uses} uses" if ask.role is None else "")
    what += f", for {ask.node} alone" if ask.node else ""
    bounds = {"nodes": ask.nodes, "network": ask.network, "job": ask.job, "vouches": "yes" if ask.vouch else ""}
    what += "".join(f", {name} {value}" for name, value in bounds.items() if value)
    transaction.audit.append(
        _entry(transaction, caller.name, caller.role, "token create", ask.name or kind, "done", what)
    )
    return TokenMade(token=token, hash=hashed, expires=expires)


def check_token(ask: TokenRequest, demo: bool = False) -> None:
    _check_bounds(ask, demo)
    if ask.role is not None and not _NAME.fullmatch(ask.name):
        raise Problem(400, "name: expected the token's holder: letters, digits, dots, dashes and underscores")
    if ask.node and (ask.role is not None or not _NAME.fullmatch(ask.node)):
        raise Problem(400, "node: expected a host name, and no role: only a join token is a node's")
    if not 0 < ask.hours <= MOST_HOURS:
        raise Problem(400, f"hours: expected more than 0 and at most {MOST_HOURS}")
    if not 0 < ask.uses <= MOST_USES:
        raise Problem(400, f"uses: expected 1 to {MOST_USES}")


def _check_bounds(ask: TokenRequest, demo: bool) -> None:
    joining = ask.role is None
    if len(ask.nodes) > LONGEST_HOSTLIST or len(ask.job) > LONGEST_JOB:
        raise Problem(400, f"nodes, job: expected at most {LONGEST_HOSTLIST} and {LONGEST_JOB} characters")
    try:
        hostlist.expand(ask.nodes)
        network = ask.network and ipaddress.ip_network(ask.network)
    except ValueError as error:
        raise Problem(400, f"nodes, network: expected a hostlist and a network such as 10.1.0.0/16: {error}") from None
    if not joining and (network or ask.vouch):
        raise Problem(400, "network, vouch: only a join token has them")
    if ask.role is Role.JOB and not (ask.nodes or ask.job):
        raise Problem(400, "nodes or job: a job's token is for its own nodes; say which")
    if ask.role not in (None, Role.JOB) and (ask.nodes or ask.job):
        raise Problem(400, "nodes, job: only a join token and a job's token have them")
    if joining and ask.uses > 1 and not (ask.node or ask.nodes or network or demo):
        why = "a join token for several nodes must list the nodes, or the network that they enrol from"
        raise Problem(400, f"nodes or network: {why}")


def open_session(caller: Caller, transaction: Transaction, fresh: Sequence[bool]) -> tuple[str, float]:
    """A credential for a browser, with the role of the user who signed in. It ends with the token that opened it or
    when the user is revoked. It opens no other session, so that a stolen cookie does not outlive its sign-in."""
    if caller.is_session:
        raise Problem(403, "a session cannot open another session: sign in with a token", code="session")
    token, now = new_token(), transaction.now
    expires = min(now + SESSION_SECONDS, caller.expires)
    opened = Credential(token_hash=token_hash(token), name=caller.name, role=caller.role, created=now, expires=expires)
    transaction.store.add_credential(replace(opened, opened_with=caller.token_hash or OIDC))
    transaction.store.limit_sessions(caller.name, MOST_SESSIONS, now)
    what = f"{caller.role.value} for {(expires - now) / 3600:.3g} h"
    transaction.audit.append(_entry(transaction, caller.name, caller.role, "session open", caller.name, "done", what))
    return token, expires


def close_session(token: str, transaction: Transaction, fresh: Sequence[bool]) -> None:
    hashed = token_hash(token)
    known = transaction.store.credential(hashed)
    if known is None:
        return
    transaction.store.revoke(hashed, transaction.now)
    transaction.audit.append(
        _entry(transaction, known.name, known.role, "session close", known.name, "done", "signed out")
    )


def revoke(ask: RevokeRequest, caller: Caller, transaction: Transaction, fresh: Sequence[bool]) -> int:
    """Revokes the token with this hash, also a join token, or all tokens of a node or user."""
    store, target, now = transaction.store, ask.target, transaction.now
    ended = 0 if ask.kind else store.revoke(target, now) + int(store.revoke_join_token(target, now))
    if not ended:
        kinds = {CredentialKind(ask.kind)} if ask.kind else store.credential_kinds(target, now)
        if len(kinds) > 1:
            raise Problem(409, f"a node and a user are called {target[:80]!r}; say which: node or user", code="both")
        ended = sum(store.revoke_all(kind, target, now) for kind in kinds)
    transaction.audit.append(
        _entry(transaction, caller.name, caller.role, "token revoke", target, "done", f"{ended} ended")
    )
    return ended


def note(entry: AuditEntry, transaction: Transaction, fresh: Sequence[bool]) -> None:
    transaction.audit.append(entry)


def policy_changed(difference: str, transaction: Transaction, fresh: Sequence[bool]) -> None:
    """Records that a signal reloaded the policy. The caller is a user who may signal this process."""
    transaction.audit.append(_entry(transaction, "SIGHUP", Role.ADMIN, "policy reload", "policy", "done", difference))


def _entry(
    transaction: Transaction, who: str, role: Role, verb: str, target: str, outcome: str, reason: str
) -> AuditEntry:
    return AuditEntry(
        at=transaction.now, who=who, role=role.value, verb=verb, target=target, outcome=outcome, reason=reason
    )


def store_planned(work: PlannedWorkView, caller: Caller, transaction: Transaction, fresh: Sequence[bool]) -> None:
    """Announces work, or changes what was announced under its name."""
    body = msgspec.json.encode(work).decode()
    transaction.store.save_seam_documents(PLANNED, {work.name: body}, transaction.now)
    transaction.audit.append(_noted(transaction, caller, "announce", work.name, ", ".join(work.subjects)[:300]))


def remove_planned(name: str, caller: Caller, transaction: Transaction, fresh: Sequence[bool]) -> bool:
    removed = transaction.store.remove_seam_document(PLANNED, name)
    if removed:
        transaction.audit.append(_noted(transaction, caller, "withdraw", name, ""))
    return removed


def _noted(transaction: Transaction, caller: Caller, verb: str, name: str, reason: str) -> AuditEntry:
    return AuditEntry(
        at=transaction.now,
        who=caller.name,
        role=caller.role.value,
        verb=verb,
        target=name,
        outcome="done",
        reason=reason,
    )
