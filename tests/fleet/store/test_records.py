"""Jobs, incidents, the audit log and who may speak."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.fleet.api.access import Caller
from holdfast.fleet.controller import enrolment
from holdfast.fleet.store import Store, StoreError
from holdfast.fleet.store.credentials import token_hash
from holdfast.model.incident import Incident, IncidentState
from holdfast.model.job import Job, JobState
from holdfast.model.records import AuditEntry, Credential, CredentialKind, JoinToken, Role

JOB = Job(id="17", source="slurm", account="llm", nodes=("n1", "n2"), gpus=16, start=10.0, state=JobState.RUNNING)


def test_a_job_is_what_its_source_reported_last(store: Store) -> None:
    store.save_jobs([JOB])
    ended = replace(JOB, nodes=("n1", "n3"), end=50.0, state=JobState.COMPLETED)
    store.save_jobs([ended])
    store.save_jobs([])
    assert store.jobs() == [ended]
    assert store.jobs(node="n3") == [ended]
    assert store.jobs(node="n2") == []


def test_jobs_of_two_sources_with_one_number_are_two(store: Store) -> None:
    store.save_jobs([JOB, replace(JOB, source="kubernetes", start=11.0)])
    assert [job.source for job in store.jobs(node="n1")] == ["kubernetes", "slurm"]


def test_the_steps_of_a_job_stand_beside_it(store: Store) -> None:
    step = replace(JOB, step="0", start=12.0, gpus=None)
    store.save_jobs([JOB, step])
    assert store.jobs() == [step, JOB]


def test_jobs_since_a_time_are_those_that_still_run_or_ended_later(store: Store) -> None:
    jobs = [JOB, replace(JOB, id="18", start=11.0, end=20.0), replace(JOB, id="19", start=12.0, end=40.0)]
    store.save_jobs(jobs)
    assert [job.id for job in store.jobs(since=30.0)] == ["19", "17"]


def test_jobs_until_a_time_are_those_that_had_started(store: Store) -> None:
    store.save_jobs([replace(JOB, id=str(number), start=float(number)) for number in (11, 12, 13)])
    assert [job.id for job in store.jobs(until=12.0)] == ["12", "11"]
    assert [job.id for job in store.jobs(until=12.0, most=1)] == ["12"]


def test_a_job_that_has_not_started_is_reported_last(store: Store) -> None:
    store.save_jobs([replace(JOB, id="20", start=None, state=JobState.WAITING), JOB])
    assert [job.id for job in store.jobs()] == ["17", "20"]


@pytest.mark.parametrize("name", ["a\0b", "half \udc80 pair", "'", "x" * 10_000, ""])
def test_asking_for_a_name_that_cannot_be_is_answered_with_nothing(store: Store, name: str) -> None:
    assert (store.jobs(node=name), store.actions(name), store.verdicts(name), store.missing(name)) == ([], [], {}, {})
    assert (
        store.credential(name),
        store.revoke_all(CredentialKind.USER, name, 1.0),
        store.enrol(name, CREDENTIAL, 1.0),
    ) == (None, 0, False)
    assert store.node_history(name).lines == ()


def test_an_incident_is_opened_kept_and_closed(store: Store) -> None:
    epoch = store.lead("test", 1000, now=1.0) or 0
    incident = Incident(id="i1", opened=5.0, subject="loop/l1", cause="cooling", reason="50 nodes", evidence=("a", "b"))
    store.save_incidents([incident], epoch)
    assert store.incidents(IncidentState.OPEN) == [incident]
    closed = replace(incident, state=IncidentState.CLOSED, closed=9.0)
    store.save_incidents([closed], epoch)
    assert (store.incidents(IncidentState.OPEN), store.incidents()) == ([], [closed])


def test_the_audit_log_keeps_every_word(store: Store) -> None:
    entries = [
        AuditEntry(at=float(at), who="ann", role="operator", verb="quarantine", target="n1", outcome="done", reason="r")
        for at in (1, 2, 3)
    ]
    store.write_audit(entries)
    store.write_audit([])
    assert store.audit(since=2.0) == [entries[2], entries[1]]


CREDENTIAL = Credential(token_hash=token_hash("secret"), name="n1", role=Role.AGENT, created=1.0, expires=100.0)


def test_a_credential_is_found_by_the_hash_of_its_token_and_ends_by_time_or_word(store: Store) -> None:
    store.add_credential(CREDENTIAL)
    assert store.credential(token_hash("other")) is None
    found = store.credential(token_hash("secret"))
    assert found == CREDENTIAL
    assert found is not None
    assert (found.valid(50.0), found.valid(100.0)) == (True, False)
    assert store.revoke_all(CredentialKind.USER, "n1", now=59.0) == 0
    assert store.revoke_all(CredentialKind.NODE, "n1", now=60.0) == 1
    assert store.revoke_all(CredentialKind.NODE, "n1", now=61.0) == 0
    assert [one.valid(50.0) for one in store.credentials()] == [False]


def test_a_token_never_stands_in_the_store(store: Store, url: str) -> None:
    store.add_credential(CREDENTIAL)
    assert "secret" not in repr(store.credentials())


def test_two_credentials_with_one_token_are_refused(store: Store) -> None:
    store.add_credential(CREDENTIAL)
    with pytest.raises(StoreError):
        store.add_credential(replace(CREDENTIAL, name="n2"))
    assert store.credentials() == [CREDENTIAL]


def test_a_join_token_enrols_as_often_as_it_says_and_no_more(store: Store) -> None:
    store.add_join_token(JoinToken(token_hash="join", created=1.0, expires=100.0, uses_left=2, created_by="ann"))
    made = [replace(CREDENTIAL, token_hash=f"h{i}", name=f"n{i}") for i in range(3)]
    assert [store.enrol("join", one, now=50.0) for one in made] == [True, True, False]
    assert store.credentials() == made[:2]


def test_a_join_token_that_expired_or_was_revoked_enrols_no_one(store: Store) -> None:
    store.add_join_token(JoinToken(token_hash="join", created=1.0, expires=100.0, uses_left=9))
    assert not store.enrol("join", CREDENTIAL, now=100.0)
    assert not store.enrol("other", CREDENTIAL, now=50.0)
    assert store.revoke_join_token("join", now=51.0)
    assert not store.enrol("join", CREDENTIAL, now=52.0)
    assert store.credentials() == []


def test_an_enrolment_that_fails_does_not_use_the_token_up(store: Store) -> None:
    store.add_join_token(JoinToken(token_hash="join", created=1.0, expires=100.0, uses_left=1))
    store.add_credential(CREDENTIAL)
    with pytest.raises(StoreError):
        store.enrol("join", CREDENTIAL, now=50.0)
    assert store.enrol("join", replace(CREDENTIAL, token_hash="h2"), now=50.0)


def test_a_node_keeps_only_its_newest_credentials(store: Store) -> None:
    """Whoever holds one credential can renew it again and again; each renewal ends the oldest."""
    made = [replace(CREDENTIAL, token_hash=token_hash(f"{number}"), created=float(number)) for number in range(5)]
    for one in made:
        store.add_credential(one)
    others = [
        replace(CREDENTIAL, name="n2", token_hash=token_hash("of another")),
        replace(CREDENTIAL, role=Role.VIEWER, token_hash=token_hash("of another role")),
    ]
    for one in others:
        store.add_credential(one)
    assert store.limit_credentials(CREDENTIAL.name, 3, 9.0) == 2
    known = {one.token_hash: store.credential(one.token_hash) for one in (*made, *others)}
    ended = [one.token_hash for one in (*made, *others) if (found := known[one.token_hash]) is None or found.revoked]
    assert ended == [made[0].token_hash, made[1].token_hash]
    assert store.limit_credentials(CREDENTIAL.name, 3, 10.0) == 0


def test_a_credential_that_is_renewed_again_and_again_leaves_three(store: Store) -> None:
    caller = Caller(name="n1", role=Role.AGENT)
    for number in range(10):
        transaction: Any = SimpleNamespace(now=float(number), store=store, audit=[])
        enrolment.renew(caller, transaction, ())
    assert [one.created for one in store.credentials() if one.valid(20.0)] == [7.0, 8.0, 9.0]
