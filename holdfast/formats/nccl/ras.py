"""Output of NCCL's RAS service (2.24 and later) about a live job, as text or, from 2.28.7, JSON."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

_PROCESS = re.compile(r"Process (\d{1,10}) on node (\S{1,255}) managing GPUs? ([\d,]{1,100})")
_RANK = re.compile(r"Rank (\d{1,7}) -- GPU \S{1,20} managed by process (\d{1,10}) on node (\S{1,255})")
_LAUNCHED = re.compile(r"ranks? ha(?:s|ve) launched up to operation (\d{1,18})")
_HEADING = re.compile(r"(?:#\S+ \(\w+\) )?(DEAD|INCOMPLETE|MISMATCH)\b")
_MOST = 100_000


class Absent(NamedTuple):
    """A process that RAS cannot reach."""

    host: str
    pid: int
    rank: int | None
    dead: bool


class Behind(NamedTuple):
    """A rank that has launched fewer collectives than most."""

    rank: int
    host: str
    launched: int
    usual: int


class Status(NamedTuple):
    absent: tuple[Absent, ...] = ()
    behind: tuple[Behind, ...] = ()


class NotRas(ValueError):
    """The text is not output of RAS; the message says why."""


def parse(answer: str) -> Status:
    """Parses the output of RAS. Raises NotRas."""
    if answer.lstrip().startswith("{"):
        try:
            document = json.loads(answer[answer.index("{") :])
            return _of_json(document)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise NotRas(f"the JSON is cut off or is not RAS output: {error}") from None
    if "NCCL version" not in answer and "Communicators" not in answer:
        raise NotRas("expected the text output of NCCL's RAS service")
    return _of_text(answer.splitlines()[:_MOST])


def _of_text(lines: Iterable[str]) -> Status:
    absent, ranks = [], []
    heading, launched = "", None
    counts: list[int] = []
    for line in lines:
        if found := _HEADING.search(line):
            heading, launched = found[1], None
        elif found := _LAUNCHED.search(line):
            launched = int(found[1])
            counts.append(launched)
        elif (found := _RANK.search(line)) and heading == "MISMATCH" and launched is not None:
            ranks.append(Behind(int(found[1]), found[3], launched, 0))
        elif (found := _PROCESS.search(line)) and heading in ("DEAD", "INCOMPLETE"):
            absent.append(Absent(found[2], int(found[1]), None, heading == "DEAD"))
    most = max(counts, default=0)
    behind = tuple(one._replace(usual=most) for one in ranks if one.launched < most)
    return Status(tuple(_once(absent)), behind)


def _once(absent: Iterable[Absent]) -> Iterable[Absent]:
    """Each process once; one that is listed as dead once is dead."""
    known: dict[tuple[str, int], Absent] = {}
    for one in absent:
        key = (one.host, one.pid)
        if key not in known or one.dead:
            known[key] = one
    return known.values()


def _of_json(document: Mapping[str, Any]) -> Status:
    if not isinstance(document.get("communicators"), list):
        raise ValueError("no list of communicators")
    absent: list[Absent] = []
    behind: list[Behind] = []
    for communicator in document["communicators"]:
        for one in communicator.get("missing_ranks") or ():
            considered = bool(one.get("considered_dead"))
            absent.append(Absent(str(one.get("host", "")), int(one.get("pid", 0)), int(one["rank"]), considered))
        behind += _lagging(communicator.get("ranks") or ())
    return Status(tuple(_once(absent)), tuple(behind))


def _lagging(ranks: Iterable[Mapping[str, Any]]) -> Iterable[Behind]:
    launched = {int(one["rank"]): (str(one.get("host", "")), _total(one.get("collective_counts"))) for one in ranks}
    if not launched:
        return ()
    usual = Counter(count for _, count in launched.values()).most_common(1)[0][0]
    return [Behind(rank, host, count, usual) for rank, (host, count) in launched.items() if count < usual]


def _total(counts: object) -> int:
    if isinstance(counts, dict):
        return sum(int(value) for value in counts.values())
    return sum(map(int, counts)) if isinstance(counts, list) else int(counts or 0)  # type: ignore[call-overload]
