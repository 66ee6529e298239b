"""Flight Recorder dumps among the files of a diagnosis: known by their bytes, read whole, compared with each other."""

from pathlib import Path

from holdfast.diagnosis.evidence import flight_recorder as dump_evidence
from holdfast.diagnosis.rules import collectives
from holdfast.formats.pytorch import flight_recorder
from holdfast.model.evidence import Evidence
from holdfast.node.sources.jobs import dump_files, log_file

_HEAD_BYTES = 4096
_PICKLES = tuple(bytes((0x80, protocol)) for protocol in range(2, 6))
_WORDS = (b"entries", b"pg_config", b"pg_status", b"nccl_version", b"comm_lib_version")
_Job = dict[int, tuple[flight_recorder.Dump, str]]  # by rank, with the file it is in


def is_dump(file: Path) -> bool:
    """Whether the file is a dump: any pickle (one that would run code is refused later, by name), or JSON with the
    keys of a dump."""
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
        self._files: list[Path] = []

    def add(self, file: Path) -> None:
        self._files.append(file)

    def evidence(self) -> tuple[list[Evidence], list[str]]:
        """(evidence from all dumps together, why some could not be read)."""
        read: list[tuple[Path, flight_recorder.Dump]] = []
        troubles = []
        for file, found in dump_files.read_all(self._files):
            if isinstance(found, str):
                troubles.append(found)
            else:
                read.append((file, found))
        return [one for job in _jobs(read) for one in _of_job(job)], troubles


def _jobs(read: list[tuple[Path, flight_recorder.Dump]]) -> list[_Job]:
    """Groups the dumps by job. The hosts of one job may have a folder each; if a rank appears twice, every folder is
    a job."""
    together = {dump.rank: (dump, str(file)) for file, dump in read}
    if len(together) == len(read):
        return [together] if together else []
    jobs: dict[Path, _Job] = {}
    for file, dump in read:
        jobs.setdefault(file.parent, {})[dump.rank] = (dump, str(file))
    return [*jobs.values()]


def _of_job(dumps: _Job) -> list[Evidence]:
    collective_states = collectives.collective_states([dump for dump, _ in dumps.values()])
    return dump_evidence.evidence(collective_states, {rank: file for rank, (_, file) in dumps.items()})
