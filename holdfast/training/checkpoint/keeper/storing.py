"""Selects the step to write to storage, by asking the coordinating keeper for each local rank.

No rank waits for the answer. A copy that waits for it is protected from being overwritten, as long as there is other
room.
"""

import logging
import threading
import time
from collections.abc import Callable
from functools import partial

from holdfast.training.checkpoint.keeper.flush import Flushing
from holdfast.training.checkpoint.keeper.quorum import QuorumAnswer, QuorumShare
from holdfast.training.checkpoint.keeper.shard_store import Copy, ShardStore
from holdfast.training.checkpoint.keeper.wire import Message

LOG = logging.getLogger(__name__)
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.05, 2.0  # seconds between two attempts without an answer

Ask = Callable[[Message], Message]  # asks the coordinating keeper


class Storing:
    def __init__(self, store: ShardStore, flushing: Flushing, ask: Ask, troubles: dict[str, str]) -> None:
        self._store, self._flushing, self._ask, self._troubles = store, flushing, ask, troubles
        self._attempt = ""
        self._shares: dict[int, QuorumShare] = {}
        self._held: dict[int, Copy] = {}  # steps that are held ready and not decided
        self._skipped: set[int] = set()  # ranks that skipped a step since the last chosen one
        self._unreported: set[int] = set()  # ranks whose newest message has not arrived yet
        self._changed = threading.Condition()
        threading.Thread(target=self._work, name="storing", daemon=True).start()

    def begin(self, attempt: str) -> None:
        """Starts a new run: steps held ready by the last one are dropped; chosen ones are still written."""
        with self._changed:
            for copy in self._held.values():
                self._store.want(copy, False)
            self._attempt, self._shares, self._held, self._unreported = attempt, {}, {}, set()

    def offer(self, copy: Copy) -> None:
        with self._changed:
            if copy.attempt != self._attempt:
                return
            share = self._shares.setdefault(copy.rank, QuorumShare())
            if share.offer(copy.step):
                self._store.want(copy)
                self._held[copy.rank] = copy
            else:
                self._log_left_out(copy, f"an earlier step of rank {copy.rank} is still on its way")
            self._unreported.add(copy.rank)
            self._changed.notify_all()

    def _work(self) -> None:
        pause = FIRST_PAUSE_SECONDS
        while True:
            with self._changed:
                if not self._unreported:
                    self._changed.wait(pause if self._held else None)
                pause = FIRST_PAUSE_SECONDS if self._unreported else min(2 * pause, LONGEST_PAUSE_SECONDS)
                ranks = sorted(self._unreported | self._held.keys())
            if not self._ask_for_all(ranks):
                time.sleep(LONGEST_PAUSE_SECONDS)

    def _ask_for_all(self, ranks: list[int]) -> bool:
        try:
            return all([self._ask_for(rank) for rank in ranks])
        except Exception as error:  # last resort: without this thread no step goes to storage any more
            self._troubles["step for storage"] = f"selecting a step for storage failed: {error!r}"
            LOG.exception("selecting a step for storage failed")
            return False

    def _ask_for(self, rank: int) -> bool:
        """Announces the step that the rank holds and applies the answer; returns whether there was one."""
        with self._changed:
            share, attempt = self._shares.get(rank), self._attempt
            if share is None:
                return True
            self._notice_loss(rank, share)
            newest, holds = share.newest, share.holds
        try:
            answer = self._ask({"do": "ready", "rank": rank, "step": newest, "holds": holds, "attempt": attempt})
            decided = QuorumAnswer(int(answer["chosen"]), int(answer["settled"]), str(answer["why"]))
        except (OSError, KeyError, ValueError) as error:
            self._troubles["step for storage"] = (
                f"the coordinating keeper did not say which step goes to storage: {error}"
            )
            return False
        self._troubles.pop("step for storage", None)
        with self._changed:
            if self._attempt == attempt:
                self._apply_note(rank, share, decided)
                if newest == share.newest:
                    self._unreported.discard(rank)
        return True

    def _notice_loss(self, rank: int, share: QuorumShare) -> None:
        """Releases a held copy that was dropped because room was scarce."""
        copy = self._held.get(rank)
        if copy is not None and not self._store.has(copy):
            self._lose(copy, share)

    def _lose(self, copy: Copy, share: QuorumShare) -> None:
        del self._held[copy.rank]
        share.let_go()
        self._log_lost(copy)

    def _apply_note(self, rank: int, share: QuorumShare, answer: QuorumAnswer) -> None:
        copy = self._held.get(rank)
        if copy is None:
            return
        if share.apply_note(answer):
            if rank not in self._skipped:  # if every other step is skipped, that is one problem
                self._troubles.pop(_about(copy), None)
            self._skipped.discard(rank)
            if self._flushing.store(copy, partial(self._tried, copy, share)):
                del self._held[rank]
            else:
                self._lose(copy, share)
        elif not share.open:
            self._log_left_out(copy, answer.why)
            del self._held[rank]
            self._store.want(copy, False)

    def _tried(self, copy: Copy, share: QuorumShare, was_there: bool) -> None:
        with self._changed:
            share.let_go()
            self._store.want(copy, False)
            if not was_there:
                self._log_lost(copy)

    def _log_left_out(self, copy: Copy, why: str) -> None:
        self._skipped.add(copy.rank)
        self._say(copy, f"steps are left out of storage by all ranks: {why}")

    def _log_lost(self, copy: Copy) -> None:
        """Logs a lost copy; other ranks may have been asked to write theirs."""
        self._say(copy, f"a step is not whole in storage: the room of rank {copy.rank}'s copy was needed")

    def _say(self, copy: Copy, sentence: str) -> None:
        """The step is only in the log: a problem that names it would be a new one each time."""
        new = self._troubles.get(_about(copy)) != sentence
        self._troubles[_about(copy)] = sentence
        LOG.log(logging.INFO if new else logging.DEBUG, "step %d: %s", copy.step, sentence)


def _about(copy: Copy) -> str:
    return f"steps of rank {copy.rank} for storage"
