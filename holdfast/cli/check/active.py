"""The active part of `holdfast check`: a progress bar, then a table of the measurements."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from holdfast.cli.shared.table import plain, styled, table
from holdfast.model.health import Health
from holdfast.model.signal import Value
from holdfast.model.subject import local_name
from holdfast.model.subject import node as node_subject
from holdfast.node.agent.node import Node
from holdfast.node.agent.once import Notify
from holdfast.node.probes.active.probes import DEVICE, PROBES, seconds_name

MOST_ROWS = 8  # rows of one probe
GOOD = (Health.PASS, Health.NOT_APPLICABLE)


@contextmanager
def progress(shown: bool) -> Iterator[Notify]:
    """A progress bar on stderr if that is a terminal; one step per probe."""
    if not shown or not sys.stderr.isatty():
        yield lambda probe, text: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    names = list(PROBES)
    with Progress(*columns, console=Console(stderr=True, emoji=False), transient=True) as bar:
        task = bar.add_task("reading", total=len(names) + 1)

        def notify(probe: str, text: str) -> None:
            done = names.index(probe) + 1 if probe in names else 1
            bar.update(task, completed=done, description=f"{probe} {text}".strip())

        yield notify


def measured(node: Node) -> list[dict[str, Any]]:
    """Results of each active probe: one row per subject, worst first, and the duration of the probe."""
    about = node_subject(node.census.node)
    latest = {name: value for subject, name, value, _ in node.history.latest() if subject == about}
    if DEVICE not in latest:
        return []
    found: list[dict[str, Any]] = []
    for probe in PROBES:
        verdict = node.verdicts.get(f"probe.{probe}")
        if verdict is None or verdict.disabled:
            continue
        for row in sorted(verdict.rows, key=lambda row: row.health in GOOD):
            found.append(
                {
                    "probe": probe,
                    "subject": row.subject,
                    "value": row.value,
                    "limit": row.limit,
                    "verdict": row.health.value,
                    "seconds": latest.get(seconds_name(probe)),
                }
            )
    return found


def active_table(rows: list[dict[str, Any]]) -> Any:
    made = table("probe", "of", "value", "limit", "verdict", "seconds")
    for probe in PROBES:
        own = [row for row in rows if row["probe"] == probe]
        for row in own[:MOST_ROWS]:
            seconds = "" if row["seconds"] is None else f"{row['seconds']:.1f}"
            of = plain(local_name(row["subject"]))
            made.add_row(
                probe, of, _figure(row["value"], probe), _figure(row["limit"], probe), styled(row["verdict"]), seconds
            )
        if len(own) > MOST_ROWS:
            made.add_row(probe, f"and {len(own) - MOST_ROWS} more", "", "", "", "")
    return made


def _figure(value: Value | None, probe: str) -> str:
    if value is None or isinstance(value, str):
        return str(value or "")[:12]
    if value < 1e6:  # a count of errors
        return f"{value:g}"
    return f"{value / 1e9:,.1f} {'GFLOP/s' if probe == 'burn_in' else 'GB/s'}"
