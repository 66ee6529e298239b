"""Output of nccl-tests: the table (also behind mpirun's prefixes, with columns left out) and its JSON file.

A table that breaks off gives the rows it has and says so; text without any row says why, where that can be seen.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

_PREFIX = re.compile(r"^(?:\[[\d,]+\](?:<std(?:out|err)>)?:?\s?|\d+:\s|[\w.-]+:\s(?=\s*\d+\s))")
_RANK = re.compile(r"#\s*Rank\s+(\d+)\s.*?\bon\s+(\S+)\s+device\s+\d+\s+\[[^\]]*\]\s+(.*\S)")
_AVERAGE = re.compile(r"#\s*Avg bus bandwidth\s*:\s*([\d.eE+-]+)")
_NETWORK = re.compile(r"NCCL INFO (?:Using network (\S+)|NET/(\w+)\s*:\s*Using)")
_NUMBER = re.compile(r"[\d.]+(?:e[+-]?\d+)?")
_BODY = 4  # time, algbw, busbw, wrong: once out of place, once in place
_REASONS = (
    (re.compile(r"not enough slots available"), "mpirun has fewer slots than processes were asked for"),
    (re.compile(r"Invalid number of GPUs.*"), ""),
    (re.compile(r"Test NCCL failure.*"), ""),
    (re.compile(r"Test CUDA failure.*"), ""),
    (re.compile(r"error while loading shared libraries.*"), ""),
    (re.compile(r"mpirun was unable to .*"), ""),
)
MICROSECOND, GIGABYTE = 1e-6, 1e9


@dataclass(frozen=True, slots=True)
class Row:
    bytes: int
    seconds: float
    algbw_bytes_per_second: float
    busbw_bytes_per_second: float
    wrong: int | None  # None: not validated
    p95_seconds: float | None = None  # only where every iteration was timed


@dataclass(frozen=True, slots=True)
class Sweep:
    rows: tuple[Row, ...] = ()
    ranks: int = 0
    hosts: tuple[str, ...] = ()
    model: str = ""
    network: str = ""  # the plugin that NCCL chose: IB, Socket, AWS Libfabric ...
    average_busbw_bytes_per_second: float | None = None
    complete: bool = False
    trouble: str = ""


def network_of(line: str) -> str:
    """The network plugin that a line of NCCL's log says it uses."""
    found = _NETWORK.search(line)
    return str(found[1] or found[2]) if found else ""


def parse(text: str) -> Sweep:
    if text.lstrip().startswith("{"):
        return _from_json(text)
    lines = [_PREFIX.sub("", line) for line in text.splitlines()]
    rows = tuple(row for line in lines if (row := _row(line)) is not None)
    ranks = [found for line in lines if (found := _RANK.search(line))]
    average = next((float(found[1]) for line in lines if (found := _AVERAGE.search(line)) and _finite(found[1])), None)
    network = next(filter(None, map(network_of, lines)), "")
    return Sweep(
        rows=rows,
        ranks=len({found[1] for found in ranks}),
        hosts=tuple(dict.fromkeys(found[2] for found in ranks)),
        model=ranks[0][3] if ranks else "",
        network=network,
        average_busbw_bytes_per_second=None if average is None else average * GIGABYTE,
        complete=average is not None,
        trouble=_trouble(lines, rows, average is not None),
    )


def _finite(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None and text.count(".") <= 1 and text != "."


def _row(line: str) -> Row | None:
    """Columns in front differ by collective and version; the four behind them, once or twice, do not."""
    words = line.split()
    if len(words) < 3 + _BODY or not (words[0].isdecimal() and words[1].isdecimal()) or not words[2].isalnum():
        return None
    starts = [i for i in range(3, len(words) - _BODY + 1) if _is_body(words[i : i + _BODY])]
    if not starts:
        return None
    start = max(starts, key=lambda i: (i + _BODY in starts, i))  # a root in front may look like a time
    time, algorithm, bus = (float(word) for word in words[start : start + 3])
    wrong = words[start + 3]
    second = words[start + _BODY : start + 2 * _BODY]
    counts = [word for word in (wrong, second[3] if len(second) == _BODY else "N/A") if word != "N/A"]
    found = sum(int(float(word)) for word in counts if _finite(word)) if counts else None
    return Row(int(words[0]), time * MICROSECOND, algorithm * GIGABYTE, bus * GIGABYTE, found)


def _is_body(words: list[str]) -> bool:
    """Times have a point or are long; ranks, roots and counts in front of them are followed by another shape."""
    figures = all(_finite(word) for word in words[:3])
    return figures and "." in words[1] and "." in words[2] and (words[3] == "N/A" or _finite(words[3]))


def _trouble(lines: list[str], rows: tuple[Row, ...], complete: bool) -> str:
    for line in lines:
        for pattern, words in _REASONS:
            if found := pattern.search(line):
                return words or found[0].strip()
    if not rows:
        return "no row of a result table was found"
    return "" if complete else f"the output breaks off after {rows[-1].bytes} bytes"


def _from_json(text: str) -> Sweep:
    try:
        said: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Sweep(trouble=f"the JSON cannot be read: {error}")
    results = said.get("results") if isinstance(said, dict) else None
    if not isinstance(results, list):
        return Sweep(trouble="the JSON has no list of results")
    rows = tuple(row for one in results if (row := _json_row(one)) is not None)
    devices = _list(_table(said.get("config")).get("devices"))
    average = _number(_table(said.get("average_bus_bandwidth")).get("bandwidth"))
    models = [str(device["device_info"]) for device in devices if isinstance(device.get("device_info"), str)]
    hosts = dict.fromkeys(str(device["hostname"]) for device in devices if isinstance(device.get("hostname"), str))
    errors = [str(one) for one in said.get("errors") or [] if one] if isinstance(said.get("errors"), list) else []
    return Sweep(
        rows=rows,
        ranks=len(devices),
        hosts=tuple(hosts),
        model=models[0] if models else "",
        average_busbw_bytes_per_second=None if average is None else average * GIGABYTE,
        complete="end_time" in said,
        trouble=errors[0] if errors else "" if rows else "no row of a result table was found",
    )


def _json_row(one: Any) -> Row | None:
    table = _table(one)
    body = _table(table.get("out_of_place")) or _table(table.get("in_place"))
    values = [_number(body.get(name)) for name in ("alg_bw", "bus_bw")]
    time = _number(body.get("time", body.get("cpu_time")))
    size = _number(table.get("size"))
    if size is None or time is None or values[0] is None or values[1] is None:
        return None
    wrong = [_number(_table(table.get(side)).get("nwrong")) for side in ("out_of_place", "in_place")]
    counted = [int(count) for count in wrong if count is not None]
    late = _number(_table(table.get("out_of_place_per_iter")).get("p95_us"))
    return Row(
        int(size),
        time * MICROSECOND,
        values[0] * GIGABYTE,
        values[1] * GIGABYTE,
        sum(counted) if counted else None,
        None if late is None else late * MICROSECOND,
    )


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _number(value: Any) -> float | None:
    """A finite number of a believable size; 'nan' is written as a string."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 1e18 else None
