"""`holdfast notify`: sends a test message through the channels of [notifications]."""

import json
import time
from typing import Annotated

import typer

from holdfast.cli.shared.options import AsJson
from holdfast.model.refusal import Refusal

app = typer.Typer(no_args_is_help=True)


@app.command()
def test(
    config: Annotated[
        str, typer.Option("--config", help="The controller's configuration.")
    ] = "/etc/holdfast/controller.toml",
    channel: Annotated[str, typer.Option(help="Only this one: slack, or slack[1].")] = "",
    as_json: AsJson = False,
) -> None:
    """Send a test notification to every channel. Exit code 1 if a channel does not accept it."""
    from holdfast.fleet.controller.settings import load
    from holdfast.fleet.inbox.item import Severity
    from holdfast.fleet.notifications.message import Notification, NotifiedEvent
    from holdfast.fleet.notifications.outbox import deliver

    found = load(config).notifications.channels
    chosen = [(name, one) for name, one in found if channel in ("", name, name.partition("[")[0])]
    if not chosen:
        known = ", ".join(name for name, _ in found) or "none"
        raise Refusal(f"{config}: no channel to test; [notifications] has: {known}")
    note = Notification(
        key=f"test/{time.time():.0f}",
        happened=NotifiedEvent.TEST,
        severity=Severity.WARNING,
        title="Holdfast test notification",
        text="If you can read this, this channel works. Nothing is wrong.",
        since=time.time(),
        owner="you",
        remedy="nothing to do",
    )
    results = [{"channel": name, "trouble": deliver(one, note)[0]} for name, one in chosen]
    if as_json:
        typer.echo(json.dumps({"results": results}))
    else:
        for one in results:
            typer.echo(f"{one['channel']}: {'not delivered: ' + one['trouble'] if one['trouble'] else 'accepted'}")
    raise typer.Exit(int(any(one["trouble"] for one in results)))
