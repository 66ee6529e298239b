"""A kernel log as a stream of bytes -> events. Lines without a known word are skipped without being decoded."""

from collections.abc import Callable
from dataclasses import replace

from holdfast.catalog import kernel_messages
from holdfast.formats import known_message, lspci, pcie_link, sxid, xid
from holdfast.formats.aer import AerText
from holdfast.formats.folding import is_state
from holdfast.formats.gpu_lost import GpuLost
from holdfast.formats.kernel_line import MAX_LINE_BYTES, Line, decode
from holdfast.model.signal import Event

Recogniser = Callable[[Line], Event | None]

_JOURNAL_BYTES = b'"MESSAGE":['  # a message that the journal could not print as text
_LSPCI_BLOCK = b"\tControl: I/O"  # stands a few lines below the header of every device
_LSPCI_REGISTERS = (b"\tLnkCap:", b"\tLnkSta:", b"\tCESta:", b"\tUESta:", b"\tUESvrt:")
_AER_WORDS = (b"PCIe Bus Error", b"AER: ", b"error status/mask")
_SPREAD_OVER_LINES = frozenset({*_AER_WORDS, *_LSPCI_REGISTERS})
_LSPCI_HEADER_LINES = 8
_LONGEST_PREFIX = 100


class KernelLog:
    """Feed it chunks of any size; it gives the events of the lines they complete. Its memory does not grow."""

    def __init__(self) -> None:
        self._carry = b""
        self._skipping = False  # inside a line too long to keep
        self._lines = 0
        self._cascade = xid.Cascade()
        self._aer = AerText()
        self._lspci = lspci.Lspci()
        self._gpu_lost = GpuLost()
        self._last_header = b""
        self._by_keyword = self._recognisers()

    @property
    def lines(self) -> int:
        """Complete lines seen so far."""
        return self._lines

    def feed(self, chunk: bytes) -> list[Event]:
        if self._skipping:
            _, newline, chunk = chunk.partition(b"\n")
            if not newline:
                return []
            self._skipping = False
            self._lines += 1
        block, newline, rest = (self._carry + chunk).rpartition(b"\n")
        events = self._scan(block + newline) if newline else []
        self._carry = rest
        if len(rest) > MAX_LINE_BYTES:
            events += self._cut_long_line(rest)
        return events

    def finish(self) -> list[Event]:
        """What an unfinished last line and a half-told incident still hold."""
        last = self._carry
        self._carry = b""
        return (self._scan(last + b"\n") if last else []) + self.settle()

    def settle(self) -> list[Event]:
        """The event of an incident whose later lines have not come (yet)."""
        waiting = self._aer.finish()
        return [waiting] if waiting else []

    def _cut_long_line(self, start: bytes) -> list[Event]:
        events = self._scan(start[:MAX_LINE_BYTES] + b"\n")
        self._lines -= 1  # it is counted when its end is found
        self._carry, self._skipping = b"", True
        return events

    def _scan(self, block: bytes) -> list[Event]:
        """The events of a block of whole lines; a line that repeats another of the block only raises its count."""
        number, position = self._lines + 1, 0
        found: list[Event] = []
        repeats = _Repeats()
        for start, keywords in sorted(self._hits(block).items()):
            number += block.count(b"\n", position, start)
            position = start
            raw = block[start : block.find(b"\n", start)]
            if keywords == [_LSPCI_BLOCK]:
                self._lspci.start(_header_before(block, start) or self._last_header)
                continue
            if repeats.is_last(raw) or repeats.is_known((line := decode(raw, number)).text):
                continue
            events = self._read(line, keywords)
            if len(events) == 1 and not is_state(events[0]) and _SPREAD_OVER_LINES.isdisjoint(keywords):
                repeats.remember(line.text, len(found))
            found += events
        self._lines += block.count(b"\n")
        self._last_header = _header_before(block, len(block)) or self._last_header
        return repeats.counted(found)

    def _hits(self, block: bytes) -> dict[int, list[bytes]]:
        """Where the lines begin that hold a known word, and which."""
        hits: dict[int, list[bytes]] = {}
        in_lspci = self._lspci.reading or _LSPCI_BLOCK in block
        for keyword in self._by_keyword:
            if keyword in _LSPCI_REGISTERS and not in_lspci:
                continue
            at = block.find(keyword)
            while at >= 0:
                hits.setdefault(block.rfind(b"\n", 0, at) + 1, []).append(keyword)
                at = block.find(keyword, block.find(b"\n", at))
        return hits

    def _read(self, line: Line, keywords: list[bytes]) -> list[Event]:
        if _JOURNAL_BYTES in keywords:
            raw = line.text.encode()
            keywords = [keyword for keyword in self._by_keyword if keyword in raw]
        recognisers = dict.fromkeys(recogniser for keyword in keywords for recogniser in self._by_keyword[keyword])
        parts = [line._replace(text=part) for part in line.text.split("\n")] if "\n" in line.text else [line]
        return [event for part in parts for recogniser in recognisers if (event := recogniser(part))]

    def _xid(self, line: Line) -> Event | None:
        event = xid.find(line)
        return self._cascade.mark(event, line) if event else None

    def _recognisers(self) -> dict[bytes, tuple[Recogniser, ...]]:
        """Keyword -> who reads the lines that hold it."""
        found: dict[bytes, list[Recogniser]] = {
            b"NVRM: ": [self._xid, self._gpu_lost.find],
            b"fallen off the bus": [self._gpu_lost.find],
            b"GPU is lost": [self._gpu_lost.find],
            b"SXid ": [sxid.find],
            b"detected NVSwitch": [sxid.find],
            b"available PCIe bandwidth": [pcie_link.find],
            _JOURNAL_BYTES: [],
            _LSPCI_BLOCK: [],
            **{word: [self._aer.feed] for word in _AER_WORDS},
            **{register: [self._lspci.feed] for register in _LSPCI_REGISTERS},
        }
        for group in kernel_messages.groups():
            recogniser = _group_recogniser(group)
            for keyword in group.keywords:
                found.setdefault(keyword.encode(), []).append(recogniser)
        return {keyword: tuple(recognisers) for keyword, recognisers in found.items()}


class _Repeats:
    """Messages of a block that were read before: a storm costs a comparison a line."""

    def __init__(self) -> None:
        self._times: dict[str, list[int]] = {}  # message -> [place of its event, times it came]
        self._last: list[int] | None = None
        self._ending = b""

    def is_last(self, raw: bytes) -> bool:
        """The message remembered last, again behind a prefix of usual length."""
        if self._last is None or len(raw) - len(self._ending) > _LONGEST_PREFIX or not raw.endswith(self._ending):
            return False
        self._last[1] += 1
        return True

    def is_known(self, message: str) -> bool:
        times = self._times.get(message)
        if times is not None:
            times[1] += 1
        return times is not None

    def remember(self, message: str, place: int) -> None:
        self._last = self._times[message] = [place, 1]
        self._ending = message.encode()

    def counted(self, events: list[Event]) -> list[Event]:
        for place, times in self._times.values():
            if times > 1:
                events[place] = replace(events[place], count=events[place].count * times)
        return events


def _group_recogniser(group: kernel_messages.Group) -> Recogniser:
    return lambda line: known_message.find(group, line)


def _header_before(block: bytes, end: int) -> bytes:
    """The nearest lspci device header above, or b''."""
    for _ in range(_LSPCI_HEADER_LINES):
        start = block.rfind(b"\n", 0, max(end - 1, 0)) + 1
        if lspci.HEADER.match(block, start, end):
            return block[start:end].rstrip(b"\n")
        if start == 0:
            break
        end = start
    return b""
