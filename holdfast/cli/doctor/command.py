"""`holdfast doctor`: what is missing on this machine, how to mend it, and which questions stay unanswered for it."""

import shutil
import sys
from collections.abc import Iterable
from dataclasses import replace

import msgspec
import typer

from holdfast.catalog.fixes import fix_for
from holdfast.cli.doctor.machine import Missing, examine
from holdfast.model.health import Health
from holdfast.model.settings import Settings
from holdfast.model.signal import Reading
from holdfast.model.verdict import Verdict
from holdfast.node.agent.assemble import load_settings, questions
from holdfast.node.agent.clock import SteadyClock
from holdfast.node.agent.node import Node
from holdfast.node.agent.once import look_at
from holdfast.node.sources.gpu.dcgm import DcgmDiagSource

_STAGE = "doctor"
_DIAGNOSTIC_CHECK = "dcgm.diag"


def doctor(
    config: str = typer.Option("", help="Configuration file; /etc/holdfast/holdfast.toml if it is there."),
    json: bool = typer.Option(False, "--json", help="Print one JSON document and nothing else."),
) -> None:
    """Say what is missing on this machine, how to mend it, and which questions stay unanswered for it."""
    settings = load_settings(config)
    node = _look(settings)
    verdicts = node.verdicts
    unanswered = sorted(name for name, verdict in verdicts.items() if _unknown_reasons(verdict))
    missing = [*_group(node.history.blind_sources(), verdicts.values()), *examine(settings)]
    if json:
        document = {
            "node": node.census.node,
            "missing": missing,
            "questions": {"asked": len(verdicts), "unanswered": unanswered},
        }
        sys.stdout.buffer.write(msgspec.json.encode(document) + b"\n")
        return
    for entry in missing:
        _show(entry)
    answered = len(verdicts) - len(unanswered)
    typer.echo(f"{node.census.node}: {answered} of {len(verdicts)} questions can be answered")


def _look(settings: Settings) -> Node:
    """Ask what every stage asks, but run no diagnostic: whether DCGM could run one is enough here."""
    settings = replace(settings, probes=replace(settings.probes, active=False))
    asked = dict.fromkeys(
        question.check.name for stage in ("passive", "bootstrap") for question in questions(settings, stage)
    )
    if found := shutil.which(settings.roots.dcgmi):
        asked.pop(_DIAGNOSTIC_CHECK, None)
    node = look_at(replace(settings, stages={**settings.stages, _STAGE: tuple(asked)}), _STAGE)
    if not found:
        reason = f"the DCGM diagnostic cannot run: {settings.roots.dcgmi} is not installed"
        node.history.promise(DcgmDiagSource.name, DcgmDiagSource.carries)
        now = SteadyClock().now()
        node.history.add(Reading(source=DcgmDiagSource.name, at=now, blind=reason))
        if question := node.questions.get(_DIAGNOSTIC_CHECK):
            node.verdicts[_DIAGNOSTIC_CHECK] = question.check(node.history.window(now, question.check.span))
    return node


def _group(blind: dict[str, str], verdicts: Iterable[Verdict]) -> list[Missing]:
    """One entry per cause: sources that are blind for the same reason, or a reason that several questions share."""
    asked_by: dict[str, set[str]] = {reason: set() for reason in blind.values()}
    for verdict in verdicts:
        for reason in _unknown_reasons(verdict):
            for cause in [told for told in blind.values() if told in reason] or [reason]:
                asked_by.setdefault(cause, set()).add(verdict.check)
    return [_missing(blind, reason, names) for reason, names in asked_by.items()]


def _missing(blind: dict[str, str], reason: str, names: set[str]) -> Missing:
    sources = [source for source, told in blind.items() if told == reason]
    what = ", ".join(sources) or "reading"
    return Missing(what, reason, fix_for(sources[0] if sources else "", reason), tuple(sorted(names)))


def _unknown_reasons(verdict: Verdict) -> list[str]:
    if verdict.disabled:
        return []
    return list(dict.fromkeys(row.reason for row in verdict.rows if row.health is Health.UNKNOWN))


def _show(entry: Missing) -> None:
    typer.secho(f"{entry.what}: {entry.reason}", bold=True)
    typer.echo(f"  do: {entry.fix}")
    if entry.questions:
        typer.echo(f"  unanswered: {', '.join(entry.questions)}")
    if entry.costs:
        typer.echo(f"  also: {entry.costs}")
