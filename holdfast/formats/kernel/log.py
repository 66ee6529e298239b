"""Parses a kernel log from a stream of bytes into events. Lines without a known keyword are not decoded."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial

from holdfast.catalog import kernel_messages
from holdfast.catalog.xid import find as xid_fact
from holdfast.formats.kernel import firmware_error, known_message, pcie_link, sxid, xid
from holdfast.formats.kernel.aer import AerText
from holdfast.formats.kernel.folding import ends_a_fault, state_of
from holdfast.formats.kernel.gpu_lost import GpuLost
from holdfast.formats.kernel.line import MAX_LINE_BYTES, KernelLine, decode, printable
from holdfast.formats.kernel.quoting import Mismatches, own_text
from holdfast.formats.lines.repeats import Repeats
from holdfast.formats.pci import lspci
from holdfast.model.signal import Event

Recogniser = Callable[[KernelLine], Event | None]

_JOURNAL_BYTES = b'"MESSAGE":['  # a message that the journal could not print as text
_LSPCI_BLOCK = b"\tControl: I/O"  # lspci: a few lines below the header of every device
_LSPCI_REGISTERS = (b"\tLnkCap:", b"\tLnkSta:", b"\tCESta:", b"\tUESta:", b"\tUESvrt:")
_AER_WORDS = (b"PCIe Bus Error", b"AER: ", b"error status/mask")
_SPREAD_OVER_LINES = frozenset({*_AER_WORDS, *_LSPCI_REGISTERS, *firmware_error.KEYWORDS})
_LSPCI_HEADER_LINES = 8
_SEGFAULT = "segfault"
_NAMES_A_PROCESS = re.compile(r"\b(?:name=|comm[ =:]|process |pid[ =:])", re.IGNORECASE)
_NAMES_A_PROGRAM = re.compile(
    r".{0,15}(?:\[\d{1,10}\]| ?\(\d{1,10}\)(?!\d)|/\d{1,10}:| invoked oom-killer|: page allocation |: vmalloc|"
    r": attempt to access| uses obsolete | forgot to set |: Corrupted page table )",
    re.DOTALL,
)
"""Messages that begin with the name of a process, up to 15 bytes chosen by its owner, and may contain a file name.

The rest of such a line is never a message of a driver.
"""
_SHIPPER = re.compile(
    r"\s+|[\w./-]{1,255}(?: \| |: )|\[[\w,. -]{1,40}\](?:<\w{1,16}>)?:? ?|\(\w{1,64} pid=\d{1,10}[^)]{0,64}\) ?"
)
_MOST_SHIPPERS = 3
_KERNEL_TAG = re.compile(r"(?:^|[\s:])kernel: (?:\[ *[\d.]{1,20}\] )?")


class KernelLog:
    """Takes chunks of any size and returns the events of the lines they complete. Its memory is bounded."""

    def __init__(self, *, shipped: bool = False) -> None:
        """`shipped`: other loggers may have added a prefix to a line.

        On a node this is off: there the position of a text in its line distinguishes the kernel's words from those of a
        program that the kernel quotes.
        """
        self._carry = b""
        self._shipped = shipped
        self._skipping = False  # inside a line that is too long to keep
        self._lines = 0
        self._cascade = xid.Cascade()
        self._aer = AerText()
        self._firmware = firmware_error.FirmwareErrors()
        self._lspci = lspci.Lspci()
        self._gpu_lost = GpuLost(shipped=shipped)
        self._mismatches = Mismatches()
        self._last_header = b""
        self._of_programs: set[Recogniser] = set()
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
        """Returns the events of an unfinished last line and of an incomplete incident."""
        last = self._carry
        self._carry = b""
        events = self._scan(last + b"\n") if last else []
        return events + self._firmware.finish() + self.settle()

    def settle(self) -> list[Event]:
        """Returns the event of an incident whose later lines have not come."""
        waiting = self._aer.finish()
        return [*self._firmware.settle(), *([waiting] if waiting else [])]

    def _cut_long_line(self, start: bytes) -> list[Event]:
        events = self._scan(start[:MAX_LINE_BYTES] + b"\n")
        self._lines -= 1  # counted when its end is found
        self._carry, self._skipping = b"", True
        return events

    @property
    def keywords(self) -> tuple[bytes, ...]:
        """Lines without any of these cannot produce an event."""
        return tuple(self._by_keyword)

    def scan(self, block: bytes, hits: dict[int, list[bytes]], lines: int) -> list[Event]:
        """Returns the events of these complete lines, whose keywords the caller has already found."""
        if not self._lspci.reading and not any(_LSPCI_BLOCK in words for words in hits.values()):
            wanted = {start: [word for word in words if word not in _LSPCI_REGISTERS] for start, words in hits.items()}
            hits = {start: words for start, words in wanted.items() if words}
        if not hits:
            self._lines += lines
            self._last_header = _header_before(block, len(block)) or self._last_header
            return []
        return self._scan(block, hits)

    def _scan(self, block: bytes, hits: dict[int, list[bytes]] | None = None) -> list[Event]:
        """Returns the events of a block of complete lines; a line that repeats another of the block is not parsed
        again."""
        number, position = self._lines + 1, 0
        found: list[Event] = []
        repeats = Repeats()
        for start, keywords in sorted((self._hits(block) if hits is None else hits).items()):
            number += block.count(b"\n", position, start)
            position = start
            raw = block[start : block.find(b"\n", start)]
            if keywords == [_LSPCI_BLOCK]:
                self._lspci.start(_header_before(block, start) or self._last_header)
                continue
            if repeats.is_last(raw, number):
                continue
            line = decode(raw, number)
            if line.foreign or repeats.is_known(line, raw):
                continue
            self._remind_cascade(repeats)
            events = self._read(line, keywords)
            if any(map(ends_a_fault, events)):
                repeats.forget()
            elif len(events) == 1 and _says_the_same_again(events[0]) and _SPREAD_OVER_LINES.isdisjoint(keywords):
                repeats.remember(line.text, events[0], raw)
            found += events
        self._remind_cascade(repeats)
        self._lines += block.count(b"\n")
        self._last_header = _header_before(block, len(block)) or self._last_header
        return sorted([*found, *repeats.events()], key=lambda event: event.line)

    def _remind_cascade(self, repeats: Repeats) -> None:
        """Records a repeated Xid: a 45 soon after it is a consequence, as after the first one."""
        for event, line in repeats.news():
            if event.kind == "xid":
                self._cascade.mark(event, line)

    def _hits(self, block: bytes) -> dict[int, list[bytes]]:
        """Start of each line with a known keyword, and which keywords it has."""
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

    def _read(self, line: KernelLine, keywords: list[bytes]) -> list[Event]:
        if _JOURNAL_BYTES in keywords:
            raw = line.text.encode()
            keywords = [keyword for keyword in self._by_keyword if keyword in raw]
        recognisers = dict.fromkeys(recogniser for keyword in keywords for recogniser in self._by_keyword[keyword])
        if _NAMES_A_PROGRAM.match(line.text):
            recognisers = {one: None for one in recognisers if one in self._of_programs}
        if line.sequence is None and self._mismatches.covers(line.text, line.number):
            return []
        own = own_text(line.text)
        quotes = len(own) < len(line.text)
        found: list[Event] = []
        for part in _parts(line._replace(text=own) if quotes else line):
            for text in unshipped(part.text) if self._shipped else (part.text,):
                events = [event for one in recognisers if (event := one(part._replace(text=text)))]
                if events:
                    found += (
                        [replace(event, text=printable(line.text.strip())) for event in events] if quotes else events
                    )
                    break
        return found

    def _xid(self, line: KernelLine) -> Event | None:
        """Parses an Xid. On a node it needs an address: "NVRM: Xid 79" may be the name of a process, which its owner
        chooses."""
        event = xid.find(line)
        if event is None or not (event.device or self._shipped):
            return None
        return self._cascade.mark(event, line)

    def _recognisers(self) -> dict[bytes, tuple[Recogniser, ...]]:
        """Keyword -> parser of the lines that contain it."""
        found: dict[bytes, list[Recogniser]] = {
            b"NVRM: ": [self._xid, self._gpu_lost.find],
            b"fallen off the bus": [self._gpu_lost.find],
            b"GPU is lost": [self._gpu_lost.find],
            b"nvidia: probe of ": [self._gpu_lost.find],
            b"probe with driver nvidia ": [self._gpu_lost.find],
            b"SXid ": [sxid.find],
            b"detected NVSwitch": [sxid.find],
            b"available PCIe bandwidth": [pcie_link.find],
            _JOURNAL_BYTES: [],
            _LSPCI_BLOCK: [],
            **{word: [self._aer.feed] for word in _AER_WORDS},
            **{word: [self._firmware.feed] for word in firmware_error.KEYWORDS},
            **{register: [self._lspci.feed] for register in _LSPCI_REGISTERS},
        }
        for kind, keywords, recogniser in _group_recognisers():
            if kind == _SEGFAULT:
                self._of_programs.add(recogniser)
            for keyword in keywords:
                found.setdefault(keyword, []).append(recogniser)
        return {keyword: tuple(recognisers) for keyword, recognisers in found.items()}


def _parts(line: KernelLine) -> list[KernelLine]:
    """The lines of a record that begin with the name of the driver, as the first one does.

    After the name of a process its owner chooses the rest, including line ends.
    """
    if "\n" not in line.text:
        return [line]
    first, *others = line.text.split("\n")
    if _NAMES_A_PROCESS.search(first):
        return [line._replace(text=first)]
    driver = first.split(" ", 1)[0]
    return [line._replace(text=part) for part in (first, *others) if part.startswith(driver)]


def unshipped(text: str) -> Iterator[str]:
    """The text, and its remainders without the names of up to three loggers at its front."""
    yield text
    if (tag := _KERNEL_TAG.search(text)) and not _NAMES_A_PROGRAM.match(text, tag.end()):
        yield text[tag.end() :]
    start = 0
    for _ in range(_MOST_SHIPPERS):
        name = _SHIPPER.match(text, start)
        if name is None or _NAMES_A_PROGRAM.match(text, name.end()):
            return
        start = name.end()
        yield text[start:]


def _says_the_same_again(event: Event) -> bool:
    """Whether a repetition of the line would mean the same: not if it reports a state, or follows from another line."""
    cascade = event.kind == "xid" and isinstance(event.code, int) and xid_fact(event.code).cascade
    return state_of(event) is None and not cascade


@cache
def _group_recognisers() -> list[tuple[str, tuple[bytes, ...], Recogniser]]:
    """Kind, keywords and parser of every group of the catalog; they have no state, so all logs share them."""
    return [
        (group.kind, tuple(map(str.encode, group.keywords)), partial(known_message.find, group))
        for group in kernel_messages.groups()
    ]


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
