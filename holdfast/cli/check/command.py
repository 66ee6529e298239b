"""`holdfast check`: judge this machine once."""

import sys
import traceback
from dataclasses import replace

import msgspec
import typer

from holdfast.cli.check.active import active_table, measured, progress
from holdfast.model.settings import SettingsError
from holdfast.model.verdict import Verdict
from holdfast.node.agent.assemble import load_settings
from holdfast.node.agent.daemon import verdict_document
from holdfast.node.agent.metrics import HEALTH_CODES
from holdfast.node.agent.node import Node
from holdfast.node.agent.once import look_at

UNKNOWN_EXIT = 3
STYLES = {"pass": "green", "degraded": "yellow", "fail": "bold red", "unknown": "magenta", "disabled": "dim"}


def check(
    stage: str = typer.Option("passive", help="Which suite to run: passive, bootstrap, or one of the configuration."),
    json: bool = typer.Option(False, "--json", help="Print one JSON document and nothing else."),
    config: str = typer.Option("", help="Configuration file; /etc/holdfast/holdfast.toml if it is there."),
    seconds: float = typer.Option(0.0, min=0.0, help="Look twice, this far apart, so that rates can be judged."),
    everything: bool = typer.Option(False, "--all", help="Show passing checks with all their rows too."),
    active: bool = typer.Option(True, help="Bootstrap only: run what takes the whole node for a while (see probes)."),
) -> int:
    """Judge this machine once. Exit code: 0 pass, 1 degraded, 2 fail, 3 unknown."""
    settings = load_settings(config)
    if not active:
        settings = replace(settings, probes=replace(settings.probes, active=False))
    try:
        with progress(not json) as tell:
            node = look_at(settings, stage, seconds, tell)
    except SettingsError:
        raise
    except Exception as error:  # noqa: BLE001  a check that crashed has seen nothing: UNKNOWN, not a pass
        traceback.print_exc(file=sys.stderr)
        sys.stderr.write(f"holdfast: the check itself failed: {type(error).__name__}: {error}\n")
        return UNKNOWN_EXIT
    if json:
        document = {**verdict_document(node, stage), **({"probes": rows} if (rows := measured(node)) else {})}
        sys.stdout.buffer.write(msgspec.json.encode(document) + b"\n")
    else:
        _show(node, stage, everything)
    return HEALTH_CODES[node.health.value] if node.health.value in ("pass", "degraded", "fail") else UNKNOWN_EXIT


def _show(node: Node, stage: str, everything: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table(title=f"{node.census.node}: {stage} checks", title_justify="left", expand=False)
    for column in ("check", "health", "what was seen"):
        table.add_column(column, no_wrap=column != "what was seen")
    for verdict in node.verdicts.values():
        style = STYLES.get(verdict.state, "")
        table.add_row(
            verdict.check, f"[{style}]{verdict.state}[/]" if style else verdict.state, _story(verdict, everything)
        )
    console.print(table)
    if rows := measured(node):
        console.print(active_table(rows))
    console.print(f"node health: [{STYLES.get(node.health.value, '')}]{node.health.value}[/]")


def _story(verdict: Verdict, everything: bool) -> str:
    lines = [verdict.summary()]
    if verdict.state in ("fail", "degraded"):
        lines += [f"do: {verdict.remedy} (owner: {verdict.owner})"] if verdict.remedy else []
        lines += [f"· {line}" for line in verdict.evidence[:5]]
    if everything:
        lines += [
            f"{row.subject}: {row.health.value} {row.value if row.value is not None else ''}" for row in verdict.rows
        ]
    from rich.markup import escape

    return escape("\n".join(line for line in lines if line))
