"""Reading a policy and replaying history through it: what `holdfast policy` does. Needs the extra [controller]."""

import json as json_
import time
from pathlib import Path

import typer

from holdfast.cli import span
from holdfast.cli.client import kept, state_directory
from holdfast.cli.refusal import Refusal
from holdfast.cli.table import console, printable, table
from holdfast.controller import policy_file
from holdfast.controller.preview import Preview, preview
from holdfast.controller.settings import load as load_controller
from holdfast.lifecycle.policy import Policy
from holdfast.model.incident import Incident
from holdfast.model.life import Stage
from holdfast.store import Store, StoreError


def check(file: str) -> None:
    policy = policy_file.load(file)
    doing = "carries nothing out (dry_run = true)" if policy.dry_run else "carries actions out"
    typer.echo(f"{file}: a policy that {doing}")


def show_preview(file: str, since: str, config: str, as_json: bool) -> None:
    policy = policy_file.load(file) if file else Policy()
    begin = time.time() - span.seconds(since)
    try:
        store = Store.open(_url(config))
        try:
            found = preview(policy, store.nodes(), store.changes(begin), begin)
            left = sum(one.after is Stage.DRAINING and one.before is not one.after for one in store.transitions(begin))
        finally:
            store.close()
    except StoreError as error:
        raise Refusal(str(error), 1) from None
    if as_json:
        typer.echo(json_.dumps(_document(found, left, begin)))
    else:
        _show(found, left, since)


def _document(found: Preview, left: int, begin: float) -> dict[str, object]:
    return {
        "since": begin,
        "verdict_changes": found.changes,
        "actions": dict(found.actions),
        "left_service": dict(found.nodes),
        "left_service_then": left,
        "held": dict(found.held),
        "promoted": found.promoted,
        "incidents": [_incident(one) for one in found.incidents],
    }


def _incident(one: Incident) -> dict[str, object]:
    return {"subject": one.subject, "cause": one.cause, "reason": one.reason, "opened": one.opened}


def _show(found: Preview, left: int, since: str) -> None:
    typer.echo(f"{found.changes} verdict changes in the last {since}; nothing is changed by looking")
    would = sum(found.nodes.values())
    typer.echo(f"nodes that would have left service: {len(found.nodes)}, {would} times; in truth it was {left} times")
    rows = table("action", "times")
    for verb, times in found.actions.most_common():
        rows.add_row(verb, str(times))
    console().print(rows)
    if found.promoted:
        typer.echo(f"spares promoted: {found.promoted}")
    for holder, times in found.held.most_common():
        typer.echo(f"observed only because of {holder.rstrip('?')}: {times} nodes")
    for incident in found.incidents:
        typer.echo(printable(f"incident on {incident.subject}: {incident.reason}"))


def _url(config: str) -> str:
    if config:
        return load_controller(config).base.store
    path = Path(kept().get("store") or state_directory() / "holdfast.db")
    if not path.exists():
        raise Refusal(f"no store is at {path}; name the controller's configuration with --config")
    return f"sqlite:///{path.absolute()}"
