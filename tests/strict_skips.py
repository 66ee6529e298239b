"""A skipped test proves nothing, so every reason to skip is on a list: `allowed_skips.toml`.

With `CI=true` a skip for any other reason is a failure, whether a test, a fixture or a whole file asks for it.
Elsewhere it stays a skip. The summary counts both kinds in each run.
"""

import os
import re
import tomllib
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

ALLOWED = Path(__file__).with_name("allowed_skips.toml")


class StrictSkips:
    def __init__(self, allowed: Path = ALLOWED) -> None:
        rows = tomllib.loads(allowed.read_text())["allowed"]
        self._why = {re.compile(row["reason"], re.DOTALL): row["why"] for row in rows}
        self._strict = os.environ.get("CI") == "true"

    def why(self, reason: str) -> str:
        """Why this reason is on the list; empty where it is not."""
        return next((why for pattern, why in self._why.items() if pattern.fullmatch(reason)), "")

    # Both wrap every other plugin: what they see is what would have been told.
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if not hasattr(report, "wasxfail"):
            self._judge(report)
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(self) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        report = yield
        self._judge(report)
        return report

    def _judge(self, report: Any) -> None:
        if not self._strict or not report.skipped:
            return
        reason = reason_of(report)
        if not self.why(reason):
            report.outcome = "failed"
            report.refused_skip = reason  # travels with the report from a worker of pytest-xdist
            report.longrepr = f"skipped, which CI does not allow for this reason: {reason}"

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        allowed: Counter[str] = Counter()
        refused: Counter[str] = Counter()
        for kind in ("skipped", "failed", "error"):
            for report in terminalreporter.stats.get(kind, ()):
                reason = getattr(report, "refused_skip", None) or (reason_of(report) if kind == "skipped" else "")
                if reason:
                    (allowed if self.why(reason) else refused)[reason] += 1
        terminalreporter.section("skips")
        terminalreporter.line(f"skipped: {allowed.total()} allowed, {refused.total()} not allowed")
        for title, counts in (("allowed", allowed), ("not allowed", refused)):
            for reason, count in counts.most_common():
                terminalreporter.line(f"  {count} {title}: {reason}")


def reason_of(report: Any) -> str:
    result = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    reason = result.removeprefix("Skipped").removeprefix(": ")
    return reason or "no reason given"
