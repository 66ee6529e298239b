"""The path of one request through pools: total time, and time stalled between them.

request = Request("prefill", "decode", target_seconds=0.5)
...                                # prefill works
with request.waiting():            # the decode pool has not got its blocks yet
    ...
request.done()
"""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from holdfast.serving.paths import counts_of
from holdfast.serving.transfer import path_of


class Request:
    __slots__ = ("_began", "_path", "_stalled", "_target")

    def __init__(self, src_pool: str, dst_pool: str, target_seconds: float = 0.0) -> None:
        """`target_seconds`: slower requests count as breaches; 0: no target."""
        self._path = path_of(src_pool, dst_pool)
        self._target = target_seconds
        self._stalled = 0.0
        self._began = perf_counter()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        began = perf_counter()
        try:
            yield
        finally:
            self._stalled += perf_counter() - began

    def done(self) -> None:
        if not self._began:
            return
        seconds = perf_counter() - self._began
        self._began = 0.0
        known = counts_of(self._path)
        known.requests += 1
        known.request_seconds += seconds
        known.stall_seconds += self._stalled
        known.late += bool(self._target) and seconds > self._target
