"""Aggregates some seconds of timings into signals of the seams: per path, and shares per pool."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median

from holdfast.serving.paths import PathCounts

Signal = tuple[str, str, float]  # subject, name, value


def signals(books: Mapping[str, Sequence[PathCounts]], now: float) -> list[Signal]:
    """The signals. `now` is a perf_counter time: a transfer under way counts with its time so far."""
    found: list[Signal] = []
    for path, parts in books.items():
        durations = [one for part in parts for one in part.durations]
        stuck = [now - began for part in parts for began in list(part.under_way.values())]
        usual = median(durations) if durations else 0.0
        durations += [one for one in stuck if one > usual]
        if durations:
            found.append((path, "pool_transfer_seconds", median(durations)))
        requests = sum(part.requests for part in parts)
        spent = sum(part.request_seconds for part in parts)
        if requests:
            found.append((path, "request_latency_seconds", spent / requests))
            stalled = sum(part.stall_seconds for part in parts)
            found.append((path, "pool_stall_ratio", min(1.0, stalled / spent) if spent else 0.0))
    return found + _shares(books)


def _shares(books: Mapping[str, Sequence[PathCounts]]) -> list[Signal]:
    """The share of a pool's requests on each path, counted when they are routed."""
    sent = {path: sum(part.begun for part in parts) for path, parts in books.items()}
    by_source: defaultdict[str, list[str]] = defaultdict(list)
    for path in sent:
        by_source[path.partition("-")[0]].append(path)
    found: list[Signal] = []
    for paths in by_source.values():
        whole = sum(sent[path] for path in paths)
        if whole and len(paths) > 1:
            found += [(path, "pool_routing_share", sent[path] / whole) for path in paths]
    return found
