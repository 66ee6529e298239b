"""Recognises repeated messages in a block of lines: a storm costs one comparison per line."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from holdfast.formats.kernel.line import KernelLine, decode
from holdfast.model.event_log import FOLD_SECONDS
from holdfast.model.signal import Event, Value

_LONGEST_PREFIX = 100
_DIGITS = bytes.maketrans(b"123456789", b"000000000")


@dataclass(slots=True)
class _Repeated:
    """An event, and the raw lines that repeat it."""

    event: Event
    again: list[tuple[bytes, int]] = field(default_factory=list)

    def last(self) -> KernelLine:
        return decode(*self.again[-1])


class Repeats:
    def __init__(self) -> None:
        self._all: list[_Repeated] = []
        self._by_message: dict[str, _Repeated] = {}
        self._last: _Repeated | None = None
        self._ending = self._head = b""
        self._new: dict[int, _Repeated] = {}  # by identity: repeated since the last `news`

    def is_last(self, raw: bytes, number: int) -> bool:
        """Whether the line repeats the last message, after a prefix of usual length."""
        if self._last is None or len(raw) - len(self._ending) > _LONGEST_PREFIX or not raw.endswith(self._ending):
            return False
        if _shape(raw, self._ending) != self._head:  # another writer printed the same text
            return False
        self._add(self._last, raw, number)
        return True

    def is_known(self, line: KernelLine, raw: bytes) -> bool:
        repeated = self._by_message.get(line.text)
        if repeated is not None:
            self._add(repeated, raw, line.number)
        return repeated is not None

    def _add(self, repeated: _Repeated, raw: bytes, number: int) -> None:
        repeated.again.append((raw, number))
        self._new[id(repeated)] = repeated

    def remember(self, message: str, event: Event, raw: bytes) -> None:
        self._last = self._by_message[message] = _Repeated(event)
        self._all.append(self._last)
        self._ending = message.encode()
        self._head = _shape(raw, self._ending)

    def forget(self) -> None:
        """Forgets earlier lines: repeats of them are reported as new."""
        self._by_message, self._last = {}, None

    def news(self) -> Iterator[tuple[Event, KernelLine]]:
        """Events repeated since the last call, each with its last line, in order."""
        for repeated in sorted(self._new.values(), key=lambda one: one.again[-1][1]):
            yield repeated.event, repeated.last()
        self._new = {}

    def events(self) -> Iterator[Event]:
        """The repeats as events: few of them even for a storm, with times accurate to an hour."""
        for repeated in self._all:
            if repeated.again:
                yield from _reported(repeated.event, repeated.again)


def _shape(raw: bytes, ending: bytes) -> bytes:
    """The text before a message with its digits masked. Its first two bytes mark a record of a program."""
    return raw[:2] + raw[2 : len(raw) - len(ending)].translate(_DIGITS)


def _reported(event: Event, lines: list[tuple[bytes, int]]) -> Iterator[Event]:
    """The repeats as two events if they lie within an hour, so that their count and end are known; a longer time is
    halved."""
    first, last = decode(*lines[0]), decode(*lines[-1])
    if len(lines) > 2 and _time(last) - _time(first) > FOLD_SECONDS:
        half = len(lines) // 2
        yield from _reported(event, lines[:half])
        yield from _reported(event, lines[half:])
        return
    if len(lines) > 1:
        yield _at(event, first, len(lines) - 1)
    yield _at(event, last, 1)


def _time(line: KernelLine) -> float:
    return line.at or line.since_boot or 0.0


def _at(event: Event, line: KernelLine, times: int) -> Event:
    detail: dict[str, Value] = dict(event.detail)
    if "since_boot_seconds" in detail and line.since_boot is not None:
        detail["since_boot_seconds"] = line.since_boot
    return replace(event, at=line.at, line=line.number, count=event.count * times, detail=detail)
