"""A bundle of `holdfast capture`: the redacted readings of all sources of a node, and raw output.

Only `readings.jsonl` determines verdicts: replayed through the agent it gives the verdicts of the live node. `raw/`
holds tool output and NVML answers, for people and for new readers.
"""

import io
import tarfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from holdfast.model.refusal import Refusal
from holdfast.model.settings import Settings
from holdfast.model.signal import Event, Reading, Signal
from holdfast.node.agent.assemble import questions
from holdfast.node.agent.census import Census
from holdfast.node.agent.node import CheckChange, Node
from holdfast.node.agent.once import fresh_seconds
from holdfast.node.capture.judge import FileVerdict
from holdfast.runtime import archive as archive_file
from holdfast.runtime import codec

HEAD, READINGS, CENSUS = "bundle.json", "readings.jsonl", "census.json"
PARTS = (HEAD, READINGS, CENSUS)
FORMAT = 1
MOST_BYTES = 64 << 20
MOST_MEMBERS = 20_000
MOST_PASSED = 1 << 30


class RecordedReading(msgspec.Struct, kw_only=True):
    """One source and its reading."""

    source: str
    at: float
    every: float = 60.0
    deadline: float = 10.0
    carries: list[str] = []
    signals: list[tuple[str, str, float | str]] = []
    absent: list[tuple[str, str, str]] = []
    present: list[str] = []
    events: list[Event] = []
    blind: str = ""

    def reading(self, now: float, events: bool = True) -> Reading:
        """The reading as if read at `now`; events keep their age."""
        shift = now - self.at
        dated = [replace(event, at=event.at + shift) for event in self.events] if events else []
        return Reading(
            source=self.source,
            at=now,
            signals=[Signal(*signal) for signal in self.signals],
            absent={(subject, name): why for subject, name, why in self.absent},
            present=list(self.present),
            events=dated,
            blind=self.blind,
        )


class RecordedCensus(msgspec.Struct, kw_only=True):
    """The node's manifest."""

    lacks: dict[str, str] = {}
    expect: dict[str, dict[str, float | str]] = {}


@dataclass(slots=True)
class Bundle:
    node: str
    captured_at: float
    readings: list[RecordedReading] = field(default_factory=list)
    census: RecordedCensus = field(default_factory=RecordedCensus)
    head: dict[str, Any] = field(default_factory=dict)


def is_bundle(path: Path) -> bool:
    if not path.is_file():
        return False
    try:
        with archive_file.opened(path, "r|*") as archive:
            first = archive_file.members(archive, 4, MOST_PASSED, files_too=True)
            return any(member.name == HEAD for member in first)
    except archive_file.DAMAGE:
        return False


def load(path: Path) -> Bundle:
    try:
        with archive_file.opened(path, "r|*") as archive:
            found = _parts(archive)
    except archive_file.DAMAGE as error:
        raise Refusal(f"{path}: the bundle cannot be read: {error}") from None
    return parse(found[HEAD], found[READINGS], found[CENSUS], str(path))


def parse(head_text: bytes, readings_text: bytes, census_text: bytes, where: str) -> Bundle:
    """Parses a bundle of unknown origin: any content gives a bundle or a Refusal."""
    try:
        head = codec.decode(head_text, dict[str, Any])
        if head.get("format") != FORMAT:
            raise Refusal(f"{where}: a bundle of format {head.get('format')!r}; this version reads format {FORMAT}")
        readings = [codec.decode(line, RecordedReading) for line in readings_text.splitlines() if line.strip()]
        census = codec.decode(census_text, RecordedCensus)
        return Bundle(str(head["node"]), float(head["captured_at"]), readings, census, head)
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        raise Refusal(f"{where}: the bundle cannot be read: {error}") from None


def _parts(archive: tarfile.TarFile) -> dict[str, bytes]:
    """Our own three files, in any order."""
    found: dict[str, bytes] = {}
    for member in archive_file.members(archive, MOST_MEMBERS, MOST_PASSED, files_too=True):
        if member.isfile() and member.name in PARTS:
            found.setdefault(member.name, _read(archive, member))
        if len(found) == len(PARTS):
            return found
    raise ValueError(f"it has no {', no '.join(name for name in PARTS if name not in found)}")


def _read(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    data = file.read(MOST_BYTES + 1) if file else b""
    if len(data) > MOST_BYTES:
        raise ValueError(f"{member.name} is larger than {MOST_BYTES >> 20} MB")
    return data


def judge(bundle: Bundle, settings: Settings, stage: str = "passive") -> FileVerdict:
    """The verdicts of the live node at the time of the bundle."""
    node = _node(bundle, settings, stage)
    now = bundle.captured_at
    for one in bundle.readings:
        node.take(one.reading(now))
    node.judge(now)
    return FileVerdict(bundle.node, [str(bundle.head.get("tool", "holdfast capture"))], dict(node.verdicts))


def replay(
    bundle: Bundle, settings: Settings, seconds: float, stage: str = "passive"
) -> tuple[Node, list[CheckChange]]:
    """Runs the agent on a bundle in virtual time: every source is read at its interval and returns its recorded
    reading."""
    node = _node(bundle, settings, stage)
    due = {one.source: bundle.captured_at for one in bundle.readings}
    first = dict.fromkeys(due, True)
    changes: list[CheckChange] = []
    for passed in range(max(1, round(seconds)) + 1):
        now = bundle.captured_at + passed
        for one in bundle.readings:
            if due[one.source] <= now:
                node.take(one.reading(now, events=first[one.source]))
                due[one.source], first[one.source] = now + max(1.0, one.every), False
        changes += node.judge(now)
    return node, changes


def _node(bundle: Bundle, settings: Settings, stage: str) -> Node:
    census = Census(
        node=bundle.node,
        manifest_lacks=bundle.census.lacks,
        expect=bundle.census.expect,
    )
    node = Node(census, questions(replace(settings, node=bundle.node), stage))
    timeout = sum(sorted(one.deadline for one in bundle.readings)[-3:])
    for one in bundle.readings:
        node.history.promise(one.source, one.carries)
        node.history.expect_freshness(one.source, fresh_seconds(one.every, one.deadline) + timeout)
    return node


def write(path: Path, files: dict[str, bytes]) -> int:
    """Writes everything into one archive, the head first. Returns its size."""
    with tarfile.open(path, "w:gz") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(data), 0o600
            archive.addfile(member, io.BytesIO(data))
    path.chmod(0o600)
    return path.stat().st_size
