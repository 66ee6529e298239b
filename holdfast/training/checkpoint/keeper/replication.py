"""From "copied on this node" to "committed": copies go to the partners, and one keeper counts who is safe.

A step is committed when every rank's shard is on as many nodes as were asked for. One keeper counts, as a rule that of
rank 0; the others tell it and are told. Nothing of this touches the training processes.
"""

import logging
import queue
import threading
import time
from dataclasses import dataclass

from holdfast.training.checkpoint.format.increments import Marks, Sent, changed, marks_of
from holdfast.training.checkpoint.keeper.pacing import Pace, Spread, behind_training
from holdfast.training.checkpoint.keeper.peers import SILENCE_SECONDS, Caller, Refused
from holdfast.training.checkpoint.keeper.quorum import Answer, Ballot
from holdfast.training.checkpoint.keeper.shard_store import Copy, Vault
from holdfast.training.checkpoint.keeper.wire import Message, WireError

LOG = logging.getLogger(__name__)
WITHDRAW_SECONDS = 2.0  # a save waits for it


@dataclass(frozen=True, slots=True)
class Crew:
    """Who is in this run of the job, as the ranks agreed when they started."""

    attempt: str
    world: int
    node: str
    addresses: dict[str, str]  # of every node's keeper
    partners: tuple[str, ...]
    counter: str  # the node whose keeper counts


class Replication:
    def __init__(self, vault: Vault, secret: bytes, pace: Pace, troubles: dict[str, str]) -> None:
        self._vault, self._secret, self._pace, self._troubles = vault, secret, pace, troubles
        self.crew: Crew | None = None
        self._safe: dict[int, set[int]] = {}
        self._hopeless = -1  # up to this step nothing that is not committed will be: some rank threw its copy away
        self._ballot = Ballot(0)
        self._sent: dict[tuple[str, int], Sent] = {}  # the newest copy that a partner has of a rank
        self.sent_bytes = 0
        self._spread = Spread()
        self._lock = threading.Lock()
        self._waiting: queue.SimpleQueue[Copy] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="replication", daemon=True).start()

    def join(self, crew: Crew) -> bool:
        """Whether a new run begins with it."""
        with self._lock:
            begins = self.crew is None or self.crew.attempt != crew.attempt
            if begins:
                self._safe.clear()
                self._hopeless = -1
                self._ballot = Ballot(crew.world)
            self.crew = crew
            return begins

    def submit(self, copy: Copy) -> None:
        self._spread.saved(copy.rank, time.monotonic())
        self._waiting.put(copy)

    def notice(self, message: Message) -> Message:
        """What another keeper says, of its ranks or as the one that counts, and what it is answered."""
        match message:
            case {"do": "safe", "rank": int(rank), "step": int(step), "attempt": str(attempt)}:
                self._count(rank, step, attempt)
            case {"do": "withdraw", "step": int(step), "attempt": str(attempt)}:
                return {"committed": self._discount(step, attempt)}
            case {"do": "committed", "step": int(step), "attempt": str(attempt)}:
                if self.crew and attempt == self.crew.attempt:
                    self._vault.commit(step)
            case {"do": "ready", "rank": int(rank), "step": int(step), "holds": int(holds), "attempt": str(attempt)}:
                return self._choose(rank, step, holds, attempt)
        return {}

    def ask(self, message: Message, patience_seconds: float = SILENCE_SECONDS) -> Message:
        """Ask the keeper that counts."""
        crew = self.crew
        if crew is None:
            raise WireError("no rank has joined yet")
        if crew.counter == crew.node:
            return self.notice(message)
        with Caller(_address(crew, crew.counter), self._secret, patience_seconds) as caller:
            return caller.tell(message)

    def withdraw(self, rank: int) -> bool:
        """Room is needed: the oldest copy of this rank that was called safe is so no more, unless it is committed by
        now. Whether that may have made room; what nobody knows of stays."""
        crew, safe = self.crew, self._vault.protected(rank)
        if crew is None or not safe:
            return False
        message = {"do": "withdraw", "step": safe[0], "attempt": crew.attempt}
        try:
            committed = int(self.ask(message, WITHDRAW_SECONDS)["committed"])
        except (OSError, KeyError, ValueError) as error:
            LOG.warning("step %d of rank %d counts as safe and is not thrown away: %s", safe[0], rank, error)
            return False
        if committed >= safe[0]:
            self._vault.commit(committed)
        self._vault.unprotect(rank, safe[0])
        return True

    def _work(self) -> None:
        behind_training()
        while True:
            copy = self._waiting.get()
            crew = self.crew
            if crew is None or copy.attempt != crew.attempt:
                continue
            about = f"copies of rank {copy.rank}"
            try:
                self._bring(copy, crew)
                self._troubles.pop(about, None)
            except Exception as error:  # the last guard of this thread: without it no step is ever committed again
                self._troubles[about] = f"step {copy.step} did not come to its partners: {error!r}"
                LOG.exception("step %d of rank %d did not come to its partners", copy.step, copy.rank)

    def _bring(self, copy: Copy, crew: Crew) -> None:
        with self._vault.reading(copy.rank, copy.step) as still_there:
            if still_there is copy and self._send_to_partners(copy, crew):
                self._say_safe(copy, crew)

    def _send_to_partners(self, copy: Copy, crew: Crew) -> bool:
        arrived = 0
        marks = marks_of(copy) if crew.partners else ()
        for partner in crew.partners:
            try:
                self._send(copy, marks, partner, crew)
                arrived += 1
                self._troubles.pop(f"partner {partner}", None)
            except OSError as error:
                self._troubles[f"partner {partner}"] = f"step {copy.step} of rank {copy.rank} is not there: {error}"
                LOG.warning("partner %s: step %d of rank %d: %s", partner, copy.step, copy.rank, error)
        return arrived == len(crew.partners)

    def _send(self, copy: Copy, marks: Marks, partner: str, crew: Crew) -> None:
        """What changed since the copy that the partner has; everything, where that does not come out right."""
        before = self._sent.pop((partner, copy.rank), None)
        parts = changed(before, copy, marks)
        seconds = self._spread.seconds(copy.rank) / max(len(crew.partners), 1)
        rate = copy.size / seconds if seconds and self._waiting.empty() else 0.0  # what is behind is not held up
        with Caller(_address(crew, partner), self._secret) as caller:
            try:
                sent = caller.put(copy, self._pace, before.step if before else -1, parts, self._bound(copy), rate)
            except Refused:
                if parts is None:
                    raise
                sent = -1
        if sent < 0:
            with Caller(_address(crew, partner), self._secret) as caller:
                sent = caller.put(copy, self._pace, bound=self._bound(copy))
        self.sent_bytes += sent
        self._sent[partner, copy.rank] = Sent(copy.step, copy.attempt, copy.size, marks)

    def _bound(self, copy: Copy) -> Message:
        """What a partner must not write over for this copy."""
        return {"committed": self._vault.committed, "safe": self._vault.protected(copy.rank)}

    def _say_safe(self, copy: Copy, crew: Crew) -> None:
        self._vault.protect(copy.rank, copy.step)
        message = {"do": "safe", "rank": copy.rank, "step": copy.step, "attempt": copy.attempt}
        if crew.counter == crew.node:
            self._count(copy.rank, copy.step, copy.attempt)
        else:
            self._tell(crew.counter, crew, message)

    def _count(self, rank: int, step: int, attempt: str) -> None:
        with self._lock:
            crew = self.crew
            if crew is None or attempt != crew.attempt or step <= self._hopeless:
                return
            safe = self._safe.setdefault(step, set())
            safe.add(rank)
            if len(safe) < crew.world:
                return
            self._forget(step)
            self._vault.commit(step)
        LOG.debug("step %d is committed", step)
        for node in crew.addresses:
            if node != crew.node:
                self._tell(node, crew, {"do": "committed", "step": step, "attempt": attempt})

    def _forget(self, step: int) -> None:
        for old in [old for old in self._safe if old <= step]:
            del self._safe[old]

    def _discount(self, step: int, attempt: str) -> int:
        """A rank throws away its oldest copy that counted, of this step. The committed step, which it may be."""
        with self._lock:
            if self.crew is None or attempt != self.crew.attempt:
                raise WireError("not a copy of this run")
            committed = self._vault.committed
            if step > committed:
                self._hopeless = max(self._hopeless, step)
                self._forget(step)
            return committed

    def _choose(self, rank: int, step: int, holds: int, attempt: str) -> Message:
        with self._lock:
            known = self.crew is not None and attempt == self.crew.attempt
            answer = self._ballot.hear(rank, step, holds) if known else Answer()
        return {"chosen": answer.chosen, "settled": answer.settled, "why": answer.why}

    def _tell(self, node: str, crew: Crew, message: Message) -> None:
        try:
            with Caller(_address(crew, node), self._secret) as caller:
                caller.tell(message)
        except OSError as error:
            self._troubles[f"keeper {node}"] = f"was not told that step {message['step']} is safe: {error}"
        else:
            self._troubles.pop(f"keeper {node}", None)


def _address(crew: Crew, node: str) -> str:
    """A node whose keeper could not be reached at the start has none."""
    if node not in crew.addresses:
        raise WireError(f"no keeper of {node} is known to this run")
    return crew.addresses[node]
