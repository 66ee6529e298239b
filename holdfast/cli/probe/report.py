"""Prints probe results and maps them to exit codes."""

import sys
from dataclasses import asdict
from typing import Any

import msgspec
from rich.console import Console

from holdfast.cli.shared.table import console, plain, styled, table
from holdfast.model.health import Health
from holdfast.model.verdict import Verdict
from holdfast.model.wire.sweep import SweepReport
from holdfast.node.agent.metrics import HEALTH_CODES

FAILED, UNKNOWN = 2, 3
SLOWED_DOWN = -0.05  # a slowdown of the whole load beyond this is reported
_NUMBERS = {True: "right", None: "not compared"}


def print_sweep(report: SweepReport, as_json: bool) -> int:
    if as_json:
        sys.stdout.write(msgspec.json.encode(asdict(report)).decode() + "\n")
    else:
        _sweep(report, console())
    healths = {verdict["health"] for verdict in report.verdicts}
    shapes = {verdict["health"] for verdict in report.sweep_verdicts}  # unknown limits do not change the exit code
    failed = "fail" in healths | shapes or report.suspects or any(row.correct is False for row in report.sweep)
    return FAILED if failed else UNKNOWN if "unknown" in healths else int("degraded" in shapes)


def _sweep(report: SweepReport, out: Console) -> None:
    rows = table("bytes", "p50", "p95", "algorithm", "bus", "numbers")
    for row in report.sweep:
        wrong = f"WRONG, ranks {', '.join(map(str, row.wrong_ranks)) or '?'}"
        rows.add_row(
            f"{row.bytes:,}",
            f"{row.p50_seconds * 1e6:,.0f} us",
            f"{row.p95_seconds * 1e6:,.0f} us",
            f"{row.algbw_bytes_per_second / 1e9:.3f} GB/s",
            f"{row.busbw_bytes_per_second / 1e9:.3f} GB/s",
            _NUMBERS.get(row.correct, wrong),
        )
    out.print(rows)
    if report.stopped:
        out.print(plain(report.stopped))
    for suspect in report.suspects:
        out.print(
            f"{plain(suspect.subject)}: {plain(suspect.cause)} ({100 * suspect.confidence:.0f} %):"
            f" {plain(suspect.evidence[0])}"
        )
        for line in suspect.evidence[1:]:
            out.print(f"    {plain(line)}")
    for one in report.sweep_verdicts:
        out.print(f"{styled(one['health'])} {one['check']}: {plain(one['reason'])}")
    for line in report.code_paths:
        out.print(f"    code path: {plain(line)}")
    verdicts = table("", "host", "why")
    for verdict in report.verdicts:
        verdicts.add_row(styled(verdict["health"]), plain(verdict["subject"]), plain(verdict["reason"]))
    out.print(verdicts)


def print_fingerprints(verdict: Verdict, as_json: bool) -> int:
    if as_json:
        sys.stdout.write(msgspec.json.encode(verdict.as_json()).decode() + "\n")
    else:
        out = console()
        rows = table("", "device", "bits", "why")
        for row in verdict.rows:
            rows.add_row(styled(row.health.value), plain(row.subject), plain(str(row.value or "")), plain(row.reason))
        out.print(rows)
        if verdict.remedy:
            out.print(plain(f"do: {verdict.remedy} (owner: {verdict.owner})"))
    return HEALTH_CODES[verdict.health.value] if verdict.health is not Health.UNKNOWN else UNKNOWN


def print_stress(found: dict[str, Any], as_json: bool) -> int:
    if as_json:
        sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
    else:
        _stress(found, console())
    return FAILED if found["not_reported"] else int(bool(found["named"] or found["surfaced"]))


def _stress(found: dict[str, Any], out: Console) -> None:
    rows = table("device", "first iterations/s", "last iterations/s", "drift", "of median")
    for one in found["devices"]:
        rows.add_row(
            plain(one["subject"]),
            f"{one['first_iterations_per_second']:.1f}",
            f"{one['last_iterations_per_second']:.1f}",
            f"{100 * one['drift_ratio']:+.0f} %",
            f"{100 * one['share_of_median']:.0f} %",
        )
    out.print(rows)
    slowed = " (the load slowed down)" if found["drift_ratio"] <= SLOWED_DOWN else ""
    out.print(f"drift of all devices together, first part to last part: {100 * found['drift_ratio']:+.0f} %{slowed}")
    for about in found["named"]:
        out.print(plain(f"slow: {about}"))
    for about, why in found["not_reported"].items():
        out.print(plain(f"no answer: {about}: {why}"))
    for one in found["surfaced"]:
        out.print(plain(f"{one['health']}: {one['check']}: {one['reason']}"))
