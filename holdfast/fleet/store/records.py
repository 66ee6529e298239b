"""Jobs, incidents and the audit log."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, and_, bindparam, delete, or_, select

from holdfast.fleet.store.bulk import insert_into, insert_many
from holdfast.fleet.store.leadership import fence
from holdfast.fleet.store.schema import audit, incidents, job_nodes, jobs
from holdfast.fleet.store.text import clean, decode, encode
from holdfast.model.account import Account
from holdfast.model.incident import Incident, IncidentState
from holdfast.model.job import Job
from holdfast.model.records import AuditEntry

JobKey = tuple[str, str, str]  # (source, id, step)
of_job = and_(job_nodes.c.source == jobs.c.source, job_nodes.c.id == jobs.c.id, job_nodes.c.step == jobs.c.step)
_REPLACE = "ON CONFLICT (id) DO UPDATE SET " + ", ".join(
    f"{column.name} = excluded.{column.name}" for column in incidents.columns if column.name != "id"
)
_forget_nodes = delete(job_nodes).where(
    job_nodes.c.source == bindparam("key_source"),
    job_nodes.c.id == bindparam("key_id"),
    job_nodes.c.step == bindparam("key_step"),
)


def save_jobs(connection: Connection, reported: Sequence[Job]) -> None:
    """Stores the current state of jobs; it replaces the earlier one."""
    latest = {(clean(job.source), clean(job.id), clean(job.step)): job for job in reported}
    if not latest:
        return
    insert = insert_into(connection, jobs)
    changed = {name: insert.excluded[name] for name in ("account", "state", "started", "ended", "body")}
    upsert = insert.on_conflict_do_update(index_elements=["source", "id", "step"], set_=changed)
    keys = sorted(latest)
    connection.execute(upsert, [_job_row(key, latest[key]) for key in keys])
    connection.execute(
        _forget_nodes, [{"key_source": source, "key_id": job, "key_step": step} for source, job, step in keys]
    )
    held = [
        {"node": node, "source": source, "id": job, "step": step}
        for source, job, step in keys
        for node in sorted({clean(node) for node in latest[source, job, step].nodes})
    ]
    if held:
        connection.execute(job_nodes.insert(), held)


def find_jobs(
    connection: Connection, node: str | None, since: float | None, most: int, until: float | None = None
) -> list[Job]:
    """Jobs of one node or of all, latest start first. They started by `until`, and run or ended after `since`."""
    asked = select(jobs.c.body).order_by(jobs.c.started.desc().nulls_last(), jobs.c.id.desc(), jobs.c.step).limit(most)
    if node is not None:
        asked = asked.join(job_nodes, of_job).where(job_nodes.c.node == clean(node))
    if since is not None:
        asked = asked.where(or_(jobs.c.ended.is_(None), jobs.c.ended >= since))
    if until is not None:
        asked = asked.where(jobs.c.started <= until)
    return [decode(body, Job) for (body,) in connection.execute(asked)]


def save_incidents(connection: Connection, reported: Sequence[Incident], epoch: int) -> None:
    fence(connection, epoch)
    insert_many(connection, incidents, [_incident_row(incident) for incident in reported], _REPLACE)


def _incident_row(incident: Incident) -> dict[str, Any]:
    return {
        "id": clean(incident.id),
        "opened": incident.opened,
        "subject": clean(incident.subject),
        "parent": clean(incident.parent),
        "cause": clean(incident.cause),
        "reason": clean(incident.reason),
        "evidence": encode(incident.evidence),
        "state": incident.state.value,
        "closed": incident.closed,
        "account": None if incident.account is None else encode(incident.account),
    }


def find_incidents(connection: Connection, state: IncidentState | None, most: int | None) -> list[Incident]:
    """Incidents, newest first; `most` None: all."""
    asked = select(incidents).order_by(incidents.c.opened.desc(), incidents.c.id.desc()).limit(most)
    if state is not None:
        asked = asked.where(incidents.c.state == state.value)
    return [_incident(row) for row in connection.execute(asked)]


def find_incident(connection: Connection, wanted: str) -> Incident | None:
    """The incident with this id, or the newest one of a subject."""
    asked = select(incidents).where(or_(incidents.c.id == clean(wanted), incidents.c.subject == clean(wanted)))
    row = connection.execute(asked.order_by(incidents.c.opened.desc()).limit(1)).first()
    return _incident(row) if row is not None else None


def write_audit(connection: Connection, entries: Sequence[AuditEntry]) -> None:
    insert_many(connection, audit, [_audit_row(entry) for entry in entries])


def read_audit(connection: Connection, since: float, most: int) -> list[AuditEntry]:
    """Audit entries, newest first."""
    newest = select(audit).where(audit.c.at >= since).order_by(audit.c.at.desc(), audit.c.id.desc()).limit(most)
    return [
        AuditEntry(
            at=row.at,
            who=row.who,
            role=row.role,
            verb=row.verb,
            target=row.target,
            outcome=row.outcome,
            reason=row.reason,
        )
        for row in connection.execute(newest)
    ]


def _job_row(key: JobKey, job: Job) -> dict[str, Any]:
    return {
        "source": key[0],
        "id": key[1],
        "step": key[2],
        "account": clean(job.account),
        "state": job.state.value,
        "started": job.start,
        "ended": job.end,
        "body": encode(job),
    }


def _incident(row: Any) -> Incident:
    return Incident(
        id=row.id,
        opened=row.opened,
        subject=row.subject,
        parent=row.parent,
        cause=row.cause,
        reason=row.reason,
        evidence=tuple(decode(row.evidence, list[str])),
        state=IncidentState(row.state),
        closed=row.closed,
        account=None if row.account is None else decode(row.account, Account),
    )


def _audit_row(entry: AuditEntry) -> dict[str, Any]:
    return {
        "at": entry.at,
        "who": clean(entry.who),
        "role": clean(entry.role),
        "verb": clean(entry.verb),
        "target": clean(entry.target),
        "outcome": clean(entry.outcome),
        "reason": clean(entry.reason),
    }
