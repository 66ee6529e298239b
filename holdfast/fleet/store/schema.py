"""The schema. Times are seconds since the epoch, bodies are JSON text, history is append-only."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
)

metadata = MetaData()
Id = BigInteger().with_variant(Integer, "sqlite")  # SQLite generates ids only for INTEGER PRIMARY KEY
_OPEN = text("state IN ('proposed', 'claimed')")


def _id() -> Column[int]:
    return Column("id", Id, primary_key=True)


def _text(name: str, *, key: bool = False) -> Column[str]:
    return Column(name, Text, nullable=False, primary_key=key)


def _added(name: str) -> Column[str]:
    """A text column that a migration added; older rows hold ''."""
    return Column(name, Text, nullable=False, server_default="")


def _time(name: str, *, nullable: bool = False) -> Column[float]:
    return Column(name, Double, nullable=nullable)


def _by_node_and_time(table: str) -> Index:
    """Indexes for the history of one node, whose cost does not depend on other nodes."""
    return Index(f"{table}_story", "node", "at", "id")


# Agents' reports. Partitions and retention use `stored_at` (the controller's clock), because an agent's may be wrong.
sessions = Table("sessions", metadata, _text("node", key=True), _text("session", key=True), _text("seen"),
                 _time("stored_at"), _time("heartbeat_at", nullable=True))  # fmt: skip
events = Table("events", metadata, _id(), _time("stored_at"), _text("node"), _time("at"), _text("kind"),
               _text("subject"), Column("twin", Boolean, nullable=False), _text("body"),
               _by_node_and_time("events"))  # fmt: skip
verdict_changes = Table("verdict_changes", metadata, _id(), _time("stored_at"), _text("node"), _time("at"),
                        _text("check_name"), _text("before"), _text("after"), _text("reason"),
                        Column("twin", Boolean, nullable=False), _text("body"),
                        _by_node_and_time("verdict_changes"))  # fmt: skip
verdicts = Table("verdicts", metadata, _text("node", key=True), _text("check_name", key=True), _text("session"),
                 Column("seq", BigInteger, nullable=False), _time("at"), _text("body"))  # fmt: skip
PARTITIONED = (events, verdict_changes)

# Nodes, their transitions and actions.
nodes = Table("nodes", metadata, _text("name", key=True), _text("stage"), _text("pool"), _time("since"), _text("body"))
transitions = Table("transitions", metadata, _id(), _text("node"), _time("at"), _text("from_stage"), _text("to_stage"),
                    _text("kind"), _text("cause"), _text("reason"), _text("said_by"),
                    Column("epoch", BigInteger, nullable=False), _text("body"),
                    _by_node_and_time("transitions"), Index("transitions_at", "at", "id"))  # fmt: skip
actions = Table("actions", metadata, _id(), _text("key"), _text("node"), _text("verb"), _text("cause"), _text("reason"),
                _time("at"), _text("state"), Column("attempts", Integer, nullable=False), _time("due_at"),
                Column("claimed_epoch", BigInteger, nullable=True), _text("detail"),
                Column("begun", Boolean, nullable=False, server_default=false()),
                UniqueConstraint("key", name="actions_key"),
                Index("actions_open", "id", sqlite_where=_OPEN, postgresql_where=_OPEN))  # fmt: skip
action_steps = Table("action_steps", metadata, _id(), Column("action", BigInteger, nullable=False), _text("node"),
                     _time("at"), _text("state"), Column("attempt", Integer, nullable=False), _text("detail"),
                     Column("epoch", BigInteger, nullable=False), _by_node_and_time("action_steps"))  # fmt: skip
leader = Table("leader", metadata, Column("id", Integer, primary_key=True, autoincrement=False), _text("holder"),
               Column("epoch", BigInteger, nullable=False), _time("until"))  # fmt: skip

# Results of probe sessions between two nodes.
proofs = Table("proofs", metadata, _id(), _time("at"), _text("one"), _text("other"), _time("bytes_per_second"),
               _text("note"), Index("proofs_at", "at", "id"))  # fmt: skip

# Jobs, incidents, users.
jobs = Table("jobs", metadata, _text("source", key=True), _text("id", key=True), _text("step", key=True),
             _text("account"), _text("state"), _time("started", nullable=True), _time("ended", nullable=True),
             _text("body"), Index("jobs_started", "started"))  # fmt: skip
job_nodes = Table("job_nodes", metadata, _text("node", key=True), _text("source", key=True), _text("id", key=True),
                  _text("step", key=True), Index("job_nodes_job", "source", "id", "step"))  # fmt: skip
trainings = Table("trainings", metadata, _text("name", key=True), _text("owner", key=True), _time("at"),
                  _text("body"))  # fmt: skip
seam_documents = Table("seam_documents", metadata, _text("kind", key=True), _text("name", key=True), _time("at"),
                       _text("body"))  # fmt: skip
asset_records = Table("asset_records", metadata, _text("node", key=True), _time("at"), _text("body"))
incidents = Table("incidents", metadata, _text("id", key=True), _time("opened"), _text("subject"), _text("parent"),
                  _text("cause"), _text("reason"), _text("evidence"), _text("state"), _time("closed", nullable=True),
                  Column("account", Text, nullable=True), Index("incidents_opened", "opened"))  # fmt: skip
inbox = Table("inbox", metadata, _text("key", key=True), _time("at"), _text("body"))
inbox_notes = Table("inbox_notes", metadata, _id(), _text("item"), _time("at"), _text("who"), _text("action"),
                    _text("text"), Index("inbox_notes_item", "item", "id"))  # fmt: skip
audit = Table("audit", metadata, _id(), _time("at"), _text("who"), _text("role"), _text("verb"), _text("target"),
              _text("outcome"), _text("reason"), Index("audit_at", "at"))  # fmt: skip
credentials = Table("credentials", metadata, _text("token_hash", key=True), _text("name"), _text("role"),
                    _time("created"), _time("expires"), _time("revoked", nullable=True), _added("nodes"), _added("job"),
                    _added("opened_with"), Index("credentials_name", "name"))  # fmt: skip
join_tokens = Table("join_tokens", metadata, _text("token_hash", key=True), _time("created"), _time("expires"),
                    Column("uses_left", Integer, nullable=False), _text("created_by"),
                    _time("revoked", nullable=True), _added("nodes"), _added("network"),
                    Column("vouches", Boolean, nullable=False, server_default=false()))  # fmt: skip
pending = Table("pending", metadata, _text("token_hash", key=True), _text("name"), _text("pool"), _text("place"),
                _text("address"), _time("at"), Index("pending_name", "name"))  # fmt: skip
