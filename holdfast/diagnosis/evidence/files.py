"""Files of any kind -> evidence, each by the reader that knows it."""

import codecs
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path

from holdfast.diagnosis.evidence import archives
from holdfast.formats.job import metric_files
from holdfast.formats.job.log import JobLog
from holdfast.formats.job.message import of_kernel
from holdfast.formats.kernel import aer
from holdfast.formats.pci import sysfs as pcie
from holdfast.formats.pytorch import elastic_error
from holdfast.model.evidence import Evidence
from holdfast.node.sources.jobs import log_file

_AER_FILE = re.compile(r"aer_dev_(correctable|nonfatal|fatal)")
_RANK_IN_NAME = re.compile(r"(?:^|[._-])rank[._-]?(\d{1,6})(?=\D|$)", re.IGNORECASE)
_ELASTIC_FOLDER = re.compile(r"(?:.*/)?attempt_\d+/(\d{1,4})/(?:std(?:out|err)\.log|error\.json)$")
_LONGEST_NAME = 255  # of a file; an archive may hold longer ones
_HOST_IN_NAME = re.compile(
    r"(?:^|[._/-])((?:node|host|gpu|worker|compute|vm|dgx|hgx|cn|nid|n|r|ip|srv)-?(?:[a-z0-9]+-)*[a-z]*\d[a-z0-9]*)(?=[._/]|$)"
)


def read(file: Path) -> tuple[list[Evidence], str]:
    """Evidence of one file in line order, and why it could not be read to the end ('' if it was)."""
    if counters := _AER_FILE.fullmatch(file.name):
        return _counters(file, counters[1])
    if archives.is_one(file):
        return _bundle(file)
    return _log(log_file.chunks(file), file)


def _bundle(file: Path) -> tuple[list[Evidence], str]:
    """Reads every member of an archive as a file, up to the point of damage."""
    found: list[Evidence] = []
    trouble = ""
    try:
        for name, chunks in archives.members(file):
            evidence, why_no_more = _log(chunks, file / name)
            found += evidence
            trouble = trouble or why_no_more
    except log_file.Unreadable as why:
        return found, str(why)
    return found, trouble


def _log(chunks: Iterator[bytes], file: Path) -> tuple[list[Evidence], str]:
    log, trouble = JobLog(), ""
    try:
        for chunk in _as_lines(as_utf8(chunks)):
            log.feed(chunk)
    except log_file.Unreadable as why:
        trouble = str(why)
    return [_placed(one, file) for one in log.finish()], trouble


def as_utf8(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Converts UTF-16 (by its byte order mark) to UTF-8; other content stays."""
    first = next(chunks, b"")
    if not first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        yield first
        yield from chunks
        return
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    for chunk in chain([first], chunks):
        yield decoder.decode(chunk).encode("utf-8", "replace")


def _as_lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Turns a launcher's error file into its traceback and a metric file into step lines; other content stays."""
    first = next(chunks, b"")
    if metric_files.is_one(first):
        yield from metric_files.as_text(chain([first], chunks))
        return
    if elastic_error.is_one(first):
        with suppress(elastic_error.NotAnErrorFile):
            first = elastic_error.as_text(first)
    yield first
    yield from chunks


def _counters(file: Path, severity: str) -> tuple[list[Evidence], str]:
    text, trouble = b"", ""
    try:
        for chunk in log_file.chunks(file):
            text += chunk[: log_file.CHUNK_BYTES - len(text)]
    except log_file.Unreadable as why:
        trouble = str(why)
    events = aer.from_sysfs(text.decode("utf-8", "replace"), _device_of(file), severity)
    return [replace(of_kernel(event), file=str(file)) for event in events], trouble


def _placed(one: Evidence, file: Path) -> Evidence:
    """Adds the file name to evidence, and rank and host from the name if the lines do not have them."""
    rank, host = one.rank, one.host
    if rank is None:
        reported = _RANK_IN_NAME.search(file.name) or _ELASTIC_FOLDER.match(file.as_posix())
        rank = int(reported[1]) if reported else None
    if not host:
        host = next(_hosts_in(file), "")
    return replace(one, file=str(file), rank=rank, host=host)


def _hosts_in(file: Path) -> Iterator[str]:
    """Hosts among the folder names. A folder belongs to a host only if it has exactly its name: run-r6 is a run."""
    name, folder = (one[:_LONGEST_NAME].lower() for one in (file.name, file.parent.name))
    for part in (name, folder):
        for match in _HOST_IN_NAME.finditer(part):
            if not match[1].startswith("rank") and (part == name or match[1] == folder):
                yield match[1]


def _device_of(counter_file: Path) -> str:
    """sysfs names the device in the path; through /sys/class it may be a link to there."""
    for path in (counter_file.resolve(), counter_file):
        for part in reversed(path.parts):
            if address := pcie.address(part):
                return address
    parts = counter_file.parts
    return parts[-3] if len(parts) > 2 and parts[-2] == "device" else counter_file.parent.name
