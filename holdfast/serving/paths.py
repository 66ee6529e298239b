"""Sums and counts of every path between two pools since the last report, in memory, without waiting.

Each thread of the service writes to its own table, so that no request waits for a lock. The reporter reads all tables.
It may read a count a moment before its sum: an error of one transfer.
"""

import threading
from dataclasses import dataclass, field

LARGEST_SAMPLE = 512  # durations kept for the median, per path and table, between two reports
MOST_PATHS = 10_000


@dataclass(slots=True)
class PathCounts:
    begun: int = 0
    transfers: int = 0
    seconds: float = 0.0
    bytes: float = 0.0
    failed: int = 0
    durations: list[float] = field(default_factory=list)
    requests: int = 0
    request_seconds: float = 0.0
    stall_seconds: float = 0.0
    late: int = 0  # requests over their target
    under_way: dict[int, float] = field(default_factory=dict)  # transfers that began and have not ended


_books: list[tuple[threading.Thread, dict[str, PathCounts]]] = []
_mine = threading.local()
_adding = threading.Lock()  # each thread takes it once


def counts_of(path: str) -> PathCounts:
    """This thread's counts of a path."""
    books: dict[str, PathCounts] | None = getattr(_mine, "books", None)
    if books is None:
        books = _mine.books = {}
        with _adding:
            _books.append((threading.current_thread(), books))
    found = books.get(path)
    if found is None:
        found = PathCounts()
        if len(books) < MOST_PATHS:
            books[path] = found
    return found


def take() -> dict[str, list[PathCounts]]:
    """Takes all counts since the last call, by path. Transfers under way stay."""
    found: dict[str, list[PathCounts]] = {}
    for owner, books in list(_books):
        if not owner.is_alive():  # read once more, then removed
            _books.remove((owner, books))
        for path, one in list(books.items()):
            books[path] = PathCounts(under_way=one.under_way)
            found.setdefault(path, []).append(one)
    return found
