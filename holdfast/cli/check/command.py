"""`holdfast check`: checks this machine once, or judges captured output of another one."""

import sys
import traceback
from collections.abc import Iterable
from dataclasses import replace

import msgspec
import typer

from holdfast.cli.check.active import active_table, measured, progress
from holdfast.model.settings import Settings, SettingsError
from holdfast.model.verdict import Verdict
from holdfast.node.agent.assemble import load_settings
from holdfast.node.agent.daemon import verdict_document
from holdfast.node.agent.metrics import HEALTH_CODES
from holdfast.node.agent.node import Node
from holdfast.node.agent.once import check_node

UNKNOWN_EXIT = 3
STYLES = {"pass": "green", "degraded": "yellow", "fail": "bold red", "unknown": "magenta", "disabled": "dim"}


def check(
    stage: str = typer.Option("passive", help="Checks: passive, bootstrap (the full suite), or a name in [stages]."),
    json: bool = typer.Option(False, "--json", help="Print one JSON document and nothing else."),
    config: str = typer.Option("", help="Configuration file; /etc/holdfast/holdfast.toml if it exists."),
    seconds: float = typer.Option(0.0, min=0.0, help="Read twice, this far apart, so that rates can be evaluated."),
    everything: bool = typer.Option(False, "--all", help="Show passing checks with all their rows too."),
    active: bool = typer.Option(True, help="Bootstrap only: run the active probes, which need the whole node."),
    source: str = typer.Option(
        "",
        "--from",
        help="Check this instead: output of nvidia-smi and other tools, a folder, or a bundle of `capture`.",
    ),
) -> int:
    """Check this machine, or captured data of another one. Exit code: 0 pass, 1 degraded, 2 fail, 3 unknown."""
    settings = load_settings(config)
    if source:
        return _check_file(source, settings, stage, json, everything)
    if not active:
        settings = replace(settings, probes=replace(settings.probes, active=False))
    try:
        with progress(not json) as notify:
            node = check_node(settings, stage, seconds, notify)
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


MOST_NAMES = 20


def _check_file(path: str, settings: Settings, stage: str, as_json: bool, everything: bool) -> int:
    from holdfast.node.capture.check_file import check_file

    judged = check_file(path, settings, stage)
    if as_json:
        document = {
            "node": judged.node,
            "read": judged.tools,
            "health": judged.health.value,
            "verdicts": [verdict.as_json() for verdict in judged.verdicts.values()],
            "not_in_the_file": judged.left_out,
            "not_read": judged.not_read,
        }
        sys.stdout.buffer.write(msgspec.json.encode(document) + b"\n")
    else:
        _print(f"{path}: {', '.join(dict.fromkeys(judged.tools))}", judged.verdicts.values(), everything)
        if judged.not_read:
            shown = ", ".join(judged.not_read[:MOST_NAMES])
            more = len(judged.not_read) - MOST_NAMES
            sys.stdout.write(f"not read, no reader recognises it: {shown}{f' and {more} more' if more > 0 else ''}\n")
        _print_health(judged.health.value)
    return HEALTH_CODES[judged.health.value] if judged.health.value in ("pass", "degraded", "fail") else UNKNOWN_EXIT


def _show(node: Node, stage: str, everything: bool) -> None:
    _print(f"{node.census.node}: {stage} checks", node.verdicts.values(), everything)
    if rows := measured(node):
        from rich.console import Console

        Console(emoji=False).print(active_table(rows))
    _print_health(node.health.value)


def _print(title: str, verdicts: Iterable[Verdict], everything: bool) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=escape(title), title_justify="left", expand=False)
    for column in ("check", "health", "what was seen"):
        table.add_column(column, no_wrap=column != "what was seen")
    for verdict in verdicts:
        style = STYLES.get(verdict.state, "")
        table.add_row(
            verdict.check,
            f"[{style}]{verdict.state}[/]" if style else verdict.state,
            _verdict_lines(verdict, everything),
        )
    Console(emoji=False).print(table)


def _print_health(health: str) -> None:
    from rich.console import Console

    style = STYLES.get(health, "")
    Console(emoji=False).print(f"node health: [{style}]{health}[/]" if style else f"node health: {health}")


def _verdict_lines(verdict: Verdict, everything: bool) -> str:
    lines = [verdict.summary()]
    if verdict.state in ("fail", "degraded"):
        lines += [f"do: {verdict.remedy} (owner: {verdict.owner})"] if verdict.remedy else []
        lines += [f"runbook: runbooks/{verdict.runbook}.md"] if verdict.runbook else []
        lines += [f"· {line}" for line in verdict.evidence[:5]]
    if everything:
        lines += [
            f"{row.subject}: {row.health.value} {row.value if row.value is not None else ''}" for row in verdict.rows
        ]
    from rich.markup import escape

    return escape("\n".join(line for line in lines if line))
