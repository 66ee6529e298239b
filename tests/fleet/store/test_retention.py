"""What is old goes in bounded bites; what is new, open or current stays."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from sqlalchemy import create_engine, text

from holdfast.fleet.store import Store, retention
from holdfast.model.incident import Incident, IncidentState
from holdfast.model.job import Job
from holdfast.model.records import AuditEntry, Credential, JoinToken, Outcome, Role
from holdfast.model.signal import Event
from holdfast.model.wire.report import Report, VerdictChange

from .engines import ON_POSTGRESQL, ON_SQLITE
from .lives import proposed

WEEK = 7 * 86400.0
OLD, NEW = 2_000_000_000.0, 2_000_000_000.0 + 10 * WEEK  # later than now, so that their weeks are prepared


def events(store: Store, now: float, count: int = 1, node: str = "n1") -> None:
    change = VerdictChange(at=now, check="c", before="", after="fail")
    made = tuple(Event(kind="k", at=now, text=f"{now}") for _ in range(count))
    store.record([Report(node=node, session=f"s{now}", seq=1, at=now, events=made, changes=(change,))], now)


def forget(store: Store, before: float, most: int = 10_000) -> list[int]:
    bites = []
    while gone := store.retain(before, most):
        bites.append(gone)
        assert len(bites) < 1000
    return bites


def test_old_reports_go_and_new_ones_stay(store: Store) -> None:
    events(store, OLD)
    events(store, NEW)
    forget(store, NEW - WEEK)
    assert [line.at for line in store.node_history("n1").lines] == [NEW, NEW]
    assert store.verdicts("n1")["n1"][0].at == NEW


def test_nothing_old_means_nothing_to_do(store: Store) -> None:
    events(store, NEW)
    assert store.retain(1_000_000_000.0) == 0


@ON_SQLITE  # PostgreSQL drops whole weeks
def test_on_sqlite_a_bite_is_bounded(store: Store) -> None:
    events(store, OLD, count=100)
    bites = forget(store, NEW, most=10)
    assert len(bites) >= 10
    assert max(bites) <= 30
    assert store.node_history("n1").lines == ()


def test_what_is_open_or_still_runs_is_never_forgotten(store: Store) -> None:
    epoch = store.lead("test", 1000, now=1.0) or 0
    proposed(store, epoch, "n1", "n2", at=OLD)
    (one,) = store.claim(epoch, 1, now=OLD)
    store.finish(one.id, Outcome.DONE, "", epoch, OLD)
    job = Job(id="1", source="slurm", nodes=("n1",), start=OLD)
    store.save_jobs([job, replace(job, id="2", end=OLD + 1)])
    incident = Incident(id="open", opened=OLD, subject="node/n1")
    store.save_incidents([incident], epoch)
    store.save_incidents([replace(incident, id="closed", state=IncidentState.CLOSED, closed=OLD + 1)], epoch)
    store.write_audit([AuditEntry(at=OLD, who="a", role="r", verb="v", target="t", outcome="o")])
    forget(store, NEW)
    assert [action.action.node for action in store.actions()] == ["n2"]
    assert store.jobs(node="n1") == store.jobs() == [job]
    assert store.incidents() == [incident]
    assert (store.audit(), store.transitions(0.0)) == ([], [])
    assert len(store.nodes()) == 2


def tables(url: str, like: str) -> dict[str, int]:
    """Partitions of a table with the rows each holds."""
    engine = create_engine(url)
    with engine.connect() as connection:
        asked = text("SELECT relname FROM pg_class WHERE relkind = 'r' AND relname LIKE :like")
        names = [name for (name,) in connection.execute(asked, {"like": like})]
        found = {name: connection.execute(text(f"SELECT count(*) FROM {name}")).scalar_one() for name in names}
    engine.dispose()
    return found


def test_sessions_that_are_silent_and_tokens_that_ended_go_and_those_in_use_stay(store: Store, url: str) -> None:
    for name, expires, revoked in (("old", OLD, None), ("gone", NEW, OLD), ("used", NEW, None)):
        store.add_credential(
            Credential(token_hash=name, name=name, role=Role.VIEWER, created=1.0, expires=expires, revoked=revoked)
        )
        store.add_join_token(JoinToken(token_hash=name, created=1.0, expires=expires, uses_left=1, revoked=revoked))
    store.record([Report(node="n1", session="silent", seq=1, at=OLD)], OLD)
    for at in (OLD, NEW):
        store.record([Report(node="n1", session="long", seq=int(at), at=at)], at)
    forget(store, NEW - WEEK)
    assert [one.name for one in store.credentials()] == ["used"]
    assert [one.token_hash for one in store.join_tokens()] == ["used"]
    assert (store.newest_report("n1", "silent"), store.newest_report("n1", "long")) == (0, int(NEW))


@pytest.fixture
def weeks(url: str) -> Callable[[], dict[str, int]]:
    return lambda: tables(url, "events\\_%")


@ON_POSTGRESQL
def test_a_week_has_its_partition_before_it_starts(store: Store, weeks: Callable[[], dict[str, int]]) -> None:
    before = set(weeks())
    events(store, NEW)
    ahead = sorted(set(weeks()) - before)
    assert len(ahead) == 4
    for week in range(1, 9):
        events(store, NEW + week * WEEK)
    held = weeks()
    assert held["events_default"] == 0
    assert sum(held.values()) == 9


@ON_POSTGRESQL
def test_old_weeks_are_dropped_whole(store: Store, weeks: Callable[[], dict[str, int]]) -> None:
    for week in range(6):
        events(store, OLD + week * WEEK)
    held = sorted(name for name, rows in weeks().items() if rows)
    forget(store, OLD + 3 * WEEK)
    assert sorted(name for name, rows in weeks().items() if rows) == held[3:]
    assert not set(held[:3]) & set(weeks())
    assert sorted({line.at for line in store.node_history("n1").lines}) == [OLD + week * WEEK for week in (3, 4, 5)]


@ON_POSTGRESQL
def test_rows_of_no_week_wait_in_the_default_partition_and_move_when_it_is_made(
    store: Store, weeks: Callable[[], dict[str, int]]
) -> None:
    events(store, NEW + 50 * WEEK)  # prepares that week and later ones
    events(store, NEW)  # a clock set back: no partition is made for it
    assert weeks()["events_default"] == 1
    events(store, OLD)
    assert weeks()["events_default"] == 2
    with store._writing() as connection:
        retention.partitions_ahead(connection, NEW)
    assert weeks()["events_default"] == 1  # the one of OLD
    assert [line.at for line in store.node_history("n1").lines][::2] == [NEW + 50 * WEEK, NEW, OLD]
    forget(store, OLD + WEEK)
    assert weeks()["events_default"] == 0
