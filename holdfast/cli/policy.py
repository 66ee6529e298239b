"""`holdfast policy`: checks a policy file, and previews what it would have done."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.shared.options import AsJson
from holdfast.cli.shared.table import clock, console, table
from holdfast.client.client import saved_connection, state_directory
from holdfast.config.extra import needs_extra
from holdfast.config.printable import printable
from holdfast.economics.planning.inputs import PlanInputs
from holdfast.model.refusal import Refusal

if TYPE_CHECKING:
    from holdfast.fleet.policy.replay import Replay
    from holdfast.model.incident import Incident

app = typer.Typer(no_args_is_help=True)


@app.command()
def check(
    file: Annotated[str, typer.Argument(help="A policy file.", metavar="FILE")],
    config: Annotated[str, typer.Option(help="The controller's configuration; its store knows the pools.")] = "",
    as_json: AsJson = False,
) -> None:
    """Check a policy file. An error names the line, the key and what was expected. Pools without a node are named."""
    with needs_extra("controller"):
        from holdfast.fleet.policy import file as policy_file
    policy = policy_file.load(file)
    known = _pools(config) if config or _local_store().exists() else set()
    strange = policy_file.strange_pools(file, known) if known else []
    if as_json:
        found = {"file": file, "dry_run": policy.dry_run, "pools_compared": bool(known), "strange_pools": strange}
        typer.echo(json.dumps(found))
        return
    doing = "carries out no action (dry_run = true)" if policy.dry_run else "carries actions out"
    for sentence in (f"{file}: a policy that {doing}", *strange):
        typer.echo(sentence)


def _pools(config: str) -> set[str]:
    """A store that the user did not name, such as that of an old demo, does not make a policy wrong."""
    from holdfast.fleet.policy.replay import pools

    try:
        return pools(_store_url(config))
    except Refusal as refusal:
        if config:
            raise
        typer.echo(f"its pools were not checked against the nodes: {refusal}", err=True)
        return set()


@app.command()
def preview(
    file: Annotated[str, typer.Argument(help="A policy file; the default policy if omitted.", metavar="FILE")] = "",
    since: Annotated[str, typer.Option(help="How far back: 90m, 12h, 7d.")] = "7d",
    config: Annotated[str, typer.Option(help="The controller's configuration, for its store.")] = "",
    as_json: AsJson = False,
) -> None:
    """Show what this policy would have done with the verdicts of the last days. Nothing is changed."""
    with needs_extra("controller"):
        from holdfast.fleet.policy.replay import replay
    found = replay(file, PlanInputs().duration("since", since), _store_url(config))
    if as_json:
        typer.echo(json.dumps(_document(found)))
    else:
        _show(found, since)


def _document(replay: "Replay") -> dict[str, object]:
    found = replay.found
    return {
        "since": replay.begin,
        "cut_at": replay.until,
        "verdict_changes": found.changes,
        "actions": dict(found.actions),
        "left_service": dict(found.nodes),
        "left_service_then": replay.left,
        "held": dict(found.held),
        "promoted": found.promoted,
        "incidents": [_incident(one) for one in found.incidents],
    }


def _incident(one: "Incident") -> dict[str, object]:
    return {"subject": one.subject, "cause": one.cause, "reason": one.reason, "opened": one.opened}


def _show(replay: "Replay", since: str) -> None:
    found = replay.found
    typer.echo(f"{found.changes} verdict changes in the last {since}; a preview changes nothing")
    if replay.until is not None:
        typer.echo(f"cut: only changes until {clock(replay.until)} are replayed. Use a shorter --since.")
    would = sum(found.nodes.values())
    typer.echo(
        f"nodes that would have left service: {len(found.nodes)}, {would} times; in fact it was {replay.left} times"
    )
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


def _store_url(config: str) -> str:
    if config:
        from holdfast.fleet.controller.settings import load

        return load(config).base.store
    path = _local_store()
    if not path.exists():
        raise Refusal(f"no store is at {path}; name the controller's configuration with --config")
    return f"sqlite:///{path.absolute()}"


def _local_store() -> Path:
    """The store of the last `holdfast up`."""
    return Path(saved_connection().get("store") or state_directory() / "holdfast.db")
