"""Replication: sends copies to partners and commits a step when enough of them have it.

A step is committed when every rank's shard is on as many nodes as configured. One keeper counts, usually that of rank
0; the others notify it and are notified. The training processes take no part.
"""

import logging
import queue
import threading
import time
from dataclasses import dataclass, replace

from holdfast.training.checkpoint.format.increments import Marks, Sent, changed, marks_of
from holdfast.training.checkpoint.keeper.memory import Pages
from holdfast.training.checkpoint.keeper.pacing import REPLICA_SECONDS, CopyBudget, Overdue, RateLimit, behind_training
from holdfast.training.checkpoint.keeper.peers import SILENCE_SECONDS, PeerConnection, PeerRefused
from holdfast.training.checkpoint.keeper.quorum import Ballot, QuorumAnswer
from holdfast.training.checkpoint.keeper.shard_store import Copy, Full, ShardStore
from holdfast.training.checkpoint.keeper.wire import Message, WireError

LOG = logging.getLogger(__name__)
WITHDRAW_SECONDS = 2.0  # a save waits for it


@dataclass(frozen=True, slots=True)
class RunMembers:
    """Members of this run of the job, as the ranks agreed at the start."""

    attempt: str
    world: int
    node: str
    addresses: dict[str, str]  # address of every node's keeper
    partners: tuple[str, ...]
    counter: str  # node of the coordinating keeper


class Replication:
    def __init__(
        self,
        store: ShardStore,
        secret: bytes,
        rate_limit: RateLimit,
        troubles: dict[str, str],
        replica_seconds: float = REPLICA_SECONDS,
    ) -> None:
        self._store, self._secret, self._rate_limit, self._troubles = store, secret, rate_limit, troubles
        self.members: RunMembers | None = None
        self._safe: dict[int, set[int]] = {}
        self._hopeless = -1  # steps up to this one can no longer be committed: some rank dropped its copy
        self._ballot = Ballot(0)
        self._sent: dict[tuple[str, int], Sent] = {}  # the newest copy that a partner has of each rank
        self.sent_bytes = 0
        self._spread = CopyBudget(replica_seconds)
        self._lock = threading.Lock()
        self._waiting: queue.SimpleQueue[Copy] = queue.SimpleQueue()
        self.overdue = Overdue()
        threading.Thread(target=self._work, name="replication", daemon=True).start()

    def join(self, members: RunMembers) -> bool:
        """Joins a run; returns whether it is a new one."""
        with self._lock:
            begins = self.members is None or self.members.attempt != members.attempt
            if begins:
                self._safe.clear()
                self._hopeless = -1
                self._ballot = Ballot(members.world)
            self.members = members
            return begins

    def announce(self, address: str) -> None:
        """Announces the new address of this keeper, which was restarted, to the others of the run."""
        members = self.members
        if members is not None:
            message = {"do": "moved", "node": members.node, "address": address, "attempt": members.attempt}
            threading.Thread(target=self._notify_all, args=(members, message), name="moved", daemon=True).start()

    def submit(self, copy: Copy) -> None:
        self._spread.saved(copy.rank, time.monotonic())
        self.overdue.begin(copy, 2 * self._spread.longest_seconds)
        self._waiting.put(copy)

    def notice(self, message: Message) -> Message:
        """Handles a message of another keeper about its ranks, or from the coordinating keeper. Returns the answer."""
        match message:
            case {"do": "safe", "rank": int(rank), "step": int(step), "attempt": str(attempt)}:
                self._count(rank, step, attempt)
            case {"do": "withdraw", "step": int(step), "attempt": str(attempt)}:
                return {"committed": self._discount(step, attempt)}
            case {"do": "committed", "step": int(step), "attempt": str(attempt)}:
                if self.members and attempt == self.members.attempt:
                    self._store.commit(step)
            case {"do": "moved", "node": str(node), "address": str(address), "attempt": str(attempt)}:
                self._follow(node, address, attempt)
            case {"do": "ready", "rank": int(rank), "step": int(step), "holds": int(holds), "attempt": str(attempt)}:
                return self._choose(rank, step, holds, attempt)
        return {}

    def ask(self, message: Message, timeout_seconds: float = SILENCE_SECONDS) -> Message:
        """Asks the coordinating keeper."""
        members = self.members
        if members is None:
            raise WireError("no rank has joined yet")
        if members.counter == members.node:
            return self.notice(message)
        with PeerConnection(_address(members, members.counter), self._secret, timeout_seconds) as caller:
            return caller.notify(message)

    def reserve(self, rank: int, size: int, timeout_seconds: float) -> Pages:
        """A buffer for this rank's next shard.

        If the coordinating keeper was lost, copies that it called safe are never committed: after a wait the oldest of
        them is dropped.
        """
        try:
            return self._store.reserve(rank, size, timeout_seconds)
        except Full:
            if not self.withdraw(rank):
                raise
            return self._store.reserve(rank, size)

    def withdraw(self, rank: int) -> bool:
        """Drops the safe mark of this rank's oldest safe copy, because room is needed, unless it is committed by now.

        Returns whether that may have made room. If the coordinating keeper does not answer, the copy stays.
        """
        members, safe = self.members, self._store.protected(rank)
        if members is None or not safe:
            return False
        message = {"do": "withdraw", "step": safe[0], "attempt": members.attempt}
        try:
            committed = int(self.ask(message, WITHDRAW_SECONDS)["committed"])
        except (OSError, KeyError, ValueError) as error:
            LOG.warning("step %d of rank %d counts as safe and is kept: %s", safe[0], rank, error)
            return False
        if committed >= safe[0]:
            self._store.commit(committed)
        self._store.unprotect(rank, safe[0])
        return True

    def _work(self) -> None:
        behind_training()
        while True:
            copy = self._waiting.get()
            members = self.members
            if members is None or copy.attempt != members.attempt:
                self.overdue.end(copy)
                continue
            about = f"copies of rank {copy.rank}"
            try:
                self._bring(copy, members)
                self._troubles.pop(about, None)
            except Exception as error:  # last resort: without this thread no step is ever committed again
                self._troubles[about] = f"step {copy.step} could not be copied to its partners: {error!r}"
                LOG.exception("step %d of rank %d could not be copied to its partners", copy.step, copy.rank)
            self.overdue.end(copy)

    def _bring(self, copy: Copy, members: RunMembers) -> None:
        with self._store.reading(copy.rank, copy.step) as still_there:
            if still_there is copy and self._send_to_partners(copy, members):
                self._announce_safe(copy, members)

    def _send_to_partners(self, copy: Copy, members: RunMembers) -> bool:
        arrived = 0
        marks = marks_of(copy) if members.partners else ()
        for partner in members.partners:
            try:
                self._send(copy, marks, partner, members)
                arrived += 1
                self._troubles.pop(f"partner {partner}", None)
            except OSError as error:
                self._troubles[f"partner {partner}"] = f"step {copy.step} of rank {copy.rank} is not there: {error}"
                LOG.warning("partner %s: step %d of rank %d: %s", partner, copy.step, copy.rank, error)
        return arrived == len(members.partners)

    def _send(self, copy: Copy, marks: Marks, partner: str, members: RunMembers) -> None:
        """Sends the changes since the copy that the partner has, or all of it if the result is wrong there."""
        before = self._sent.pop((partner, copy.rank), None)
        parts = changed(before, copy, marks)
        seconds = self._spread.seconds(copy.rank) / max(len(members.partners), 1)
        # an overdue copy is sent without a rate limit
        rate = copy.size / seconds if seconds and self._waiting.empty() else 0.0
        with PeerConnection(_address(members, partner), self._secret) as caller:
            try:
                sent = caller.put(copy, self._rate_limit, before.step if before else -1, parts, self._bound(copy), rate)
            except PeerRefused:
                if parts is None:
                    raise
                sent = -1
        if sent < 0:
            with PeerConnection(_address(members, partner), self._secret) as caller:
                sent = caller.put(copy, self._rate_limit, bound=self._bound(copy))
        self.sent_bytes += sent
        self._sent[partner, copy.rank] = Sent(copy.step, copy.attempt, copy.size, marks)

    def _bound(self, copy: Copy) -> Message:
        """Steps that a partner must not overwrite for this copy."""
        return {"committed": self._store.committed, "safe": self._store.protected(copy.rank)}

    def _announce_safe(self, copy: Copy, members: RunMembers) -> None:
        self._store.protect(copy.rank, copy.step)
        message = {"do": "safe", "rank": copy.rank, "step": copy.step, "attempt": copy.attempt}
        if members.counter == members.node:
            self._count(copy.rank, copy.step, copy.attempt)
        else:
            self._notify(members.counter, members, message)

    def _count(self, rank: int, step: int, attempt: str) -> None:
        with self._lock:
            members = self.members
            if members is None or attempt != members.attempt or step <= self._hopeless:
                return
            safe = self._safe.setdefault(step, set())
            safe.add(rank)
            if len(safe) < members.world:
                return
            self._forget(step)
            self._store.commit(step)
        LOG.debug("step %d is committed", step)
        self._notify_all(members, {"do": "committed", "step": step, "attempt": attempt})

    def _follow(self, node: str, address: str, attempt: str) -> None:
        with self._lock:
            members = self.members
            if members is not None and attempt == members.attempt and node in members.addresses:
                self.members = replace(members, addresses={**members.addresses, node: address})
                LOG.info("the keeper of %s is at %s now", node, address)

    def _notify_all(self, members: RunMembers, message: Message) -> None:
        for node in members.addresses:
            if node != members.node:
                self._notify(node, members, message)

    def _forget(self, step: int) -> None:
        for old in [old for old in self._safe if old <= step]:
            del self._safe[old]

    def _discount(self, step: int, attempt: str) -> int:
        """Records that a rank drops its copy of this step, which counted as safe.

        Returns the committed step; if that is this step, the rank must keep the copy.
        """
        with self._lock:
            if self.members is None or attempt != self.members.attempt:
                raise WireError("not a copy of this run")
            committed = self._store.committed
            if step > committed:
                self._hopeless = max(self._hopeless, step)
                self._forget(step)
            return committed

    def _choose(self, rank: int, step: int, holds: int, attempt: str) -> Message:
        with self._lock:
            known = self.members is not None and attempt == self.members.attempt
            answer = self._ballot.vote(rank, step, holds) if known else QuorumAnswer()
        return {"chosen": answer.chosen, "settled": answer.settled, "why": answer.why}

    def _notify(self, node: str, members: RunMembers, message: Message) -> None:
        try:
            with PeerConnection(_address(members, node), self._secret) as caller:
                caller.notify(message)
        except OSError as error:
            what = f"step {message['step']} is safe" if "step" in message else "this keeper has another address"
            self._troubles[f"keeper {node}"] = f"was not informed that {what}: {error}"
        else:
            self._troubles.pop(f"keeper {node}", None)


def _address(members: RunMembers, node: str) -> str:
    """Address of a node's keeper; a node whose keeper was not reached at the start has none."""
    if node not in members.addresses:
        raise WireError(f"no keeper of {node} is known to this run")
    return members.addresses[node]
