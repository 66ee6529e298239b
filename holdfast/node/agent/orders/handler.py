"""Order handler: carries out an order once, and only if this node's own policy allows its verb."""

import logging
import os
import queue
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from holdfast.model.wire.order import Order as Order
from holdfast.model.wire.report import LONGEST_NAME, LONGEST_TEXT, OrderOutcome
from holdfast.node.agent.state import write_atomically
from holdfast.runtime import codec
from holdfast.runtime.threads import run_contained

log = logging.getLogger("holdfast.node.agent")

MOST_REMEMBERED = 256
REPEAT_SECONDS = 30.0  # interval for sending again an answer that the controller missed
STALE_SECONDS = 3_600.0  # a repeatable order with an older outcome runs again: the store may have been restored


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderAction:
    """How a verb is carried out, and whether it may be repeated after an interruption."""

    perform: Callable[[Order, float], OrderOutcome]
    repeatable: bool
    mark: Callable[[], str] = str
    """What is written down before one begins that is not repeatable."""
    settle: Callable[[Order, str], OrderOutcome | None] = lambda order, mark: None
    """What came of one that was interrupted, judged from its mark; None where no one knows."""


class _Begun(msgspec.Struct):
    begun: int  # an order that may have had an effect although no outcome is known
    mark: str = ""
    key: str = ""


class OrderHandler:
    """Takes orders from the reporter's thread, carries them out one by one on its own thread, and answers through
    `answer`."""

    def __init__(
        self,
        actions: Mapping[str, OrderAction],
        obeys: Collection[str],
        path: Path,
        clock: Callable[[], float],
        answer: Callable[[OrderOutcome], None],
    ) -> None:
        self._actions = actions
        self._obeys = obeys
        self._path = path
        self._clock = clock
        self._answer = answer
        self._waiting: queue.SimpleQueue[Order | None] = queue.SimpleQueue()
        self._accepted: set[int] = set()
        self._done: dict[int, OrderOutcome] = {}
        self._begun: dict[int, _Begun] = {}
        self._answered_at: dict[int, float] = {}
        self._lines = 0  # in the file, about
        self._load()

    def start(self) -> None:
        # A daemon thread: a suite that hangs must not hold up shutdown.
        threading.Thread(target=self._work, name="orders", daemon=True).start()

    def stop(self) -> None:
        self._waiting.put(None)

    def take(self, orders: Collection[Order]) -> None:
        """An order that arrives again gets its first outcome; a running one is ignored."""
        now = self._clock()
        for order in orders:
            if done := self._outcome_of(order, now):
                if now - self._answered_at.get(order.id, 0.0) >= REPEAT_SECONDS:
                    self._answered_at[order.id] = now
                    self._answer(done)
            elif order.id not in self._accepted:
                self._accepted.add(order.id)
                self._waiting.put(order)

    def _outcome_of(self, order: Order, now: float) -> OrderOutcome | None:
        """The stored outcome of this order: not of another order with the same number, and not one that is too old."""
        done = self._done.get(order.id)
        if done is None or done.verb != order.verb[:LONGEST_NAME] or done.key != order.key:
            return None
        action = self._actions.get(order.verb)
        reported = max(done.began, self._answered_at.get(order.id, 0.0))
        return None if action is not None and action.repeatable and now - reported > STALE_SECONDS else done

    def _work(self) -> None:
        run_contained("orders", self._work_off_one)

    def _work_off_one(self) -> bool:
        order = self._waiting.get()
        if order is not None:
            try:
                self.carry_out(order)
            finally:
                self._accepted.discard(order.id)  # the controller sends an unanswered order again
        return order is not None

    def carry_out(self, order: Order) -> None:
        now = self._clock()
        outcome = replace(self._refusal(order) or self._perform(order, now), key=order.key)
        log.info("order %d, %s: %s", order.id, order.verb, outcome.reason)
        self._done[order.id] = outcome
        self._answered_at[order.id] = self._clock()
        self._note(outcome)
        if self._lines > 4 * MOST_REMEMBERED:
            self._forget()
        self._accepted.discard(order.id)
        self._answer(outcome)

    def _refusal(self, order: Order) -> OrderOutcome | None:
        if order.verb not in self._actions:
            return refused(order, f"this agent does not know how to {order.verb[:100]!r}")
        if order.verb not in self._obeys:
            return refused(order, f"this node's own policy does not list {order.verb}")
        action = self._actions[order.verb]
        begun = self._begun.get(order.id)
        if begun is None or begun.key not in ("", order.key) or action.repeatable:
            return None
        unknown = f"the agent ended while it was carrying out {order.verb}; its outcome is not known"
        return action.settle(order, begun.mark) or refused(order, unknown)

    def _perform(self, order: Order, now: float) -> OrderOutcome:
        action = self._actions[order.verb]
        if not action.repeatable and not self._note(_Begun(order.id, action.mark(), order.key)):
            return refused(order, f"{order.verb} was not begun: {self._path} cannot be written, so it could run twice")
        try:
            return action.perform(order, now)
        except Exception as error:
            log.exception("order %d, %s", order.id, order.verb)
            return refused(order, f"{order.verb} failed: {type(error).__name__}: {error}"[:LONGEST_TEXT])

    def _note(self, record: OrderOutcome | _Begun) -> bool:
        """Store the record durably before the order begins or is answered, so that it always gets the same answer.
        Returns whether it is on disk."""
        self._lines += 1
        try:
            with self._path.open("ab") as file:
                file.write(b"\n" + msgspec.json.encode(record))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            log.warning("%s: %s; finished orders are kept in memory only", self._path, error.strerror)
            return False
        return True

    def _load(self) -> None:
        try:
            lines = self._path.read_bytes().splitlines()
        except OSError:
            return
        for line in lines[-2 * MOST_REMEMBERED :]:
            try:
                if line.startswith(b'{"begun"'):
                    begun = codec.decode(line, _Begun)
                    self._begun[begun.begun] = begun
                else:
                    outcome = codec.decode(line, OrderOutcome)
                    self._done[outcome.order] = outcome
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue  # a line torn by a crash
        self._lines = len(lines)
        if self._lines > 4 * MOST_REMEMBERED:
            self._forget()

    def _forget(self) -> None:
        self._begun = {number: begun for number, begun in self._begun.items() if number not in self._done}
        for number in list(self._done)[:-MOST_REMEMBERED]:
            del self._done[number]
            self._answered_at.pop(number, None)
        kept = [*self._begun.values(), *self._done.values()]
        self._lines = len(kept)
        try:
            write_atomically(self._path, b"\n".join(msgspec.json.encode(one) for one in kept))
        except OSError as error:
            log.warning("%s: %s; it is shortened another time", self._path, error.strerror)


def refused(order: Order, why: str) -> OrderOutcome:
    return OrderOutcome(order=order.id, verb=order.verb[:255], ok=False, health="", reason=why, suite=order.suite)
