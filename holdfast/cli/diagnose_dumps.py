"""Flight Recorder dumps among the files of a diagnosis: known by their bytes, read whole, compared with each other."""

from pathlib import Path

from holdfast.diagnosis import collectives, dump_evidence
from holdfast.formats import flight_recorder
from holdfast.model.evidence import Evidence
from holdfast.sources import log_file

LARGEST_DUMP = 512 << 20
_HEAD_BYTES = 4096
_PICKLES = tuple(bytes((0x80, protocol)) for protocol in range(2, 6))
_WORDS = (b"entries", b"pg_config", b"pg_status", b"nccl_version", b"comm_lib_version")


def is_dump(file: Path) -> bool:
    """A pickle of any kind, so that one that tries to run code is refused by name, or JSON with a dump's words."""
    if str(file) == log_file.STDIN or not file.is_file():
        return False
    try:
        with file.open("rb") as opened:
            head = opened.read(_HEAD_BYTES)
    except OSError:
        return False  # the reader of logs says why
    if head.startswith(_PICKLES):
        return b"\n" not in head[:2]
    return head.lstrip()[:1] == b"{" and any(b'"' + word + b'"' in head for word in _WORDS)


class Dumps:
    def __init__(self) -> None:
        self._dumps: dict[int, flight_recorder.Dump] = {}
        self._files: dict[int, str] = {}

    def add(self, file: Path) -> str:
        """Why the dump could not be read, '' if it was."""
        if file.stat().st_size > LARGEST_DUMP:
            return f"{file}: larger than a Flight Recorder dump can be ({LARGEST_DUMP >> 20} MB)"
        try:
            dump = flight_recorder.parse(file.read_bytes(), file.name)
        except flight_recorder.NotADump as why:
            return f"{file}: {why}"
        except OSError as why:
            return f"{file}: {why.strerror or why}"
        self._dumps[dump.rank] = dump
        self._files[dump.rank] = str(file)
        return ""

    def evidence(self) -> list[Evidence]:
        return dump_evidence.evidence(collectives.standings([*self._dumps.values()]), self._files)
