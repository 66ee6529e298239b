"""The JSON file of nccl-tests (`-J`). It writes booleans as words and missing numbers as "nan"."""

import json
from collections.abc import Mapping
from typing import Any

from holdfast.formats.nccl.tests_result import (
    GIGABYTE,
    MICROSECOND,
    NO_ROW,
    NcclTestRow,
    Sweep,
    damage,
    number,
    operation_of,
)

_SIDES = ("out_of_place", "in_place")


def parse(text: str) -> Sweep:
    try:
        document: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Sweep(trouble=f"the JSON cannot be read: {error}")
    results = document.get("results") if isinstance(document, dict) else None
    if not isinstance(results, list):
        return Sweep(trouble="the JSON has no list of results")
    rows = tuple(row for one in results if (row := _row(_table(one))) is not None)
    devices = _tables(_table(document.get("config")).get("devices"))
    models = [model for device in devices if (model := _text(device, "device_info"))]
    average = number(_table(document.get("average_bus_bandwidth")).get("bandwidth"))
    counted = [number(_table(document.get(name)).get("count")) for name in ("out_of_bounds", "bitwise_mismatches")]
    arguments = document.get("args")
    program = str(arguments[0]) if isinstance(arguments, list) and arguments else ""
    return Sweep(
        rows=rows,
        operation=operation_of(program, rows),
        ranks=len(devices),
        hosts=tuple(dict.fromkeys(host for device in devices if (host := _text(device, "hostname")))),
        model=models[0] if models else "",
        average_busbw_bytes_per_second=None if average is None else average * GIGABYTE,
        complete="end_time" in document,
        damage=damage(*counted),
        trouble=_trouble(document, rows),
    )


def _trouble(document: Mapping[str, Any], rows: tuple[NcclTestRow, ...]) -> str:
    errors = document.get("errors")
    reported = [str(one) for one in errors if one] if isinstance(errors, list) else []
    if reported:
        return reported[0]
    if not rows:
        return NO_ROW
    return "" if "end_time" in document else f"the JSON ends after {rows[-1].bytes} bytes without an end_time"


def _row(table: Mapping[str, Any]) -> NcclTestRow | None:
    """The out-of-place result if it was measured, else the in-place one."""
    size = number(table.get("size"))
    counts = [count for side in _SIDES if (count := number(_table(table.get(side)).get("nwrong"))) is not None]
    for side in _SIDES:
        body, timed = _table(table.get(side)), _table(table.get(f"{side}_per_iter"))
        time = number(body.get("time", body.get("cpu_time")))
        algorithm, bus = number(body.get("alg_bw")), number(body.get("bus_bw"))
        if size is None or time is None or algorithm is None or bus is None:
            continue
        return NcclTestRow(
            bytes=int(size),
            seconds=time * MICROSECOND,
            algbw_bytes_per_second=algorithm * GIGABYTE,
            busbw_bytes_per_second=bus * GIGABYTE,
            wrong=int(sum(counts)) if counts else None,
            p50_seconds=_scaled(timed.get("p50_us"), MICROSECOND),
            p95_seconds=_scaled(timed.get("p95_us"), MICROSECOND),
            variation=_scaled(timed.get("cv_pct"), 0.01),
            reduces=str(table.get("redop", "none")).strip() not in ("none", ""),
            rooted=(number(table.get("root")) is not None),
        )
    return None


def _scaled(value: Any, unit: float) -> float | None:
    figure = number(value)
    return None if figure is None else figure * unit


def _text(table: Mapping[str, Any], name: str) -> str:
    value = table.get(name)
    return value if isinstance(value, str) else ""


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _tables(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
