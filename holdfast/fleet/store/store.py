"""The store: every method is one transaction. One thread writes; any thread reads."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Engine

from holdfast.fleet.store import (
    actions,
    credentials,
    documents,
    inbox,
    leadership,
    proofs,
    records,
    reports,
)
from holdfast.fleet.store import nodes as lives
from holdfast.fleet.store.database import Kept
from holdfast.fleet.store.history import node_history
from holdfast.fleet.store.sequence import StoredSequence
from holdfast.model.assets import AssetRecord
from holdfast.model.inbox import ItemNote, ItemRecord
from holdfast.model.incident import Incident, IncidentState
from holdfast.model.job import Job
from holdfast.model.lifecycle import NodeState, Verb
from holdfast.model.records import (
    AuditEntry,
    Credential,
    CredentialKind,
    HistoryPage,
    JoinToken,
    Leader,
    LifecycleStep,
    Outcome,
    PendingNode,
    StoredAction,
    Training,
    Transition,
)
from holdfast.model.wire.probe import Proof
from holdfast.model.wire.report import Report, VerdictChange

LEASE_SECONDS = 60.0  # length of a claim on an action; longer than the timeout of every back end


class Store(Kept):
    """Open it with `Store.open(url)`. A failed operation raises StoreError, and nothing was written."""

    def __init__(self, writer: Engine, reader: Engine) -> None:
        super().__init__(writer, reader)
        self._sessions: set[reports.Key] = set()  # sessions with a row
        self._recorded: dict[reports.Key, StoredSequence] = {}  # sessions of the latest batch

    # Reports

    def record(self, reports_: Sequence[Report], now: float) -> list[bool]:
        """Stores many reports in one commit and returns for each whether it was new. They are durable when it
        returns."""
        if self._joined is None:
            self.prepare(now)
        with self._writing() as connection:
            fresh, self._recorded = reports.record(connection, reports_, now, self._sessions)
            return fresh

    def heartbeats(self) -> dict[str, float]:
        with self._reading() as connection:
            return reports.heartbeats(connection)

    def changes(self, since: float, most: int = 100_000) -> list[tuple[str, VerdictChange]]:
        """Verdict changes of all nodes from a time on, oldest first, for a policy preview."""
        with self._reading() as connection:
            return reports.changes_since(connection, since, most)

    def verdicts(self, node: str | None = None) -> dict[str, list[VerdictChange]]:
        with self._reading() as connection:
            return reports.current_verdicts(connection, None if node is None else [node])

    def marks(self) -> reports.NewestRows:
        with self._reading() as connection:
            return reports.marks(connection)

    def changed_after(self, marks: reports.NewestRows, most: int) -> tuple[set[str], reports.NewestRows]:
        with self._reading() as connection:
            return reports.changed_after(connection, marks, most)

    def verdicts_of(self, names: Sequence[str]) -> dict[str, list[VerdictChange]]:
        with self._reading() as connection:
            return reports.current_verdicts(connection, names)

    def nodes_of(self, names: Sequence[str]) -> list[NodeState]:
        with self._reading() as connection:
            return lives.nodes_of(connection, names)

    def has_all_before(self, node: str, session: str, seq: int) -> bool:
        """For the writer, inside its batch: includes reports of this batch. After a failover it is called for every
        node."""
        held = self._recorded.get(reports.key_of(node, session)) if self._joined is not None else None
        if held is not None:
            return held.has_all_before(seq)
        with self._writing() as connection:
            return reports.has_all_before(connection, node, session, seq)

    def newest_report(self, node: str, session: str) -> int:
        """The highest committed number of a session; 0 without one."""
        with self._reading() as connection:
            return reports.newest(connection, node, session)

    def missing(self, node: str) -> dict[str, list[tuple[int, int]]]:
        with self._reading() as connection:
            return reports.missing(connection, node)

    # Nodes

    def nodes(self) -> list[NodeState]:
        with self._reading() as connection:
            return lives.all_nodes(connection)

    def forget_nodes(self, names: Sequence[str], now: float) -> None:
        if names:
            with self._writing() as connection:
                lives.forget(connection, names, now)
            self._sessions = {key for key in self._sessions if key[0] not in names}

    def transit_all(self, steps: Sequence[LifecycleStep], epoch: int) -> None:
        """Stores many transitions in one commit: all, or none if the epoch does not lead."""
        with self._writing() as connection:
            lives.transit(connection, steps, epoch)

    def transitions(self, since: float, most: int = 10_000) -> list[Transition]:
        with self._reading() as connection:
            return lives.since(connection, since, most)

    def node_history(self, node: str, limit: int = 50, before: str = "") -> HistoryPage:
        with self._reading() as connection:
            return node_history(connection, node, limit, before)

    # Actions

    def claim(
        self,
        epoch: int,
        limit: int,
        now: float | None = None,
        lease_seconds: float = LEASE_SECONDS,
        leases: Mapping[Verb, float] | None = None,
    ) -> list[StoredAction]:
        """`leases`: longer claims for verbs that take longer."""
        with self._writing() as connection:
            return actions.claim(connection, epoch, limit, now, lease_seconds, leases or {})

    def begin(self, action_id: int, epoch: int) -> bool:
        with self._writing() as connection:
            return actions.begin(connection, action_id, epoch)

    def adopt(self, epoch: int) -> int:
        """Makes actions claimable that an earlier leader claimed and did not finish; returns how many."""
        with self._writing() as connection:
            return actions.adopt(connection, epoch)

    def take_over(self, action_id: int, node: str, epoch: int) -> StoredAction | None:
        """Takes over an order whose answer arrives before the new leader has claimed it."""
        with self._writing() as connection:
            return actions.take_over(connection, action_id, node, epoch)

    def finish(
        self,
        action_id: int,
        outcome: Outcome,
        detail: str,
        epoch: int,
        now: float,
        retry_at: float | None = None,
        may_have_run: bool = False,
    ) -> bool:
        with self._writing() as connection:
            steps = actions.finish(connection, action_id, outcome, detail, epoch, now, retry_at, may_have_run)
            if self._joined is None:
                actions.note(connection, steps)
            else:
                self._steps += steps  # recorded together at the end of the batch
            return bool(steps)

    def open_actions(self) -> dict[tuple[str, ...], float]:
        """Number of proposed or claimed actions by (verb, state)."""
        with self._reading() as connection:
            return actions.open_by_verb(connection)

    def has_open_action(self, node: str, verbs: Sequence[Verb]) -> bool:
        """Whether the node has such an open action; inside a batch, its own writes count."""
        with self._writing() as connection:
            return actions.has_open(connection, node, verbs)

    def actions(self, node: str | None = None, most: int = 100) -> list[StoredAction]:
        with self._reading() as connection:
            return actions.latest(connection, node, most)

    # The leader

    def lead(self, holder: str, lease_seconds: float, now: float | None = None) -> int | None:
        with self._writing() as connection:
            return leadership.lead(connection, holder, now, lease_seconds)

    def renew(self, epoch: int, lease_seconds: float, now: float | None = None) -> bool:
        with self._writing() as connection:
            return leadership.renew(connection, epoch, now, lease_seconds)

    def resign(self, epoch: int) -> None:
        with self._writing() as connection:
            leadership.resign(connection, epoch)

    def current_leader(self) -> Leader | None:
        with self._reading() as connection:
            return leadership.current(connection)

    # Jobs, incidents, proofs, users

    def save_jobs(self, jobs: Sequence[Job]) -> None:
        with self._writing() as connection:
            records.save_jobs(connection, jobs)

    def jobs(
        self, node: str | None = None, since: float | None = None, most: int = 1_000, until: float | None = None
    ) -> list[Job]:
        with self._reading() as connection:
            return records.find_jobs(connection, node, since, most, until)

    def save_incidents(self, reported: Sequence[Incident], epoch: int) -> None:
        """Saves incidents, each at most once."""
        with self._writing() as connection:
            records.save_incidents(connection, reported, epoch)

    def incidents(self, state: IncidentState | None = None, most: int | None = 1_000) -> list[Incident]:
        with self._reading() as connection:
            return records.find_incidents(connection, state, most)

    def incident(self, wanted: str) -> Incident | None:
        with self._reading() as connection:
            return records.find_incident(connection, wanted)

    def save_seam_documents(self, kind: str, bodies: Mapping[str, str], at: float) -> None:
        """Learned baselines and announced work, by name."""
        with self._writing() as connection:
            documents.save_seam_documents(connection, kind, bodies, at)

    def seam_documents(self, kind: str) -> dict[str, str]:
        with self._reading() as connection:
            return documents.load_seam_documents(connection, kind)

    def remove_seam_document(self, kind: str, name: str) -> bool:
        with self._writing() as connection:
            return documents.remove_seam_document(connection, kind, name)

    def save_asset_record(self, node: str, record: AssetRecord, at: float) -> None:
        with self._writing() as connection:
            documents.save_assets(connection, node, record, at)

    def asset_record(self, node: str) -> AssetRecord:
        with self._reading() as connection:
            return documents.assets_of(connection, node)

    def asset_record_in_batch(self, node: str) -> AssetRecord:
        """For the writer: includes records that its batch has saved."""
        with self._writing() as connection:
            return documents.assets_of(connection, node)

    def save_proofs(self, reported: Sequence[Proof]) -> None:
        with self._writing() as connection:
            proofs.save(connection, reported)

    def proofs(self, since: float = 0.0, most: int = 100_000) -> list[Proof]:
        with self._reading() as connection:
            return proofs.since(connection, since, most)

    def save_trainings(self, reported: Sequence[Training]) -> None:
        with self._writing() as connection:
            documents.save_trainings(connection, reported)

    def trainings(self, most: int) -> list[Training]:
        """Counters of training jobs, the newest first."""
        with self._reading() as connection:
            return documents.newest_trainings(connection, most)

    def save_item(self, record: ItemRecord, note: ItemNote) -> None:
        with self._writing() as connection:
            inbox.save(connection, record, note)

    def keep_items(self, replaced: Sequence[str], kept: Sequence[ItemRecord]) -> None:
        """Saves records of items. `replaced`: their earlier keys."""
        with self._writing() as connection:
            inbox.keep(connection, replaced, kept)

    def newest_items(self, since: float, most: int) -> list[ItemRecord]:
        with self._reading() as connection:
            return inbox.newest(connection, since, most)

    def item_records(self, keys: Sequence[str]) -> dict[str, ItemRecord]:
        with self._reading() as connection:
            return inbox.records(connection, keys)

    def item_records_in_batch(self, keys: Sequence[str]) -> dict[str, ItemRecord]:
        """For the writer: includes records that its batch has saved, so that two updates of one item both stay."""
        with self._writing() as connection:
            return inbox.records(connection, keys)

    def item_notes(self, key: str, most: int = 200) -> list[ItemNote]:
        """Notes of an item, newest first."""
        with self._reading() as connection:
            return inbox.notes(connection, key, most)

    def write_audit(self, entries: Sequence[AuditEntry]) -> None:
        with self._writing() as connection:
            records.write_audit(connection, entries)

    def audit(self, since: float = 0.0, most: int = 1_000) -> list[AuditEntry]:
        with self._reading() as connection:
            return records.read_audit(connection, since, most)

    def add_credential(self, credential: Credential) -> None:
        with self._writing() as connection:
            credentials.add(connection, credential)

    def credential(self, token_hash: str) -> Credential | None:
        return self.credentials_of([token_hash]).get(token_hash)

    def credentials_of(self, token_hashes: Sequence[str]) -> dict[str, Credential]:
        with self._reading() as connection:
            return credentials.find(connection, token_hashes)

    def credentials(self) -> list[Credential]:
        with self._reading() as connection:
            return credentials.every(connection)

    def join_tokens(self) -> list[JoinToken]:
        with self._reading() as connection:
            return credentials.every_join_token(connection)

    def revoke(self, token_hash: str, now: float) -> int:
        with self._writing() as connection:
            return credentials.revoke(connection, token_hash, now)

    def revoke_all(self, kind: CredentialKind, name: str, now: float) -> int:
        with self._writing() as connection:
            return credentials.revoke_all(connection, kind, name, now)

    def credential_kinds(self, name: str, now: float) -> set[CredentialKind]:
        with self._writing() as connection:
            return credentials.kinds_of(connection, name, now)

    def add_join_token(self, token: JoinToken) -> None:
        with self._writing() as connection:
            credentials.add_join_token(connection, token)

    def revoke_join_token(self, token_hash: str, now: float) -> bool:
        with self._writing() as connection:
            return credentials.revoke_join_token(connection, token_hash, now)

    def enrol(self, join_hash: str, credential: Credential, now: float) -> bool:
        with self._writing() as connection:
            return credentials.enrol(connection, join_hash, credential, now)

    def join_token(self, token_hash: str) -> JoinToken | None:
        """For the writer, inside its batch."""
        with self._writing() as connection:
            return credentials.join_token(connection, token_hash)

    def limit_credentials(self, node: str, most: int, now: float) -> int:
        with self._writing() as connection:
            return credentials.limit(connection, node, most, now)

    def limit_sessions(self, name: str, most: int, now: float) -> int:
        with self._writing() as connection:
            return credentials.limit_sessions(connection, name, most, now)

    def add_pending(self, one: PendingNode) -> None:
        with self._writing() as connection:
            credentials.add_pending(connection, one)

    def end_pending(self, token_hash: str) -> bool:
        """Ends the pending state of a node; True if it was pending. From now on its credential is approved, unless it
        is also revoked."""
        with self._writing() as connection:
            return credentials.end_pending(connection, token_hash)

    def pending(self, name: str | None = None, most: int = 10_000) -> list[PendingNode]:
        with self._reading() as connection:
            return credentials.find_pending(connection, name, most)

    def pending_now(self, name: str | None, most: int) -> list[PendingNode]:
        """For the writer, inside its batch."""
        with self._writing() as connection:
            return credentials.find_pending(connection, name, most)

    def is_held(self, node: str, now: float) -> bool:
        with self._reading() as connection:
            return credentials.is_held(connection, node, now)
