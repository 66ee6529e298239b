"""One transfer between two pools, timed: `with Transfer("prefill", "decode", bytes): ...`."""

from time import perf_counter
from types import TracebackType

from holdfast.serving.paths import LARGEST_SAMPLE, counts_of


def path_of(source: str, target: str) -> str:
    return f"path/{source.removeprefix('pool/')}-{target.removeprefix('pool/')}"


class Transfer:
    """A transfer of `size` bytes from one pool to another. It begins and ends in one thread, or ends with `done()`."""

    __slots__ = ("_began", "_path", "_size", "_under_way")

    def __init__(self, src_pool: str, dst_pool: str, size: int) -> None:
        self._path = path_of(src_pool, dst_pool)
        self._under_way = counts_of(self._path).under_way
        self._size = size
        self._began = 0.0

    def __enter__(self) -> "Transfer":
        self.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.done(failed=kind is not None)

    def __del__(self) -> None:
        """Ends a transfer that was dropped without `done()`."""
        self._under_way.pop(id(self), None)

    def begin(self) -> None:
        self._began = perf_counter()
        counts_of(self._path).begun += 1
        self._under_way[id(self)] = self._began

    def done(self, *, failed: bool = False) -> None:
        if not self._began:
            return
        seconds = perf_counter() - self._began
        self._under_way.pop(id(self), None)
        self._began = 0.0
        known = counts_of(self._path)  # looked up again: the reporter may have replaced the counts since the beginning
        if failed:
            known.failed += 1
            return
        known.transfers += 1
        known.seconds += seconds
        known.bytes += self._size
        if len(known.durations) < LARGEST_SAMPLE:
            known.durations.append(seconds)
