"""Offers a rank its next buffer in shared memory before the rank asks, so that a save waits for no answer.

The keeper offers a buffer that the rank has already mapped, as soon as the previous step is committed. From then on the
buffer belongs to the rank, as if it had asked. If the rank asks nevertheless, the offer is withdrawn first, so that no
buffer is lent twice.
"""

import struct
import threading

from holdfast.training.checkpoint.keeper.memory import Pages
from holdfast.training.checkpoint.keeper.shard_store import ShardStore

BOARD_BYTES = 64  # memory that a rank and its keeper share
WAITS = 1  # this byte is 1 while the rank waits for an answer; the first byte is 1 while it communicates
NUMBER = struct.Struct("=q")
PLACE = 8  # size of the number, which is one more than that of the buffer; 0: none


def offered(board: Pages) -> int | None:
    """The rank's side: the number of a buffer to write into."""
    number: int = NUMBER.unpack_from(board.map, PLACE)[0]
    return number - 1 if number else None


def take(board: Pages) -> None:
    _write(board, 0)


def _write(board: Pages, number: int) -> None:
    NUMBER.pack_into(board.map, PLACE, number)


class NextBuffer:
    """The keeper's side of one connection."""

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
        """Called when the rank has handed over this many bytes; the next buffer needs the same size."""
        with self._lock:
            self._size, self._known = size, known
        self.offer()

    def offer(self) -> None:
        """Offers a buffer if one is free; takes none from other ranks."""
        with self._lock:
            if self._board is None or self._pages is not None or not self._size:
                return
            self._pages = self._store.lend_spare(self._rank, self._size, self._known)
            if self._pages is not None:
                _write(self._board, self._pages.number + 1)

    def taken(self, number: object) -> Pages | None:
        """The offered buffer, if it has this number, which means that the rank has filled it."""
        with self._lock:
            if self._pages is None or self._pages.number != number:
                return None
            pages, self._pages = self._pages, None
            return pages

    def take_back(self) -> None:
        """Withdraws the offer because the rank asks, loads, or is gone.

        Until the rank has handed over its next buffer, free buffers are not offered: an offer would take them from the
        question that waits.
        """
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
