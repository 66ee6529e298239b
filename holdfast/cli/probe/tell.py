"""What a probe found, told: a table, or one JSON document; and the exit code that says it."""

import sys
from dataclasses import asdict

import msgspec
from rich.console import Console

from holdfast.cli.shared.table import console, plain, styled, table
from holdfast.model.wire.sweep import SweepReport

FAILED, UNKNOWN = 2, 3
_NUMBERS = {True: "right", None: "not compared"}


def tell(report: SweepReport, json_output: bool) -> int:
    if json_output:
        sys.stdout.write(msgspec.json.encode(asdict(report)).decode() + "\n")
    else:
        _print(report, console())
    healths = {verdict["health"] for verdict in report.verdicts}
    shapes = {verdict["health"] for verdict in report.judgement}  # limits nobody knows do not change the exit code
    failed = "fail" in healths | shapes or report.suspects or any(row.correct is False for row in report.sweep)
    return FAILED if failed else UNKNOWN if "unknown" in healths else int("degraded" in shapes)


def _print(report: SweepReport, out: Console) -> None:
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
            f"{suspect.kind} {plain(suspect.subject)} ({100 * suspect.confidence:.0f} %): {plain(suspect.evidence[0])}"
        )
        for words in suspect.evidence[1:]:
            out.print(f"    {plain(words)}")
    for one in report.judgement:
        out.print(f"{styled(one['health'])} {one['check']}: {plain(one['reason'])}")
    for words in report.code_paths:
        out.print(f"    code path: {plain(words)}")
    verdicts = table("", "host", "why")
    for verdict in report.verdicts:
        verdicts.add_row(styled(verdict["health"]), plain(verdict["subject"]), plain(verdict["reason"]))
    out.print(verdicts)
