"""`holdfast signals`: raw readings of the sources."""

import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import typer

from holdfast.model.history import History
from holdfast.model.refusal import Refusal
from holdfast.model.settings import Settings, SourceSettings
from holdfast.node.agent.assemble import SOURCES, load_settings
from holdfast.node.agent.once import read_passive

SYSFS_SOURCES = {"infiniband", "infiniband_counters", "pcie"}


def signals(
    json: bool = typer.Option(False, "--json", help="Print one JSON document and nothing else."),
    root: str = typer.Option("", help="Read this sysfs tree instead of /sys, and nothing else of the machine."),
    config: str = typer.Option("", help="Configuration file; /etc/holdfast/holdfast.toml if it exists."),
    match: str = typer.Option("", help="Only signals whose subject or name contains this."),
) -> None:
    """Print every signal that the sources read now: subject, name, value."""
    settings = load_settings(config)
    if root and not Path(root).is_dir():
        raise Refusal(f"{root}: no such directory; expected a sysfs tree such as /sys")
    if root:
        settings = _only_sysfs(settings, root)
    history = read_passive(settings)
    rows = [
        {"subject": subject, "name": name, "value": value}
        for subject, name, value, _ in sorted(history.latest(), key=lambda row: row[:2])
        if match in subject or match in name
    ]
    if json:
        sys.stdout.buffer.write(msgspec.json.encode(rows) + b"\n")
    else:
        for row in rows:
            typer.echo(f"{row['subject']}  {row['name']}  {row['value']}")
    _print_blind(history)


def _only_sysfs(settings: Settings, root: str) -> Settings:
    """Settings for a captured tree: no source reads this machine, and no ledger is written."""
    switched = {
        name: replace(settings.sources.get(name, SourceSettings()), enabled=name in SYSFS_SOURCES) for name in SOURCES
    }
    return replace(
        settings,
        roots=replace(settings.roots, sys=root),
        agent=replace(settings.agent, state_dir=""),
        sources=switched,
    )


def _print_blind(history: History) -> None:
    for source, reason in sorted(history.blind_sources().items()):
        sys.stderr.write(f"{source}: {reason}\n")
