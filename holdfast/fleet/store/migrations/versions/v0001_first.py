"""The first schema: reports, node states, actions, leader, jobs, incidents, users."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
_OPEN = sa.text("state IN ('proposed', 'claimed')")


def _text(*names: str, key: bool = False) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, nullable=False, primary_key=key) for name in names]


def _times(*names: str, nullable: bool = False) -> list[sa.Column[float]]:
    return [sa.Column(name, sa.Double, nullable=nullable) for name in names]


def _id() -> sa.Column[int]:
    return sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True)


def _number(name: str, kind: type[sa.Integer] = sa.Integer, *, nullable: bool = False) -> sa.Column[int]:
    return sa.Column(name, kind, nullable=nullable)


def upgrade() -> None:
    _reports()
    _lives()
    _actions()
    _records()
    _people()


def _reports() -> None:
    op.create_table(
        "sessions", *_text("node", "session", key=True), *_text("seen"), *_times("stored_at"),
        *_times("heartbeat_at", nullable=True), postgresql_with={"fillfactor": 60},
    )  # fmt: skip
    _by_time("events", *_times("stored_at"), *_text("node"), *_times("at"), *_text("kind", "subject"),
             sa.Column("twin", sa.Boolean, nullable=False), *_text("body"))  # fmt: skip
    _by_time("verdict_changes", *_times("stored_at"), *_text("node"), *_times("at"),
             *_text("check_name", "before", "after", "reason"), sa.Column("twin", sa.Boolean, nullable=False),
             *_text("body"))  # fmt: skip
    op.create_table("verdicts", *_text("node", "check_name", key=True), *_text("session"),
                    _number("seq", sa.BigInteger), *_times("at"), *_text("body"))  # fmt: skip


def _by_time(name: str, *columns: sa.Column[Any]) -> None:
    """Partitioned by `stored_at` on PostgreSQL. The default partition takes rows that fit no other."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute(f"CREATE SEQUENCE {name}_id_seq")
        counted = sa.Column("id", sa.BigInteger, server_default=sa.text(f"nextval('{name}_id_seq')"), nullable=False)
        op.create_table(name, counted, *columns, postgresql_partition_by="RANGE (stored_at)")
        op.execute(f"ALTER SEQUENCE {name}_id_seq OWNED BY {name}.id")
        op.execute(f"CREATE TABLE {name}_default PARTITION OF {name} DEFAULT")
    else:
        op.create_table(name, _id(), *columns)
    op.create_index(f"{name}_story", name, ["node", "at", "id"])


def _lives() -> None:
    op.create_table("nodes", *_text("name", key=True), *_text("stage", "pool"), *_times("since"), *_text("body"))
    op.create_table("transitions", _id(), *_text("node"), *_times("at"),
                    *_text("from_stage", "to_stage", "kind", "cause", "reason", "said_by"),
                    _number("epoch", sa.BigInteger), *_text("body"))  # fmt: skip
    op.create_index("transitions_story", "transitions", ["node", "at", "id"])
    op.create_index("transitions_at", "transitions", ["at", "id"])
    op.create_table("leader", sa.Column("id", sa.Integer, primary_key=True, autoincrement=False), *_text("holder"),
                    _number("epoch", sa.BigInteger), *_times("until"))  # fmt: skip


def _actions() -> None:
    op.create_table("actions", _id(), *_text("key", "node", "verb", "cause", "reason"), *_times("at"), *_text("state"),
                    _number("attempts"), *_times("due_at"), _number("claimed_epoch", sa.BigInteger, nullable=True),
                    *_text("detail"), sa.UniqueConstraint("key", name="actions_key"))  # fmt: skip
    op.create_index("actions_open", "actions", ["id"], sqlite_where=_OPEN, postgresql_where=_OPEN)
    op.create_table("action_steps", _id(), _number("action", sa.BigInteger), *_text("node"), *_times("at"),
                    *_text("state"), _number("attempt"), *_text("detail"), _number("epoch", sa.BigInteger))  # fmt: skip
    op.create_index("action_steps_story", "action_steps", ["node", "at", "id"])


def _records() -> None:
    op.create_table("jobs", *_text("source", "id", "step", key=True), *_text("account", "state"),
                    *_times("started", "ended", nullable=True), *_text("body"))  # fmt: skip
    op.create_index("jobs_started", "jobs", ["started"])
    op.create_table("job_nodes", *_text("node", "source", "id", "step", key=True))
    op.create_index("job_nodes_job", "job_nodes", ["source", "id", "step"])
    op.create_table("incidents", *_text("id", key=True), *_times("opened"),
                    *_text("subject", "parent", "cause", "reason", "evidence", "state"),
                    *_times("closed", nullable=True))  # fmt: skip
    op.create_index("incidents_opened", "incidents", ["opened"])


def _people() -> None:
    op.create_table("audit", _id(), *_times("at"), *_text("who", "role", "verb", "target", "outcome", "reason"))
    op.create_index("audit_at", "audit", ["at"])
    op.create_table("credentials", *_text("token_hash", key=True), *_text("name", "role"),
                    *_times("created", "expires"), *_times("revoked", nullable=True))  # fmt: skip
    op.create_index("credentials_name", "credentials", ["name"])
    op.create_table("join_tokens", *_text("token_hash", key=True), *_times("created", "expires"),
                    _number("uses_left"), *_text("created_by"), *_times("revoked", nullable=True))  # fmt: skip
