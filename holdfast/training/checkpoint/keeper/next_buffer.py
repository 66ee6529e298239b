"""The next buffer of a rank, offered in shared memory before it is asked for: a save then waits for no answer.

The keeper offers a buffer that the rank has mapped already, as soon as the step before is committed. From then on it is
the rank's, as if it had asked. What the rank asks for all the same takes the offer back first, so that it is never lent
twice.
"""

import struct
import threading

from holdfast.training.checkpoint.keeper.memory import Pages
from holdfast.training.checkpoint.keeper.shard_store import ShardStore

BOARD_BYTES = 64  # that a rank and its keeper share
WAITS = 1  # the byte that is 1 while the rank waits for an answer; the first is 1 while it communicates
NUMBER = struct.Struct("=q")
PLACE = 8  # of the number, which is one more than that of the buffer; 0 is none


def offered(board: Pages) -> int | None:
    """The rank's side: the number of a buffer to write into."""
    number: int = NUMBER.unpack_from(board.map, PLACE)[0]
    return number - 1 if number else None


def take(board: Pages) -> None:
    _write(board, 0)


def _write(board: Pages, number: int) -> None:
    NUMBER.pack_into(board.map, PLACE, number)


class NextBuffer:
    """The keeper's side, of one connection."""

    def __init__(self, store: ShardStore) -> None:
        self._store = store
        self._board: Pages | None = None
        self._rank, self._size = -1, 0
        self._known: frozenset[int] = frozenset()
        self._pages: Pages | None = None
        self._lock = threading.Lock()

    def begin(self, rank: int, board: Pages) -> None:
        with self._lock:
            self._rank, self._board = rank, board
            take(board)

    def sealed(self, size: int, known: frozenset[int]) -> None:
        """The rank has handed over so many bytes; the next buffer needs as much."""
        with self._lock:
            self._size, self._known = size, known
        self.offer()

    def offer(self) -> None:
        """Where a buffer is free: what is taken from no one."""
        with self._lock:
            if self._board is None or self._pages is not None or not self._size:
                return
            self._pages = self._store.lend_spare(self._rank, self._size, self._known)
            if self._pages is not None:
                _write(self._board, self._pages.number + 1)

    def taken(self, number: object) -> Pages | None:
        """The offered buffer, if it has this number: the rank has filled it."""
        with self._lock:
            if self._pages is None or self._pages.number != number:
                return None
            pages, self._pages = self._pages, None
            return pages

    def take_back(self) -> None:
        """The rank asks, loads, or is gone: until it has handed over the next one, what becomes free is not offered.
        The offer would take it from the question that waits for it."""
        with self._lock:
            pages, self._pages, self._size = self._pages, None, 0
            if self._board is not None:
                take(self._board)
        if pages is not None:
            self._store.give_up(self._rank, pages)

    def end(self) -> None:
        self.take_back()
        with self._lock:
            self._board = None
